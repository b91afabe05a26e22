// Attention forward and backward of one head in the two ways that the FlashAttention paper (Dao et
// al. 2022, arXiv:2205.14135) compares, over the two tiers of lab_attention_memory.h.
#ifndef FOLIO_APPS_FOLIO_LAB_ATTENTION_TRAINING_H_
#define FOLIO_APPS_FOLIO_LAB_ATTENTION_TRAINING_H_

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "folio/lab_attention_math.h"
#include "folio/lab_attention_memory.h"
#include "folio/lab_attention_rungs.h"

namespace folio {

// What happens to a score and its weight besides softmax.
struct ScoreRules {
  static constexpr float kDropped = 0.1F;  // of the weights, as GPT-2 is trained
  static constexpr float kKeptFactor = 1 / (1 - kDropped);

  bool causal = false;
  bool dropout = false;

  bool Sees(std::int64_t query, std::int64_t key) const { return !causal || key <= query; }
  // 0 or kKeptFactor, from the two positions alone, so that the backward pass can draw it again.
  float Keep(std::int64_t query, std::int64_t key) const;
};

// A head's inputs and the gradient of its output, [tokens, head_dim].
struct TrainingInputs {
  AttentionInputs forward;
  std::vector<float> d_out;
};
TrainingInputs MakeTrainingInputs(std::int64_t tokens, std::int64_t head_dim, std::uint64_t seed);

struct TrainingResult {
  std::vector<float> out;
  std::vector<float> dq;
  std::vector<float> dk;
  std::vector<float> dv;
  Traffic forward;
  Traffic both;  // forward and backward
  Operations operations;
  std::uint64_t forward_peak = 0;  // bytes of fast memory
  std::uint64_t peak = 0;
};

// Algorithms 0 and 3 of the paper: every step a kernel of its own that leaves its n x n table in
// slow memory. A causal mask and dropout are kernels of their own too, where the rules have them.
// A product's smaller matrix stays in fast memory as a whole, so each is read once.
Result<TrainingResult> StandardTraining(const TrainingInputs& inputs, ScoreRules rules,
                                        std::uint64_t fast_bytes);

// Algorithms 1 and 4 (and 2, which adds mask and dropout): tiles of `tile`, keys outside.
Result<TrainingResult> FlashTraining(const TrainingInputs& inputs, ScoreRules rules, Tile tile,
                                     std::uint64_t fast_bytes);

// The block sizes that both algorithms set for a fast memory of so many bytes of FP16: ceil(M / 4d)
// keys, and as many queries but at most d.
Tile PaperTile(std::uint64_t fast_bytes, std::int64_t head_dim);

// The same in float64, and the largest difference to it of each result, over its largest value.
struct TrainingReference {
  std::vector<double> out;
  std::vector<double> dq;
  std::vector<double> dk;
  std::vector<double> dv;
};
TrainingReference ReferenceTraining(const TrainingInputs& inputs, ScoreRules rules);
double LargestDifference(const TrainingResult& result, const TrainingReference& reference);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_ATTENTION_TRAINING_H_
