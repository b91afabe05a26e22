#include "kernels/exp.h"
#include "kernels/softcap.h"

namespace folio {

float Softcap(float x, float cap) { return cap * (1.0F - 2.0F / (1.0F + Exp((2.0F / cap) * x))); }

}  // namespace folio
