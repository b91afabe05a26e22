// Well-known models by name, for a plan without any file: the fields of their published
// configurations that a plan depends on, with the source of each.
#ifndef FOLIO_PLAN_KNOWN_MODELS_H_
#define FOLIO_PLAN_KNOWN_MODELS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/model_shape.h"

namespace folio {

// Names in any case; nothing if there is no such model.
std::optional<Result<ModelShape>> FindKnownModel(std::string_view name);

std::vector<std::string_view> KnownModelNames();

}  // namespace folio

#endif  // FOLIO_PLAN_KNOWN_MODELS_H_
