// How a token is drawn from logits. The order of the steps is in src/sampling/sampler.h.
#ifndef FOLIO_SAMPLING_PARAMS_H_
#define FOLIO_SAMPLING_PARAMS_H_

#include <cstdint>
#include <optional>
#include <vector>

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
  // Nothing: no log-probabilities. N: the drawn token's, and those of the N best alternatives.
  std::optional<int> logprobs = std::nullopt;
};

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0.0F;  // of the model's own distribution, before penalties and temperature
};

struct Sample {
  std::int32_t token = 0;
  float logprob = 0.0F;           // 0 if params.logprobs is not set
  std::vector<TokenLogprob> top;  // params.logprobs best, by falling probability
};

}  // namespace folio

#endif  // FOLIO_SAMPLING_PARAMS_H_
