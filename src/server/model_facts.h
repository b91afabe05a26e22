// What clients are told about a model: one object for all dialects, with the length of its context
// under every name that clients look for.
#ifndef FOLIO_SERVER_MODEL_FACTS_H_
#define FOLIO_SERVER_MODEL_FACTS_H_

#include <span>

#include "formats/json.h"
#include "server/hosted_model.h"

namespace folio {

// OpenAI's model object with Anthropic's members beside it.
Json ModelJson(const ModelListing& model);
Json ModelListJson(std::span<const ModelListing> models);

}  // namespace folio

#endif  // FOLIO_SERVER_MODEL_FACTS_H_
