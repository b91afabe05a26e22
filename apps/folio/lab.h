// The worked examples of the texts on paging, KV cache size, prompt caching, FlashAttention,
// positional encoding and Mixture of Experts, run on the engine's own classes: each lab is a few
// steps that say what happened, as lines for people and as facts.
#ifndef FOLIO_APPS_FOLIO_LAB_H_
#define FOLIO_APPS_FOLIO_LAB_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "folio/output.h"

namespace folio {

struct LabArgs {
  std::string model;        // a path, a name in the store, or empty
  std::int64_t tokens = 0;  // 0 = the lab's own
  std::int64_t threads = 0;
  std::string kv_type = "bf16";
  // Of the attention lab; 0 = its own.
  std::int64_t head_dim = 0;
  std::int64_t tile = 0;          // rows of queries and of keys
  std::uint64_t fast_memory = 0;  // bytes
  std::optional<std::uint64_t> seed;
  std::int64_t dim = 0;  // of the positions lab: one more d; 0 = none
  // Of the MoE lab; 0 or empty = its own.
  std::int64_t hidden = 0;
  std::int64_t expert_ffn = 0;
  std::string expert_type;
  bool measure = false;
  std::string svg;  // a file to write
};

struct LabStep {
  std::string id;  // of the worked example: "P1"
  std::string title;
  std::vector<std::string> lines;
  OutputJson facts = OutputJson::object();
};

using LabSteps = std::vector<LabStep>;

// Two requests and a third share blocks of a pool; what paging wastes; what a block is.
Result<LabSteps> PagedLab(const LabArgs& args);
// What keys and values take, factor by factor, and in whole blocks.
Result<LabSteps> KvSizeLab(const LabArgs& args);
// What a second request with the same prefix is spared, and what makes it miss.
Result<LabSteps> PromptCacheLab(const LabArgs& args);
// The work of one decode step with and without a KV cache.
Result<LabSteps> KvCacheLab(const LabArgs& args);
// From attention in three passes to FlashAttention: what each rung moves, computes and loses.
Result<LabSteps> AttentionLab(const LabArgs& args);
// Why attention needs positions, and from fractions to the hands of a model's own rotation.
Result<LabSteps> PositionsLab(const LabArgs& args);
// Router, dispatch, balance and cost of a Mixture of Experts.
Result<LabSteps> MoeLab(const LabArgs& args);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_H_
