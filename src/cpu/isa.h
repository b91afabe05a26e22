// Which instruction set the kernels use: the best this CPU has, or the one that FOLIO_ISA forces.
#ifndef FOLIO_CPU_ISA_H_
#define FOLIO_CPU_ISA_H_

#include <optional>
#include <string_view>

#include "base/error.h"

namespace folio {

// In order of preference; each includes what stands before it.
enum class Isa {
  kScalar,  // plain C++ with FMA3: the reference that every other path equals bit for bit
  kAvx2,    // AVX2, FMA3, F16C
  kAvx512,  // AVX-512 F, BW, VL, DQ and VNNI
};

std::string_view IsaName(Isa isa);
std::optional<Isa> IsaFromName(std::string_view name);

// True if this CPU (and its operating system) can run `isa`.
bool CpuHas(Isa isa);

// The ISA to use. FOLIO_ISA=scalar|avx2|avx512 forces one; an unknown name or one that the CPU
// lacks is an error, and so is a CPU without FMA3.
Result<Isa> ChooseIsa();

// Sets flush-to-zero and denormals-are-zero on the calling thread for the object's lifetime. Every
// thread that runs a kernel holds one: the kernels' definitions assume it
// (docs/design/numerics.md).
class ScopedFlushDenormals {
 public:
  ScopedFlushDenormals();
  ~ScopedFlushDenormals();
  ScopedFlushDenormals(const ScopedFlushDenormals&) = delete;
  ScopedFlushDenormals& operator=(const ScopedFlushDenormals&) = delete;

 private:
  unsigned saved_;
};

}  // namespace folio

#endif  // FOLIO_CPU_ISA_H_
