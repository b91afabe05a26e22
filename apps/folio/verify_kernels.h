// `folio verify`: every ISA path of the kernels against the scalar reference, bit for bit, on the
// model's own tensors and shapes.
#ifndef FOLIO_APPS_FOLIO_VERIFY_KERNELS_H_
#define FOLIO_APPS_FOLIO_VERIFY_KERNELS_H_

#include <string>
#include <vector>

#include "cpu/isa.h"
#include "engine/loaded_model.h"

namespace folio {

struct VerifyCheck {
  std::string name;    // what was compared
  std::string detail;  // with which path or cut
  bool ok = false;
};

// The paths above the scalar one that this CPU has.
std::vector<Isa> FasterIsas();

// One check for each kind of weight tensor, number of planes and ISA.
std::vector<VerifyCheck> VerifyProducts(LoadedModel& engine);
// One check for each ISA and attention definition.
std::vector<VerifyCheck> VerifyAttention(LoadedModel& engine);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_VERIFY_KERNELS_H_
