// The formula of the KV cache's size with a model's own numbers, factor by factor: one head, all
// heads, all layers, GQA in the place of MHA, windows, blocks in the place of tokens.
#ifndef FOLIO_APPS_FOLIO_PLAN_EXPLAIN_H_
#define FOLIO_APPS_FOLIO_PLAN_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "folio/plan_report.h"

namespace folio {

struct ExplainStep {
  std::string formula;     // "2 n d h"
  std::string meaning;     // "every head keeps its own K and V, h = 32"
  std::string arithmetic;  // "2 x 100,000 x 128 x 32 x 2 bytes"
  std::uint64_t bytes = 0;
};

// Of a plan whose model stores keys and values in some layer; nothing else has steps. Each step's
// bytes come from kv_sizing, never from the text beside them.
std::vector<ExplainStep> ExplainKv(const PlanAnswer& answer);

std::string ExplainText(const PlanAnswer& answer);
OutputJson ExplainJson(const PlanAnswer& answer);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_PLAN_EXPLAIN_H_
