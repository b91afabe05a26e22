// What `folio plan` knows by name.
#ifndef FOLIO_APPS_FOLIO_PLAN_LIST_H_
#define FOLIO_APPS_FOLIO_PLAN_LIST_H_

#include <string>

#include "folio/output.h"

namespace folio {

OutputJson KnownJson();
std::string KnownText();

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_LIST_H_
