// From logits to a token. The order of the steps, each skipped when its option is neutral:
//   tokens that a grammar forbids are left out -> repetition, then presence and frequency penalties
//   -> (greedy if temperature is 0) -> temperature -> top-k -> top-p -> min-p -> draw.
// top-p keeps the smallest set of most probable tokens whose share of what top-k left is at least
// top_p; min-p keeps those at least min_p times as probable as the best. The draw inverts the
// cumulative distribution of what is left at a random number that is a function of (seed, choice,
// position) alone, so a result does not depend on the schedule. Ties are broken by the lower id.
// Weights are softmax_weights.h's: no libm decides a token.
#ifndef FOLIO_SAMPLING_SAMPLER_H_
#define FOLIO_SAMPLING_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "folio/sampling_params.h"

namespace folio {

// Names the option and the value that is out of range.
Status CheckSamplingParams(const SamplingParams& params);

class Sampler {
 public:
  explicit Sampler(const SamplingParams& params, std::uint32_t choice = 0);

  // Draws the token that follows `history` (prompt and generated ids: the penalties' input) at
  // absolute `position`. Logits that are NaN or +infinity, or all -infinity, are a runtime error.
  // `allowed`: token t may be drawn only if bit t % 32 of word t / 32 is set, and what is beyond it
  // may not; empty: any token. Log-probabilities are of the model's own distribution all the same.
  Result<Sample> Draw(std::span<const float> logits, std::span<const std::int32_t> history,
                      std::int64_t position, std::span<const std::uint32_t> allowed = {});

  // Whether a draw looks at the history at all.
  bool HasPenalties() const;

 private:
  struct Candidate {
    std::int32_t token;
    float logit;
  };

  std::span<const float> Mask(std::span<const float> logits,
                              std::span<const std::uint32_t> allowed);
  std::span<const float> Penalise(std::span<const float> logits,
                                  std::span<const std::int32_t> history);
  // Fills maxima_, which the two below need.
  Result<std::size_t> ScanLogits(std::span<const float> logits);
  // At least `count` logits are no less than this.
  float LeastOfBest(std::size_t count);
  // The `count` best tokens in order: falling logit, then rising id.
  void FindBest(std::span<const float> logits, std::size_t count);
  // Fills weights_ with the weights of candidates_.
  void WeighCandidates(float max);
  // Fills candidates_ with what top-k and top-p keep, and weights_ with their weights.
  void KeepTopKAndP(std::span<const float> logits, float max);
  std::int32_t DrawFromAll(std::span<const float> logits, float max, double random);
  std::int32_t DrawTruncated(std::span<const float> logits, float max, double random);
  // maxima_ are those of `logits`.
  void ReportLogprobs(std::span<const float> logits, Sample& sample);

  SamplingParams params_;
  std::uint32_t choice_;
  // Kept between draws so that a draw allocates nothing.
  std::vector<float> maxima_;  // of the logits drawn from, see BlockMaxima
  std::vector<float> sorted_maxima_;
  std::vector<Candidate> candidates_;
  std::vector<float> candidate_logits_;
  std::vector<float> weights_;
  std::vector<float> masked_;
  std::vector<float> penalised_;
  std::vector<std::int32_t> counts_;
};

}  // namespace folio

#endif  // FOLIO_SAMPLING_SAMPLER_H_
