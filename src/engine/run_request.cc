#include "engine/run_request.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace folio {
namespace {

struct OutcomeSink final : RequestSink {
  void OnDelta(Delta /*delta*/) override {}
  void OnDone(Outcome result) override { outcome = std::move(result); }

  std::optional<Outcome> outcome;
};

}  // namespace

Result<Outcome> RunRequest(EngineLoop& loop, std::uint64_t id, Request request) {
  if (const Status checked = loop.Check(request); !checked) {
    return std::unexpected(checked.error());
  }
  Result<std::vector<GrammarMatcher>> grammars = loop.CompileGrammar(request);
  if (!grammars) return std::unexpected(grammars.error());
  const auto sink = std::make_shared<OutcomeSink>();
  loop.Submit(id, std::move(request), sink, *std::move(grammars));
  while (!sink->outcome && loop.Step()) {
  }
  if (!sink->outcome) return RuntimeError("request", "", "did not end");
  const Reply& reply = sink->outcome->choices.front();
  if (reply.finish_reason == FinishReason::kError) return std::unexpected(reply.error);
  return *std::move(sink->outcome);
}

}  // namespace folio
