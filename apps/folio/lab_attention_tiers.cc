// F7: memory in tiers, those of an A100 as the text has them and those of this machine as it has
// them, and how long each rung's traffic takes at their speed.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "folio/lab_attention.h"
#include "folio/lab_cpu_caches.h"
#include "folio/text_table.h"

namespace folio {
namespace {

struct MemoryTier {
  std::string name;
  double bytes = 0;
  double bytes_per_second = 0;
  bool measured = false;
};

std::vector<MemoryTier> TiersOfA100() {
  return {{.name = "A100 SRAM", .bytes = 20e6, .bytes_per_second = 19e12},
          {.name = "A100 HBM", .bytes = 40e9, .bytes_per_second = 1.5e12},
          {.name = "CPU DRAM of the text", .bytes = 1e12, .bytes_per_second = 12.8e9}};
}

// Bytes a second at which one thread reads a buffer again and again: the best of some rounds.
double ReadSpeed(std::size_t bytes) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kRoundBytes = std::size_t{64} << 20;
  std::vector<unsigned char> buffer(bytes, 1);
  const std::size_t times = std::max<std::size_t>(1, kRoundBytes / bytes);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const auto start = Clock::now();
    std::size_t found = 0;
    // The library's search for a byte that is not there reads every vector once, and no more.
    for (std::size_t i = 0; i < times; ++i) {
      found += std::memchr(buffer.data(), 2, buffer.size()) != nullptr ? 1 : 0;
      buffer[i % buffer.size()] = found == 0 ? 1 : 2;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, static_cast<double>(times * bytes) / seconds);
  }
  return best;
}

// Each cache that the system names, read from a buffer of half its size, and memory behind them.
std::vector<MemoryTier> TiersOfThisCpu() {
  constexpr std::size_t kMostBuffer = std::size_t{256} << 20;
  std::vector<MemoryTier> tiers;
  std::size_t largest = std::size_t{16} << 20;
  for (const CpuCache& cache : DataCaches()) {
    largest = std::max(largest, cache.bytes);
    tiers.push_back({.name = "this CPU's L" + std::to_string(cache.level),
                     .bytes = static_cast<double>(cache.bytes),
                     .bytes_per_second = ReadSpeed(std::min(cache.bytes / 2, kMostBuffer)),
                     .measured = true});
  }
  tiers.push_back({.name = "this CPU's memory",
                   .bytes_per_second = ReadSpeed(std::min(4 * largest, kMostBuffer)),
                   .measured = true});
  return tiers;
}

std::string Size(double bytes) {
  if (bytes == 0) return "";
  if (bytes >= 1e12) return Decimal(bytes / 1e12, 0) + " TB";
  if (bytes >= 1e9) return Decimal(bytes / 1e9, 0) + " GB";
  return bytes >= 1e6 ? Decimal(bytes / 1e6, 1) + " MB" : Decimal(bytes / 1e3, 1) + " kB";
}

}  // namespace

LabStep MemoryTiers(const Ladder& ladder) {
  LabStep step{.id = "F7", .title = "tiers: the text's, and this machine's own as measured"};
  std::vector<MemoryTier> tiers = TiersOfA100();
  for (MemoryTier& tier : TiersOfThisCpu()) tiers.push_back(std::move(tier));
  const RungResult& first = ladder.rungs.front().result;
  const RungResult& last = ladder.rungs.back().result;
  TextTable table("lrrrr");
  table.Add({"tier", "size", "GB/s", std::string(ladder.rungs.front().name) + " of F3, us",
             std::string(ladder.rungs.back().name) + ", us"});
  step.facts["tiers"] = OutputJson::array();
  for (const MemoryTier& tier : tiers) {
    const double slow = static_cast<double>(first.traffic.total()) / tier.bytes_per_second;
    const double fast = static_cast<double>(last.traffic.total()) / tier.bytes_per_second;
    table.Add({tier.name, Size(tier.bytes), Decimal(tier.bytes_per_second / 1e9, 1),
               Decimal(1e6 * slow, 2), Decimal(1e6 * fast, 2)});
    step.facts["tiers"].push_back(
        {{"name", tier.name},
         {"bytes", tier.bytes > 0 ? OutputJson(tier.bytes) : OutputJson()},
         {"bytes_per_second", tier.bytes_per_second},
         {"measured", tier.measured},
         {"first_rung_seconds", slow},
         {"last_rung_seconds", fast}});
  }
  step.lines = table.Lines();
  step.lines.emplace_back(
      "The A100's are the text's figures, of the whole chip; this CPU's are what one thread reads "
      "just now. The times are what the counted bytes take at that speed, were they all that took "
      "time.");
  return step;
}

}  // namespace folio
