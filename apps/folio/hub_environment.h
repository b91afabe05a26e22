// Where models are fetched from, as the environment says: HF_ENDPOINT, HF_TOKEN.
#ifndef FOLIO_APPS_FOLIO_HUB_ENVIRONMENT_H_
#define FOLIO_APPS_FOLIO_HUB_ENVIRONMENT_H_

#include <string>

#include "base/error.h"

namespace folio {

struct HubEnvironment {
  std::string hub = "https://huggingface.co";
  std::string token;  // for the hub only; empty: none. Never shown.
};

// A usage error if the hub is no URL, or the token has what no token has.
Result<HubEnvironment> ReadHubEnvironment();

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_HUB_ENVIRONMENT_H_
