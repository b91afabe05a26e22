// What a server would run with: every option's value and where it comes from.
#ifndef FOLIO_APPS_FOLIO_SERVE_CONFIG_H_
#define FOLIO_APPS_FOLIO_SERVE_CONFIG_H_

#include <vector>

#include "base/error.h"
#include "folio/options.h"

namespace folio {

// As text, one a line, or as one JSON document {"--port": {"value": 8080, "source": "default"}}.
// Source is "option", "environment" or "default"; defaults that are this machine's are told as they
// are.
Status PrintServeConfig(const std::vector<OptionFact>& options, bool json);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_SERVE_CONFIG_H_
