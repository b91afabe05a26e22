// Plans of several models, side by side.
#ifndef FOLIO_APPS_FOLIO_PLAN_COMPARE_H_
#define FOLIO_APPS_FOLIO_PLAN_COMPARE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "folio/output.h"
#include "folio/plan_report.h"

namespace folio {

struct ComparedModel {
  std::shared_ptr<const ModelShape> shape;
  std::optional<PlanAnswer> answer;  // nothing: its layers are not known
};

// A row for each model, in order, with "-" for what is not known of it; below, why.
std::string CompareText(const std::vector<ComparedModel>& models);
// The document of each plan, and of a model that has none what is known.
OutputJson CompareJson(const std::vector<ComparedModel>& models, std::int64_t batch);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_COMPARE_H_
