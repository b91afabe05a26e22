// Keys and values of a model for so many users and tokens: on kv_sizing's arithmetic, checked, so
// that what does not fit 64 bits is an error.
#ifndef FOLIO_PLAN_KV_PLAN_H_
#define FOLIO_PLAN_KV_PLAN_H_

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "kvcache/kv_sizing.h"
#include "plan/model_shape.h"

namespace folio {

struct KvQuestion {
  std::int64_t context = 0;  // tokens of each user's sequence
  std::int64_t users = 1;
  std::int64_t shared_prefix = 0;  // first tokens that all users have in common, at most `context`
  std::int64_t chunk = 512;        // rows of one forward pass
  int block_size = 16;
  KvCodings codings;
};

// Layers that see the same positions. The layout may cut them into several KV groups.
struct KvKindPlan {
  std::int64_t window = 0;  // 0: all positions
  bool latent = false;
  int layers = 0;
  std::uint64_t bytes_per_token = 0;
};

struct KvGroupPlan {
  std::int64_t window = 0;
  int layers = 0;
  std::int64_t blocks_per_sequence = 0;
  std::int64_t shared_blocks = 0;  // of these, that all users have in common
  std::int64_t num_blocks = 0;     // of all users
};

struct KvPlan {
  std::uint64_t bytes_per_token = 0;  // every layer counted as full attention
  std::uint64_t block_bytes = 0;      // of one group
  std::uint64_t padding_bytes = 0;    // in one block of each group together
  std::int64_t blocks_per_sequence = 0;
  std::int64_t num_blocks = 0;
  std::uint64_t bytes_per_sequence = 0;  // of a user who shares nothing
  std::uint64_t bytes = 0;               // num_blocks * block_bytes
  std::int64_t empty_slots = 0;          // of the last block of a sequence
  std::uint64_t waste_bytes = 0;         // what they take in groups without a window, a sequence
  std::uint64_t state_bytes_per_sequence = 0;
  std::uint64_t state_bytes = 0;  // of all users
  std::vector<KvKindPlan> kinds;
  std::vector<KvGroupPlan> groups;
};

// A model without layers that store anything has no blocks, and state alone.
Result<KvPlan> PlanKv(const ModelShape& shape, const KvQuestion& question);

}  // namespace folio

#endif  // FOLIO_PLAN_KV_PLAN_H_
