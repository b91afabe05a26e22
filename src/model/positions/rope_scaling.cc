#include "model/positions/rope_scaling.h"

#include <array>

namespace folio {
namespace {

// Calls the scaling's own MakeRope, with the length where it wants one.
struct Maker {
  const RopeShape& shape;
  std::int64_t length;

  Rope operator()(const NoScaling& /*none*/) const {
    return {.frequencies = RopeFrequencies(shape)};
  }
  Rope operator()(const DynamicNtkScaling& scaling) const {
    return MakeRope(shape, scaling, length);
  }
  Rope operator()(const LongRopeScaling& scaling) const { return MakeRope(shape, scaling, length); }
  template <typename Scaling>
  Rope operator()(const Scaling& scaling) const {
    return MakeRope(shape, scaling);
  }
};

}  // namespace

Rope MakeRope(const RopeShape& shape, const RopeScaling& scaling, std::int64_t length) {
  return std::visit(Maker{shape, length}, scaling);
}

std::string_view RopeScalingName(const RopeScaling& scaling) {
  // In the variant's order.
  constexpr std::array<std::string_view, 6> kNames = {"none", "linear", "dynamic",
                                                      "yarn", "llama3", "longrope"};
  static_assert(kNames.size() == std::variant_size_v<RopeScaling>);
  return kNames[scaling.index()];
}

}  // namespace folio
