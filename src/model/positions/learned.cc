#include "model/positions/learned.h"

#include <string>

namespace folio {

Status AddLearnedPosition(std::span<const float> table, std::int64_t position, std::span<float> x) {
  const auto rows = static_cast<std::int64_t>(x.empty() ? 0 : table.size() / x.size());
  if (position < 0 || position >= rows) {
    return UsageError("position", std::to_string(position),
                      "is past the " + std::to_string(rows) + " positions of a learned table");
  }
  const auto row = table.subspan(static_cast<std::size_t>(position) * x.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += row[i];
  return {};
}

}  // namespace folio
