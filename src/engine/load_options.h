// From what callers of the public engine say to what loads a model.
#ifndef FOLIO_ENGINE_LOAD_OPTIONS_H_
#define FOLIO_ENGINE_LOAD_OPTIONS_H_

#include "base/error.h"
#include "engine/loaded_model.h"
#include "folio/engine.h"

namespace folio {

// A usage error that names the option and its value if one is out of its range.
Result<LoadOptions> LoadOptionsOf(const EngineOptions& options);

}  // namespace folio

#endif  // FOLIO_ENGINE_LOAD_OPTIONS_H_
