#include <algorithm>
#include <string>
#include <variant>

#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {
namespace {

constexpr std::uint64_t kMostGroups = 64;
constexpr std::int64_t kSigmoid = 2;  // of expert_gating_func; 1 is a softmax

void ReadRouter(ConfigReader& read, ModelConfig& config) {
  RouterConfig& router = config.router;
  const bool sigmoid = read.IntOr("expert_gating_func", 1, 1, 2) == kSigmoid;
  router.scores = sigmoid ? RouterScores::kSigmoid : RouterScores::kSoftmax;
  router.weights = read.BoolOr("expert_weights_norm", false) ? RouterWeights::kRenormalised
                                                             : RouterWeights::kScores;
  router.scale = static_cast<float>(read.FloatOr("expert_weights_scale", 1.0, 1e-6, 1e6));
  const auto experts = static_cast<std::uint64_t>(router.experts);
  router.groups = static_cast<int>(
      read.IntOr("expert_group_count", 1, 1, std::min<std::uint64_t>(experts, kMostGroups)));
  router.top_groups = static_cast<int>(read.IntOr("expert_group_used_count", router.groups, 1,
                                                  static_cast<std::uint64_t>(router.groups)));
  // V2's groups count as their best expert, V3's as their two best.
  router.group_best = sigmoid ? 2 : 1;
  const int of_group = router.experts / router.groups;
  if (router.experts % router.groups != 0 || of_group < router.group_best) {
    read.Refuse("expert_group_count", "is " + std::to_string(router.groups) + " for " +
                                          std::to_string(router.experts) + " experts");
  } else if (of_group * router.top_groups < router.top_k) {
    read.Refuse("expert_group_used_count", "is " + std::to_string(router.top_groups) +
                                               ", too few for the " + std::to_string(router.top_k) +
                                               " experts of a token");
  }
}

// YaRN's temperature is in the softmax's scale, not in cosines and sines: mscale and mscale_all_dim
// are one number in every model.
void MoveTemperature(ConfigReader& read, ModelConfig& config) {
  auto* yarn = std::get_if<YarnScaling>(&config.ropes[0].scaling);
  if (yarn == nullptr) return;
  yarn->attention_factor = 1.0;
  // A tenth of mscale_all_dim.
  const double multiplier = read.FloatOr("rope.scaling.yarn_log_multiplier", 0.0, 0.0, 1e3);
  const double mscale = YarnAttentionFactor(yarn->factor, 10.0 * multiplier);
  config.attention_scale *= static_cast<float>(mscale * mscale);
}

}  // namespace

// DeepSeek-AI 2024, "DeepSeek-V2", section 2, and "DeepSeek-V3", section 2.1: MLA, and experts of
// which some are shared, behind a few dense layers.
Status ConfigureDeepSeek2(const ModelFile& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kAdjacent;
  if (Status experts = ReadExperts(file, WidthWithoutKey::kOfOne, config); !experts) return experts;
  ConfigReader read(file, config.architecture);
  config.shared_ffn = config.expert_ffn * read.IntOr("expert_shared_count", 0, 0, kMostExperts);
  const std::string first = "blk." + std::to_string(config.num_layers() - config.moe_layers);
  config.choice_bias = file.FindTensor(first + ".exp_probs_b.bias") != nullptr;
  ReadRouter(read, config);
  MoveTemperature(read, config);
  return read.status();
}

}  // namespace folio
