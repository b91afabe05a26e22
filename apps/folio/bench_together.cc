#include "folio/bench_together.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <utility>

#include "engine/engine_loop.h"
#include "folio/bench_tokens.h"

namespace folio {
namespace {

struct NobodysSink final : RequestSink {
  void OnDelta(Delta /*delta*/) override {}
  void OnDone(Outcome /*result*/) override {}
};

}  // namespace

Result<double> DecodeTogether(LoadedModel& model, const TogetherArgs& args) {
  std::int64_t drawn = 0;  // in the step
  const auto loop = EngineLoop::Create(
      model, {.max_requests = args.sequences,
              .on_logits = [&drawn](std::uint64_t, int, std::span<float>) { ++drawn; }});
  if (!loop) return std::unexpected(loop.error());
  const auto sink = std::make_shared<NobodysSink>();
  for (std::int64_t i = 0; i < args.sequences; ++i) {
    Request request{.prompt = BenchTokens(std::max<std::int64_t>(1, args.depth),
                                          model.config().vocab, static_cast<std::uint64_t>(1 + i)),
                    .sampling = {.temperature = 0.0F},
                    .ignore_end_tokens = true};
    if (const Status checked = (*loop)->Check(request); !checked) {
      return std::unexpected(checked.error());
    }
    (*loop)->Submit(static_cast<std::uint64_t>(1 + i), std::move(request), sink);
  }
  while (drawn < args.sequences) {  // prompts are still being computed
    drawn = 0;
    if (!(*loop)->Step()) return RuntimeError("bench", "--batch", "the sequences ended too early");
  }
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < args.generate; ++step) {
    drawn = 0;
    (*loop)->Step();
    if (drawn != args.sequences) {
      return RuntimeError("bench", "--batch",
                          "a sequence came to its end, or had no room in a step (--context, "
                          "--max-batch-tokens)");
    }
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return static_cast<double>(args.sequences * args.generate) / seconds;
}

}  // namespace folio
