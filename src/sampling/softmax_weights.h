// The exponentials of a distribution over the vocabulary, by one polynomial and no libm, so that
// every machine draws the same tokens.
#ifndef FOLIO_SAMPLING_SOFTMAX_WEIGHTS_H_
#define FOLIO_SAMPLING_SOFTMAX_WEIGHTS_H_

#include <span>

namespace folio {

// weights[i] = exp((logits[i] - max) / temperature) within 2 ulp; 0 where the exponent is below
// -87 (the smallest normal fp32). `max` is the largest logit, so every weight is in [0, 1].
void SoftmaxWeights(std::span<const float> logits, float max, float temperature,
                    std::span<float> weights);

// The weights' sum in double, in order of index.
double SumOf(std::span<const float> weights);

}  // namespace folio

#endif  // FOLIO_SAMPLING_SOFTMAX_WEIGHTS_H_
