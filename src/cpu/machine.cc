#include "cpu/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <thread>

namespace folio {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// The first number in a file of /proc or /sys; nothing if it is missing or says "max".
std::optional<std::uint64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The value in bytes of a "Name:   123 kB" line.
std::optional<std::uint64_t> ReadMemInfo(std::string_view name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::uint64_t kilobytes = 0;
    if (rest >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

// This process's path in the cgroup hierarchy of `controller` ("" is v2), such as "/user.slice".
std::optional<std::string> CgroupPath(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool found = controller.empty() ? controllers == ",,"
                                          : controllers.find("," + std::string(controller) + ",") !=
                                                std::string::npos;
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Least of limit - usage from this process's cgroup up to the root: a limit of any ancestor holds.
std::uint64_t CgroupRoom(const std::string& root, std::string path, const char* limit_name,
                         const char* usage_name) {
  std::uint64_t room = kUnlimited;
  while (true) {
    const std::optional<std::uint64_t> limit = ReadNumber(root + path + "/" + limit_name);
    const std::optional<std::uint64_t> usage = ReadNumber(root + path + "/" + usage_name);
    if (limit && usage) room = std::min(room, *limit - std::min(*limit, *usage));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty()) return room;
    path.resize(slash);
  }
}

// The least limit of a cgroup and of those around it.
std::uint64_t CgroupLimit(const std::string& root, std::string path, const char* limit_name) {
  std::uint64_t limit = kUnlimited;
  while (true) {
    limit = std::min(limit, ReadNumber(root + path + "/" + limit_name).value_or(kUnlimited));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path.empty()) return limit;
    path.resize(slash);
  }
}

// What a limit on the address space (`ulimit -v`) leaves. Stacks of threads and what the tokenizer
// needs come out of it too, so a share is kept back.
std::uint64_t AddressRoom() {
  constexpr std::uint64_t kKeptBack = std::uint64_t{128} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  const std::uint64_t pages = ReadNumber("/proc/self/statm").value_or(0);
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + kKeptBack;
  return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, used);
}

// Cores that a "quota period" pair allows, rounded up.
std::optional<int> CgroupCores() {
  const std::string path = CgroupPath("").value_or("");
  std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return std::nullopt;
  return std::max(1, static_cast<int>(std::ceil(quota / period)));
}

// Distinct (package, core) pairs among the CPUs of the affinity mask.
int PhysicalCores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) {
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &mask)) continue;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const std::optional<std::uint64_t> package = ReadNumber(topology + "physical_package_id");
    const std::optional<std::uint64_t> core = ReadNumber(topology + "core_id");
    cores.insert(package && core ? std::to_string(*package) + ":" + std::to_string(*core)
                                 : "cpu" + std::to_string(cpu));
  }
  return std::max(1, static_cast<int>(cores.size()));
}

}  // namespace

int NumCores() {
  return std::min(PhysicalCores(), CgroupCores().value_or(std::numeric_limits<int>::max()));
}

std::uint64_t AvailableMemory() {
  std::uint64_t room = ReadMemInfo("MemAvailable:").value_or(kUnlimited);
  if (const auto path = CgroupPath("")) {
    room = std::min(room, CgroupRoom("/sys/fs/cgroup", *path, "memory.max", "memory.current"));
  }
  if (const auto path = CgroupPath("memory")) {
    room = std::min(room, CgroupRoom("/sys/fs/cgroup/memory", *path, "memory.limit_in_bytes",
                                     "memory.usage_in_bytes"));
  }
  return std::min(room, AddressRoom());
}

std::uint64_t TotalMemory() {
  std::uint64_t total = ReadMemInfo("MemTotal:").value_or(kUnlimited);
  if (const auto path = CgroupPath("")) {
    total = std::min(total, CgroupLimit("/sys/fs/cgroup", *path, "memory.max"));
  }
  if (const auto path = CgroupPath("memory")) {
    total = std::min(total, CgroupLimit("/sys/fs/cgroup/memory", *path, "memory.limit_in_bytes"));
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return total;
  return std::min<std::uint64_t>(total, limit.rlim_cur);
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace folio
