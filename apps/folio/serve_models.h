// The models that `folio serve` is given: named one by one, or all of a folder.
#ifndef FOLIO_APPS_FOLIO_SERVE_MODELS_H_
#define FOLIO_APPS_FOLIO_SERVE_MODELS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "folio/engine.h"
#include "server/hosted_model.h"

namespace folio {

struct ServeModels {
  std::vector<std::string> names;  // MODEL or ALIAS=MODEL each; none and no folder: the default
  std::string folder;              // every model in it, too
  EngineOptions options;           // of each, but for path and memory
  std::uint64_t memory = 0;        // bytes of all together
};

// In the order given, the folder's last by name; the first is loaded at start. A model that is
// named and can't be read or never fits is an error; one of the folder is left out and `say` told.
Result<std::vector<HostedModel>> HostedModelsOf(
    const ServeModels& given, const std::function<void(const std::string& line)>& say);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_SERVE_MODELS_H_
