#include "model/positions/alibi.h"

#include <bit>

#include "model/exact_math.h"

namespace folio {
namespace {

// Slope `i` (from 1) of a power of two of heads.
double Slope(int i, int heads) { return ExactExp2(-8.0 * i / heads); }

}  // namespace

std::vector<double> AlibiSlopes(int heads) {
  const auto whole = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  std::vector<double> slopes;
  for (int i = 1; i <= whole; ++i) slopes.push_back(Slope(i, whole));
  for (int i = 1; i <= heads - whole; ++i) slopes.push_back(Slope(2 * i - 1, 2 * whole));
  return slopes;
}

}  // namespace folio
