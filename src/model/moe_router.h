// The router of a Mixture-of-Experts layer: which experts a token goes to and how much each counts.
// The router's linear layer is an ordinary product; here its logits become scores, the scores a
// choice, and the choice weights, each step in the ways that the papers know.
#ifndef FOLIO_MODEL_MOE_ROUTER_H_
#define FOLIO_MODEL_MOE_ROUTER_H_

#include <cstdint>
#include <span>

namespace folio {

constexpr int kMostExperts = 1024;
constexpr int kMostExpertsPerToken = 64;

enum class RouterScores {
  kSoftmax,  // over all experts (Shazeer et al. 2017; Fedus et al. 2021, eq. 1)
  kSigmoid,  // each expert on its own (DeepSeek-V3, 2024, eq. 15)
};

enum class RouterWeights {
  kScores,        // as they are: Switch (eq. 2), Qwen2-MoE, OLMoE
  kRenormalised,  // divided by the sum of the chosen ones: Mixtral (2024, section 2.1), Qwen3-MoE
  kSoftmaxOfChosen,  // softmax over the chosen logits alone: gpt-oss
};

struct RouterConfig {
  int experts = 0;  // E, at most kMostExperts; 0: the model has none
  int top_k = 0;    // experts of a token, at most kMostExpertsPerToken and E
  RouterScores scores = RouterScores::kSoftmax;
  RouterWeights weights = RouterWeights::kRenormalised;
  float scale = 1.0F;  // of the weights, at the end (DeepSeek's routed scaling factor)
  // Group-limited choice (DeepSeek-V2 and V3): of `groups` equal groups of neighbours only the best
  // `top_groups` may be chosen from; a group counts as the sum of its best `group_best` experts.
  int groups = 1;
  int top_groups = 1;
  int group_best = 1;
};

struct RoutedExpert {
  std::int32_t expert = 0;
  float weight = 0;
};

// Routes one token.
//   logits  [E], from the router's linear layer
//   bias    [E] or null: added to the scores for the choice, not for the weights
//   (DeepSeek-V3, 2.1.2) scores  [E], written: the probabilities (or sigmoids) that were chosen
//   from chosen  [top_k], written: best first; of equal ones the lowest index first
// False if a logit is infinite or no number: then the first top_k experts are chosen, with NaN for
// weights, so that whatever comes of the token shows it.
bool Route(const RouterConfig& config, const float* logits, const float* bias, float* scores,
           std::span<RoutedExpert> chosen);

}  // namespace folio

#endif  // FOLIO_MODEL_MOE_ROUTER_H_
