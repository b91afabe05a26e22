// Writes tiny GGUF models with random weights for unit tests: real architectures, a byte-level
// vocabulary, no network.
#ifndef FOLIO_TESTS_SUPPORT_TINY_MODEL_H_
#define FOLIO_TESTS_SUPPORT_TINY_MODEL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "quant/ggml_type.h"

namespace folio {

struct TinyModelSpec {
  // Or qwen2, qwen3, gemma3, qwen2moe, qwen3moe, olmoe, deepseek2.
  std::string architecture = "llama";
  GgmlType type = GgmlType::kF32;  // of the matrices: kF32, kQ8_0 or kQ4_0
  int layers = 2;
  int hidden = 64;
  int query_heads = 4;
  int kv_heads = 2;
  int head_dim = 32;
  int ffn = 96;
  int vocab = 288;  // at least 259: bytes and three control tokens
  int context = 2048;
  int window = 24;  // gemma3
  int experts = 0;  // of each layer; llama with some is Mixtral
  int top_k = 2;
  bool bf16_routers = false;  // F32, but of values that BF16 holds, as converters write them
  int expert_ffn = 64;
  int latent_rank = 64;  // deepseek2's; a head has head_dim elements, half of them with positions
  int bad_token = -1;    // whose embedding is infinite (F32 only); the output is its own then
  std::uint64_t seed = 1;
  std::string rope_scaling;  // of rope.scaling.type, or none said
  // More metadata under the architecture's prefix: {"rope.scaling.factor", 4}.
  std::vector<std::pair<std::string, float>> floats;
  std::vector<std::pair<std::string, std::uint32_t>> uints;
  // Vectors of F32: {"rope_freqs.weight", {1, 2}}.
  std::vector<std::pair<std::string, std::vector<float>>> vectors;
};

// Writes the file; false if it can't be written.
bool WriteTinyModel(const TinyModelSpec& spec, const std::string& path);

}  // namespace folio

#endif  // FOLIO_TESTS_SUPPORT_TINY_MODEL_H_
