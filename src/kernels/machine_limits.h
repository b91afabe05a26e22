// What this machine can do at most in the instructions that the kernels use: what their speeds are
// measured against. Best of several short loops, all threads at once.
#ifndef FOLIO_KERNELS_MACHINE_LIMITS_H_
#define FOLIO_KERNELS_MACHINE_LIMITS_H_

#include "base/error.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"

namespace folio {

struct MachineLimits {
  double dram_bytes_per_s = 0;  // read, from a buffer that no cache holds
  double fma_flop_per_s = 0;    // binary32; a fused multiply-add is two
  double dot_op_per_s = 0;      // products of 16-bit integers added up in 32 bits; two each
};

// The best of `passes` loops of each kind. Takes about two seconds and 512 MiB. A runtime error if
// the system gives no such buffer.
Result<MachineLimits> MeasureMachineLimits(Isa isa, ThreadPool& pool, int passes = 15);

}  // namespace folio

#endif  // FOLIO_KERNELS_MACHINE_LIMITS_H_
