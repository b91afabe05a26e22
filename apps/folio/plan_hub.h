// The shape of a model on the hub: of a GGUF file its header, of other repositories config.json; by
// ranges, so that nothing else is fetched.
#ifndef FOLIO_APPS_FOLIO_PLAN_HUB_H_
#define FOLIO_APPS_FOLIO_PLAN_HUB_H_

#include <string>

#include "base/error.h"
#include "plan/model_shape.h"

namespace folio {

// `source`: "hf:ORG/REPO[:QUANT]".
Result<ModelShape> ReadHubShape(const std::string& source);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_HUB_H_
