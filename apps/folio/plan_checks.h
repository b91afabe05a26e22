// Which options of `folio plan` go together.
#ifndef FOLIO_APPS_FOLIO_PLAN_CHECKS_H_
#define FOLIO_APPS_FOLIO_PLAN_CHECKS_H_

#include <vector>

#include "base/error.h"
#include "folio/options.h"
#include "folio/plan_args.h"

namespace folio {

// An option that would change nothing beside the others, or that contradicts one, is a usage error:
// what was asked is never left aside. `given` has the command's options.
Status CheckPlanOptions(const PlanArgs& args, const std::vector<OptionFact>& given);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_CHECKS_H_
