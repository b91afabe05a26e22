#include "model/positions/mrope.h"

namespace folio {

std::vector<double> MropeAngles(std::span<const double> frequencies,
                                const std::array<std::int64_t, 3>& sections,
                                const MropePosition& position) {
  std::vector<double> angles;
  std::size_t section = 0;
  std::int64_t left = sections[0];
  for (const double frequency : frequencies) {
    while (left == 0 && section + 1 < sections.size()) left = sections[++section];
    angles.push_back(static_cast<double>(position[section]) * frequency);
    --left;
  }
  return angles;
}

}  // namespace folio
