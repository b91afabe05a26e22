#include <cmath>
#include <cstdint>
#include <string>

#include "model/architectures.h"

namespace folio {
namespace {

constexpr std::size_t kPatternLength = 6;  // five local layers, then one that sees everything
constexpr std::size_t kLayersOf27B = 62;  // the one size whose queries are scaled by hidden / heads
constexpr double kDefaultLocalBase = 10000.0;

}  // namespace

// Gemma Team 2025, "Gemma 3 Technical Report", section 2.
Status ConfigureGemma3(const ModelFile& file, ModelConfig& config) {
  const Result<std::uint64_t> window = file.GetUint("gemma3.attention.sliding_window");
  if (!window) return std::unexpected(window.error());
  if (*window == 0 || *window > (std::uint64_t{1} << 31)) {
    return InputError(file.path(), "gemma3.attention.sliding_window",
                      "is " + std::to_string(*window));
  }
  const Result<double> local_base = file.GetFloatOr("gemma3.rope.freq_base_swa", kDefaultLocalBase);
  if (!local_base) return std::unexpected(local_base.error());
  if (*local_base < kSmallestRopeBase || *local_base > kLargestRopeBase) {
    return InputError(file.path(), "gemma3.rope.freq_base_swa",
                      "is " + std::to_string(*local_base) + ", must be from " +
                          std::to_string(kSmallestRopeBase) + " to " +
                          std::to_string(kLargestRopeBase));
  }

  RopeConfig local = config.ropes[0];
  local.base = *local_base;
  local.scaling = NoScaling{};  // only the global layers were stretched
  config.ropes.push_back(local);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    if ((i + 1) % kPatternLength == 0) continue;
    config.layers[i].window = static_cast<std::int64_t>(*window);
    config.layers[i].rope = 1;
  }
  config.rope_pairs = RopePairs::kHalves;
  config.activation = FfnActivation::kGelu;
  config.qk_norm = true;
  config.post_norms = true;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  if (config.layers.size() == kLayersOf27B) {
    config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.hidden) /
                                              static_cast<float>(config.query_heads));
  }
  return {};
}

}  // namespace folio
