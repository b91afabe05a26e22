// A loaded model, ready to compute: the file's tokenizer, chat template and weights, the KV cache
// and the threads. One LoadedModel serves one Session at a time here.
#ifndef FOLIO_ENGINE_LOADED_MODEL_H_
#define FOLIO_ENGINE_LOADED_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "formats/gguf.h"
#include "kernels/product.h"
#include "kvcache/block_pool.h"
#include "kvcache/kv_sizing.h"
#include "kvcache/kv_storage.h"
#include "model/config.h"
#include "model/forward.h"
#include "model/weights.h"
#include "quant/kv_type.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace folio {

struct LoadOptions {
  int threads = 0;           // 0 = one a core of this machine
  std::int64_t context = 0;  // tokens; 0 = the model's, at most 8,192
  std::uint64_t memory =
      0;                // bytes of everything together; 0 = what the machine (its cgroup) has free
  int block_size = 16;  // tokens of a KV block, a multiple of 16
  KvType kv_type = KvType::kBf16;
  Numerics numerics = Numerics::kInt16;
  std::int64_t max_batch_tokens =
      512;  // rows of one forward pass: longer prompts are cut into such chunks
  std::optional<Isa> isa = std::nullopt;  // nothing: what FOLIO_ISA forces, else the best
};

// Where the memory goes: planned before anything is reserved.
struct MemoryPlan {
  std::uint64_t weights_bytes = 0;
  std::uint64_t kv_bytes = 0;
  std::uint64_t workspace_bytes = 0;
  std::uint64_t budget_bytes = 0;
  std::int64_t num_blocks = 0;
  std::int64_t context = 0;
};

class LoadedModel {
 public:
  static Result<std::unique_ptr<LoadedModel>> Load(const std::string& path,
                                                   const LoadOptions& options);

  const Gguf& file() const { return file_; }
  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return *weights_; }
  ModelWeights& weights() { return *weights_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  // The model's chat template, or the reason there is none.
  const Result<ChatTemplate>& chat_template() const { return *chat_template_; }
  const LoadOptions& options() const { return options_; }  // with every 0 resolved
  const MemoryPlan& plan() const { return plan_; }
  Isa isa() const { return isa_; }
  double load_seconds() const { return load_seconds_; }
  ThreadPool& pool() { return *pool_; }

 private:
  friend class Session;
  LoadedModel() = default;
  Status PlanMemory();
  void ChooseContext();
  ForwardOptions ForwardOptionsOf() const;
  Status LoadParts();
  Status LoadText();

  LoadOptions options_;
  Isa isa_ = Isa::kScalar;
  Gguf file_;
  ModelConfig config_;
  KvLayout layout_;
  MemoryPlan plan_;
  double load_seconds_ = 0;
  std::unique_ptr<ThreadPool> pool_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<Result<ChatTemplate>> chat_template_;
  std::unique_ptr<ModelWeights> weights_;
  std::optional<KvStorage> kv_storage_;
  std::unique_ptr<BlockPool> block_pool_;
  std::unique_ptr<Forward> forward_;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_LOADED_MODEL_H_
