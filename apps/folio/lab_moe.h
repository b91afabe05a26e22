// The steps of `folio lab moe`, after the text on Mixture of Experts. Experts and tokens count from
// 1 in what is shown, as in the text, and from 0 in the engine.
#ifndef FOLIO_APPS_FOLIO_LAB_MOE_H_
#define FOLIO_APPS_FOLIO_LAB_MOE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "folio/lab.h"
#include "model/moe_router.h"
#include "quant/ggml_type.h"

namespace folio {

struct MoeSetting {
  Isa isa = Isa::kScalar;
  // Of E6.
  std::int64_t hidden = 256;
  std::int64_t expert_ffn = 768;
  GgmlType type = GgmlType::kQ4_0;
  bool measure = false;
  std::string svg;  // a file, or empty
};

Result<LabSteps> MoeRouting(const MoeSetting& setting, ThreadPool& pool);      // E8, E1, E2
Result<LabSteps> MoeDispatching(const MoeSetting& setting, ThreadPool& pool);  // E3, capacity
LabSteps MoeBalance();                                                         // E4, E5
LabStep MoeCollapse();                                                         // E7
Result<LabStep> MoeGrowth(const MoeSetting& setting, ThreadPool& pool);        // E6
LabStep MoeShapes();                                                           // E9

// [{"expert": 1, "weight": 0.45}]
OutputJson ChosenJson(std::span<const RoutedExpert> chosen);
// "0.45 0.19 0.05 0.31"
std::string Decimals(std::span<const float> values, int digits);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MOE_H_
