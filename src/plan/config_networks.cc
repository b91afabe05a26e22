// Networks of layers with and without experts, as families of config.json's share them.
#include <algorithm>
#include <string>

#include "plan/config_families.h"

namespace folio {
namespace {

std::uint64_t U(std::int64_t value) { return static_cast<std::uint64_t>(value); }

constexpr std::int64_t kMostExpertsOfALayer = 65536;

std::int64_t SharedWidth(ShapeFields& fields, const ExpertFields& names, std::int64_t expert_ffn) {
  if (!names.shared_ffn.empty()) return fields.Size(names.shared_ffn);
  if (names.shared_count.empty()) return 0;
  const std::int64_t unit = names.shared_unit.empty() ? expert_ffn : fields.Size(names.shared_unit);
  return fields.CountOr(names.shared_count, names.shared_count_or) * unit;
}

void CheckExperts(ShapeFields& fields, const ExpertFields& names, std::int64_t experts,
                  std::int64_t top_k) {
  if (experts > kMostExpertsOfALayer) fields.Refuse(names.count, "is " + std::to_string(experts));
  if (top_k > experts) {
    fields.Refuse(names.top_k, "is " + std::to_string(top_k) + ", more than the " +
                                   std::to_string(experts) + " experts");
  }
}

}  // namespace

std::vector<bool> AllLayers(const ModelShape& shape) { return LayersBehind(0, 1, shape); }

std::vector<bool> LayersBehind(std::int64_t dense, std::int64_t step, const ModelShape& shape) {
  std::vector<bool> has(shape.layers.size());
  for (std::size_t i = 0; i < has.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    has[i] = number >= dense && number % step == 0;
  }
  return has;
}

void ReadDenseNetworks(ShapeFields& fields, const DecoderTraits& traits,
                       const std::vector<bool>& has_experts, ModelShape& shape) {
  if (std::ranges::all_of(has_experts, [](bool has) { return has; })) return;
  shape.ffn = fields.Size("intermediate_size");
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    if (!has_experts[i])
      shape.layers[i].ffn_parameters = FfnParameters(shape.hidden, shape.ffn, traits);
  }
}

void ReadExperts(ShapeFields& fields, const ExpertFields& names, const DecoderTraits& traits,
                 const std::vector<bool>& has, ModelShape& shape) {
  const std::int64_t experts = fields.Size(names.count);
  const std::int64_t top_k = fields.Size(names.top_k);
  const std::int64_t ffn = fields.Size(names.ffn);
  const std::int64_t shared_ffn = SharedWidth(fields, names, ffn);
  CheckExperts(fields, names, experts, top_k);
  if (!fields.status()) return;
  shape.experts = static_cast<int>(experts);
  shape.top_k = static_cast<int>(top_k);
  shape.expert_ffn = ffn;
  shape.shared_ffn = shared_ffn;
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    if (!has[i]) continue;
    LayerShape& layer = shape.layers[i];
    layer.expert_parameters = FfnParameters(shape.hidden, ffn, traits);
    layer.ffn_parameters = U(experts) * U(shape.hidden);
    if (names.router_bias) layer.ffn_parameters += U(experts);
    if (names.choice_bias) layer.ffn_parameters += U(experts);
    if (shared_ffn > 0) layer.ffn_parameters += FfnParameters(shape.hidden, shared_ffn, traits);
    if (names.shared_gate) layer.ffn_parameters += U(shape.hidden);
  }
}

}  // namespace folio
