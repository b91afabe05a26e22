// A loaded model, ready to compute: the file's tokenizer, chat template and weights, the KV cache
// and the threads. One thread at a time uses what is not const.
#ifndef FOLIO_ENGINE_LOADED_MODEL_H_
#define FOLIO_ENGINE_LOADED_MODEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "formats/model_file.h"
#include "kernels/product.h"
#include "kvcache/block_hash.h"
#include "kvcache/kv_cache_manager.h"
#include "kvcache/kv_sizing.h"
#include "kvcache/kv_storage.h"
#include "kvcache/token_chain.h"
#include "model/config.h"
#include "model/forward.h"
#include "model/weights.h"
#include "plan/memory_plan.h"
#include "quant/kv_type.h"
#include "text/chat_template.h"
#include "text/grammar.h"
#include "text/tokenizer.h"
#include "trace/trace.h"

namespace folio {

struct LoadOptions {
  int threads = 0;           // 0 = one a core of this machine
  std::int64_t context = 0;  // tokens; 0 = the model's, at most kDefaultContext with kContexts
  std::uint64_t memory = 0;  // bytes of everything together; 0 = what the machine (its cgroup) has
  int block_size = 16;       // tokens of a KV block, a multiple of 16
  KvType kv_type = KvType::kBf16;
  Numerics numerics = Numerics::kInt16;
  std::int64_t max_batch_tokens = 512;  // rows of one forward pass
  std::int64_t max_logit_rows = 1;      // rows whose logits are kept at a time
  std::int64_t max_drafters = 0;        // replies that are drafted at a time
  PoolSize pool = PoolSize::kContexts;
  std::int64_t pool_contexts = 1;  // of PoolSize::kContexts
  std::int64_t num_blocks = 0;     // of PoolSize::kGiven
  std::int64_t expert_slots = 0;   // experts in memory at a time, for tests; 0 = as memory allows
  std::string chat_template;       // path of a Jinja file; empty: the model's own template
  bool prefix_cache = true;
  std::size_t trace_events = 0;           // latest events kept
  std::uint64_t prompt_log_bytes = 0;     // kept of recent prompts, to explain misses
  KvStorage::CommitFunction kv_commit;    // replaces the system's: for tests of failures
  std::optional<Isa> isa = std::nullopt;  // nothing: what FOLIO_ISA forces, else the best
};

inline constexpr std::int64_t kDefaultContext = 8192;

// A usage error that names the first id outside [0, vocab).
Status CheckTokenIds(std::span<const TokenId> tokens, std::int64_t vocab);

class LoadedModel {
 public:
  static Result<std::unique_ptr<LoadedModel>> Load(const std::string& path,
                                                   const LoadOptions& options);
  // What Load would plan, or refuse for want of memory.
  static Result<MemoryPlan> Plan(const std::string& path, const LoadOptions& options);

  const ModelFile& file() const { return file_; }
  const ModelConfig& config() const { return config_; }
  const ModelWeights& weights() const { return *weights_; }
  ModelWeights& weights() { return *weights_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const GrammarCompiler& grammars() const { return *grammars_; }
  // The model's chat template, or the reason there is none.
  const Result<ChatTemplate>& chat_template() const { return *chat_template_; }
  const LoadOptions& options() const { return options_; }  // with every 0 resolved
  const MemoryPlan& plan() const { return plan_; }
  Isa isa() const { return isa_; }
  double load_seconds() const { return load_seconds_; }
  ThreadPool& pool() { return *pool_; }
  const KvLayout& kv_layout() const { return layout_; }

  KvCacheManager& cache() { return *cache_; }
  const KvCacheManager& cache() const { return *cache_; }
  KvStorage& kv_storage() { return *kv_storage_; }
  const KvStorage& kv_storage() const { return *kv_storage_; }
  Forward& forward() { return *forward_; }
  Trace& trace() { return trace_; }
  const Trace& trace() const { return trace_; }

  // An empty chain of this model's tokens. Chains of different salts share no block.
  TokenChain NewChain(std::string_view salt) const;

 private:
  explicit LoadedModel(const LoadOptions& options);
  // Opened and planned, with nothing loaded.
  static Result<std::unique_ptr<LoadedModel>> Planned(const std::string& path,
                                                      const LoadOptions& options);
  Status PlanParts();
  ForwardOptions ForwardOptionsOf(std::int64_t context) const;
  Status LoadParts();
  Status LoadText();

  LoadOptions options_;
  Isa isa_ = Isa::kScalar;
  ModelFile file_;
  ModelConfig config_;
  std::string digest_;
  KvLayout layout_;
  MemoryPlan plan_;
  double load_seconds_ = 0;
  std::unique_ptr<ThreadPool> pool_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<GrammarCompiler> grammars_;
  std::optional<Result<ChatTemplate>> chat_template_;
  std::unique_ptr<ModelWeights> weights_;
  Trace trace_;
  std::shared_ptr<BlockHasher> hasher_;
  std::optional<KvStorage> kv_storage_;
  std::unique_ptr<KvCacheManager> cache_;
  std::unique_ptr<Forward> forward_;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_LOADED_MODEL_H_
