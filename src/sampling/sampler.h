// From logits to a token. The order of the steps, each skipped when its option is neutral:
//   repetition, presence and frequency penalties -> (greedy if temperature is 0) -> temperature ->
//   top-k -> top-p -> min-p -> draw.
// The random number of a draw is a function of (seed, choice, position) alone, so a result does not
// depend on the schedule. Ties are broken by the lower id.
#ifndef FOLIO_SAMPLING_SAMPLER_H_
#define FOLIO_SAMPLING_SAMPLER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace folio {

struct SamplingParams {
  float temperature = 1.0F;  // 0 = greedy
  int top_k = 0;             // 0 = all
  float top_p = 1.0F;
  float min_p = 0.0F;
  float repeat_penalty =
      1.0F;  // divides positive logits of seen tokens, multiplies negative ones (CTRL, Keskar 2019)
  float presence_penalty = 0.0F;  // OpenAI's
  float frequency_penalty = 0.0F;
  std::uint64_t seed = 0;
  int logprobs = 0;  // how many alternatives to report
};

// Names the option and the value that is out of range.
Status CheckSamplingParams(const SamplingParams& params);

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0.0F;  // of the model's own distribution, before penalties and temperature
};

struct Sample {
  std::int32_t token = 0;
  float logprob = 0.0F;
  std::vector<TokenLogprob> top;  // params.logprobs best, by falling probability
};

class Sampler {
 public:
  explicit Sampler(const SamplingParams& params, std::uint32_t choice = 0);

  // Draws the token that follows `history` (prompt and generated ids: the penalties' input) at
  // absolute `position`. Logits that are NaN (or all -infinity) are a runtime error.
  Result<Sample> Draw(std::span<const float> logits, std::span<const std::int32_t> history,
                      std::int64_t position);

 private:
  SamplingParams params_;
  std::uint32_t choice_;
  std::vector<TokenLogprob> candidates_;
  std::vector<float> penalised_;
};

}  // namespace folio

#endif  // FOLIO_SAMPLING_SAMPLER_H_
