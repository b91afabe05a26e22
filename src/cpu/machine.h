// What this process may use of the machine: affinity masks and cgroup limits count.
#ifndef FOLIO_CPU_MACHINE_H_
#define FOLIO_CPU_MACHINE_H_

#include <cstdint>
#include <string>

namespace folio {

// Cores for compute threads: physical ones (SMT siblings share the units that kernels saturate)
// within the affinity mask and the cgroup's CPU quota; at least 1.
int NumCores();

// Bytes that can still be taken without swapping or being killed: the machine's MemAvailable or
// what the cgroup (v2 or v1) or `ulimit -v` leaves, whichever is least.
std::uint64_t AvailableMemory();

// Bytes that all processes together may take at most here: the machine's MemTotal, the cgroup's
// limit or `ulimit -v`, whichever is least.
std::uint64_t TotalMemory();

// The processor's name for people ("Intel(R) Xeon(R) ..."), or "unknown".
std::string CpuName();

}  // namespace folio

#endif  // FOLIO_CPU_MACHINE_H_
