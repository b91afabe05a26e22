// A model's shape from its config.json alone.
#ifndef FOLIO_PLAN_CONFIG_SHAPE_H_
#define FOLIO_PLAN_CONFIG_SHAPE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/model_shape.h"

namespace folio {

// Larger files are refused unread: real ones have some kilobytes.
inline constexpr std::size_t kMostConfigBytes = std::size_t{4} << 20;

// `path` names the file in errors. A model_type that no family here knows is an input error; so is
// a field that is missing, of the wrong kind, out of its bounds or in contradiction to another:
// each by its name.
Result<ModelShape> ReadConfigShape(const std::string& path, std::string_view text);

// Every model_type that is known, sorted.
std::vector<std::string_view> PlannableModelTypes();

}  // namespace folio

#endif  // FOLIO_PLAN_CONFIG_SHAPE_H_
