// The scenarios of `folio bench --serving` and what they share.
#ifndef FOLIO_APPS_FOLIO_BENCH_SERVING_SCENARIOS_H_
#define FOLIO_APPS_FOLIO_BENCH_SERVING_SCENARIOS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "folio/bench_serving.h"
#include "folio/engine.h"
#include "folio/engine_args.h"
#include "folio/output.h"

namespace folio {

// What a scenario found: a JSON object, the same for people, and what did not hold (empty: all
// did).
struct ScenarioReport {
  OutputJson json;
  std::string text;
  std::string broken;
};

Result<ScenarioReport> RunMany(const EngineArgs& engine, const ServingArgs& args);
Result<ScenarioReport> RunShared(const EngineArgs& engine, const ServingArgs& args);
Result<ScenarioReport> RunAgent(const EngineArgs& engine, const ServingArgs& args);
Result<ScenarioReport> RunDrafts(const EngineArgs& engine, const ServingArgs& args);
Result<ScenarioReport> RunCosts(const EngineArgs& engine, const ServingArgs& args);

// One request as its caller saw it. Seconds from when the first request of its group was submitted.
struct Served {
  Outcome outcome;
  double first_token_s = 0;
  double done_s = 0;
};

// Submits all at once and reads each on a thread of its own. In the order of the requests.
Result<std::vector<Served>> ServeTogether(Engine& engine, std::vector<Request> requests);

// An engine that has computed a request already, so that its weights are packed.
Result<std::unique_ptr<Engine>> OpenWarmEngine(const EngineArgs& args, EngineOptions options);

// The most tokens of one sequence: --context, or what the model was trained for.
Result<std::int64_t> MostContext(const EngineArgs& args);

// Draws greedily and goes on until `max_tokens`.
Request GreedyRequest(std::vector<std::int32_t> prompt, std::int64_t max_tokens);
// As `folio run` draws by default; goes on until `max_tokens`.
Request SampledRequest(std::vector<std::int32_t> prompt, std::int64_t max_tokens);

// Rows computed for the prompt. Each generated token but the last was a row of its own, and so was
// each refused token of a draft.
std::int64_t PrefilledTokens(const Usage& usage);

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BENCH_SERVING_SCENARIOS_H_
