#include "cpu/isa.h"

#include <immintrin.h>

#include <array>
#include <cstdlib>
#include <string>

namespace folio {
namespace {

constexpr std::array<Isa, 3> kAll = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512};
constexpr unsigned kFlushToZero = 1U << 15;
constexpr unsigned kDenormalsAreZero = 1U << 6;

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return "scalar";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

std::optional<Isa> IsaFromName(std::string_view name) {
  for (const Isa isa : kAll) {
    if (IsaName(isa) == name) return isa;
  }
  return std::nullopt;
}

bool CpuHas(Isa isa) {
  // __builtin_cpu_supports also asks the operating system (XGETBV) for the wider registers.
  const bool fma = __builtin_cpu_supports("fma");
  const bool avx2 = fma && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  switch (isa) {
    case Isa::kScalar:
      return fma;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni");
  }
  return false;
}

Result<Isa> ChooseIsa() {
  if (!CpuHas(Isa::kScalar)) {
    return RuntimeError("CPU", "FMA3", "this processor lacks it; Folio needs one of 2013 or later");
  }
  if (const char* forced = std::getenv("FOLIO_ISA"); forced != nullptr && *forced != '\0') {
    const std::optional<Isa> isa = IsaFromName(forced);
    if (!isa) {
      return UsageError("FOLIO_ISA", "",
                        "'" + std::string(forced) + "' is none of scalar, avx2, avx512");
    }
    if (!CpuHas(*isa)) {
      return UsageError("FOLIO_ISA", "", "this processor has no " + std::string(forced));
    }
    return *isa;
  }
  Isa best = Isa::kScalar;
  for (const Isa isa : kAll) {
    if (CpuHas(isa)) best = isa;
  }
  return best;
}

ScopedFlushDenormals::ScopedFlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
}

ScopedFlushDenormals::~ScopedFlushDenormals() { _mm_setcsr(saved_); }

}  // namespace folio
