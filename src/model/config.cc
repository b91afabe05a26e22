#include "model/config.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "model/architectures.h"
#include "model/config_reader.h"
#include "model/rope_config.h"

namespace folio {
namespace {

struct Architecture {
  std::string_view name;
  Status (*configure)(const ModelFile& file, ModelConfig& config);
  bool layer_norm = false;
  bool latent = false;
};

constexpr std::array<Architecture, 14> kArchitectures = {{
    {"llama", ConfigureLlama},
    {"qwen2", ConfigureQwen2},
    {"qwen3", ConfigureQwen3},
    {"gemma2", ConfigureGemma2},
    {"gemma3", ConfigureGemma3},
    {"qwen2moe", ConfigureQwen2Moe},
    {"qwen3moe", ConfigureQwen3Moe},
    {"olmoe", ConfigureOlmoe},
    {"granite", ConfigureGranite},
    {"granitemoe", ConfigureGraniteMoe},
    {"phi3", ConfigurePhi3},
    {"gpt2", ConfigureGpt2, true},
    {"gpt-oss", ConfigureGptOss},
    {"deepseek2", ConfigureDeepSeek2, false, true},
}};

// Of heads that have keys and values of their own.
void ReadHeads(ConfigReader& read, ModelConfig& config) {
  config.kv_heads =
      static_cast<int>(read.IntOr("attention.head_count_kv", config.query_heads, 1, kLargestDim));
  if (config.query_heads % config.kv_heads != 0) {
    read.Refuse("attention.head_count_kv", "is " + std::to_string(config.kv_heads) +
                                               ", must divide head_count " +
                                               std::to_string(config.query_heads));
  }
  const std::int64_t head_dim =
      read.IntOr("attention.key_length", config.hidden / config.query_heads, 1, kLargestHeadDim);
  const std::int64_t value_dim = read.IntOr("attention.value_length", head_dim, 1, kLargestHeadDim);
  if (value_dim != head_dim) {
    read.Refuse(
        "attention.value_length",
        "is " + std::to_string(value_dim) + ", must equal key_length " + std::to_string(head_dim));
  }
  if (head_dim % 32 != 0) {
    read.Refuse("attention.key_length",
                "is " + std::to_string(head_dim) + ", must be a multiple of 32");
  }
  config.head_dim = static_cast<int>(head_dim);
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
}

void ReadShapes(ConfigReader& read, bool latent, ModelConfig& config) {
  config.hidden = read.Int("embedding_length", 1, kLargestDim);
  config.ffn = read.Int("feed_forward_length", 1, kLargestDim);
  config.context_length = read.Int("context_length", 1, kLargestContext);
  config.layers.resize(static_cast<std::size_t>(read.Int("block_count", 1, kLargestLayers)));
  config.query_heads = static_cast<int>(read.Int("attention.head_count", 1, kLargestDim));
  if (latent) {
    ReadLatentHeads(read, config);
  } else {
    ReadHeads(read, config);
  }
  const char* const epsilon =
      config.layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon";
  config.norm_eps = static_cast<float>(read.Float(epsilon, 0.0, 1.0));
}

Status ReadVocabulary(const ModelFile& file, ModelConfig& config) {
  // The embedding has one row a token: its shape, not the metadata, says how many logits there are.
  const ModelTensor* embedding = file.FindTensor("token_embd.weight");
  if (embedding == nullptr)
    return InputError(file.path(), "token_embd.weight", "tensor is missing");
  if (embedding->dims.size() != 2) {
    return InputError(file.path(), "token_embd.weight",
                      "has " + std::to_string(embedding->dims.size()) + " dimensions, must have 2");
  }
  if (embedding->dims[1] > std::int64_t{1} << 24) {
    return InputError(file.path(), "token_embd.weight",
                      "has " + std::to_string(embedding->dims[1]) + " rows");
  }
  config.vocab = embedding->dims[1];
  return {};
}

std::string KnownList() {
  std::string list;
  for (const Architecture& architecture : kArchitectures) {
    if (!list.empty()) list += ", ";
    list += architecture.name;
  }
  return list;
}

}  // namespace

Result<ModelConfig> ReadModelConfig(const ModelFile& file) {
  const Result<std::string_view> name = file.GetString("general.architecture");
  if (!name) return std::unexpected(name.error());
  const Architecture* architecture = nullptr;
  for (const Architecture& candidate : kArchitectures) {
    if (candidate.name == *name) architecture = &candidate;
  }
  if (architecture == nullptr) {
    return InputError(file.path(), "general.architecture",
                      "'" + std::string(*name) + "' is not known; known are " + KnownList());
  }
  ModelConfig config;
  config.architecture = *name;
  config.layer_norm = architecture->layer_norm;
  config.name = file.GetStringOr("general.name", *name).value_or(*name);
  ConfigReader read(file, config.architecture);
  ReadShapes(read, architecture->latent, config);
  if (!read.status()) return std::unexpected(read.status().error());
  Result<RopeConfig> rope = ReadRopeConfig(file, config);
  if (!rope) return std::unexpected(rope.error());
  config.ropes.push_back(*std::move(rope));
  if (Status status = ReadVocabulary(file, config); !status) return std::unexpected(status.error());
  if (Status status = architecture->configure(file, config); !status)
    return std::unexpected(status.error());
  // Some families' queries and keys have their rows reordered on the way to GGUF; in a folder they
  // are as they were trained.
  const Result<bool> halves = file.GetBoolOr(config.architecture + ".rope.halves", false);
  if (!halves) return std::unexpected(halves.error());
  if (*halves) config.rope_pairs = RopePairs::kHalves;
  return config;
}

KvSpec KvSpecOf(const ModelConfig& config) {
  KvSpec spec;
  for (const LayerConfig& layer : config.layers) {
    spec.layers.push_back({.kv_heads = config.kv_heads,
                           .head_dim = config.head_dim,
                           .latent_dim = static_cast<int>(config.latent.rank),
                           .window = layer.window});
  }
  return spec;
}

std::vector<std::string_view> KnownArchitectures() {
  std::vector<std::string_view> names;
  for (const Architecture& architecture : kArchitectures) names.push_back(architecture.name);
  return names;
}

}  // namespace folio
