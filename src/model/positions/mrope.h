// M-RoPE (Wang et al. 2024, "Qwen2-VL", section 2.1): a token has three positions, in time, height
// and width. The pairs are cut into as many sections, and the pairs of a section turn by its
// position. A text token's three are equal, which makes it RoPE.
#ifndef FOLIO_MODEL_POSITIONS_MROPE_H_
#define FOLIO_MODEL_POSITIONS_MROPE_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace folio {

using MropePosition = std::array<std::int64_t, 3>;  // time, height, width

// A text token's.
constexpr MropePosition TextPosition(std::int64_t position) {
  return {position, position, position};
}

// The angle of each pair, in radians, [frequencies]. `sections` has the pairs of each position, as
// many together as there are frequencies: (16, 24, 24) in Qwen2-VL.
std::vector<double> MropeAngles(std::span<const double> frequencies,
                                const std::array<std::int64_t, 3>& sections,
                                const MropePosition& position);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_MROPE_H_
