// What an event costs: nobody watching, counted only, and kept in a ring that fits the caches or
// doesn't.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "trace/trace.h"

namespace {

folio::Event AnyEvent(std::int64_t i) {
  return {.request = static_cast<std::uint64_t>(i % 64),
          .a = i,
          .b = 16,
          .block = static_cast<std::int32_t>(i % 4096),
          .type = static_cast<folio::EventType>(i % folio::kEventTypes)};
}

void BM_EmitOff(benchmark::State& state) {
  folio::Trace* trace = nullptr;
  std::int64_t i = 0;
  for ([[maybe_unused]] auto each : state) {
    benchmark::DoNotOptimize(trace);
    folio::Emit(trace, AnyEvent(++i));
  }
}
BENCHMARK(BM_EmitOff);

// The argument is the number of events kept.
void BM_Emit(benchmark::State& state) {
  folio::Trace trace(static_cast<std::size_t>(state.range(0)));
  folio::Trace* watching = &trace;
  std::int64_t i = 0;
  for ([[maybe_unused]] auto each : state) {
    benchmark::DoNotOptimize(watching);
    folio::Emit(watching, AnyEvent(++i));
  }
}
BENCHMARK(BM_Emit)->Arg(0)->Arg(1 << 10)->Arg(1 << 20);

}  // namespace

BENCHMARK_MAIN();
