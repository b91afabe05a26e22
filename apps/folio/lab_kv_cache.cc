// C1: one decode step, from the keys and values of the tokens before it, and from nothing.
#include <cmath>
#include <limits>
#include <utility>

#include "folio/lab.h"
#include "folio/lab_loop.h"
#include "folio/text_table.h"
#include "trace/trace.h"

namespace folio {
namespace {

constexpr std::string_view kText =
    "A key tells what a token can offer, a query what a token looks for, and a value what it says. "
    "The query is needed once, at its own step; keys and values are needed at every later one.";
constexpr std::int64_t kFirst = 64;
constexpr std::int64_t kMost = 1024;
constexpr std::int64_t kSteps = 2;        // compared with recomputing
constexpr std::int64_t kCachedSteps = 8;  // timed, as they are short

// What the engine's trace counted since the last call, from a position on.
class WorkCounter {
 public:
  explicit WorkCounter(const Trace& trace) : trace_(trace), seen_(trace.emitted()) {}

  struct Work {
    std::int64_t rows = 0;    // tokens whose query, key and value were computed
    std::int64_t scores = 0;  // query and key pairs, in a head of a layer that sees everything
  };
  Work Take(std::int64_t from = 0, std::int64_t to = std::numeric_limits<std::int64_t>::max()) {
    Work work;
    const std::vector<Event> events = trace_.Events();
    const auto fresh = static_cast<std::size_t>(trace_.emitted() - seen_);
    seen_ = trace_.emitted();
    for (const Event& event : std::span(events).last(fresh)) {
      if (event.type != EventType::kChunk || event.a < from || event.a >= to) continue;
      work.rows += event.b;
      for (std::int64_t row = 0; row < event.b; ++row) work.scores += event.a + row + 1;
    }
    return work;
  }

 private:
  const Trace& trace_;
  std::uint64_t seen_;
};

// The step that computes the token behind `tokens` others: its work, and the mean time of some
// steps from it on.
struct StepCost {
  std::int64_t tokens = 0;
  WorkCounter::Work cached;
  WorkCounter::Work recomputed;
  double cached_seconds = 0;
  double recomputed_seconds = 0;
  LogitsDifference logits;
};

Result<StepCost> Measure(LabLoop& lab, std::int64_t length) {
  const auto prompt = lab.Words(kText, static_cast<std::size_t>(length));
  if (!prompt) return std::unexpected(prompt.error());
  WorkCounter counter(lab.model().trace());
  auto with = lab.Run({.prompt = *prompt, .max_tokens = kCachedSteps + 1});
  if (!with) return std::unexpected(with.error());
  StepCost cost{.tokens = length};
  cost.cached = counter.Take(length, length + 1);
  cost.cached_seconds = with->outcome.timings.decode_seconds / kCachedSteps;
  const std::vector<TokenId> reply = with->tokens();
  std::vector<TokenId> all = *prompt;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    all.push_back(reply[static_cast<std::size_t>(step)]);
    auto again = lab.Run({.prompt = all, .max_tokens = 1});
    if (!again) return std::unexpected(again.error());
    if (step == 0) cost.recomputed = counter.Take();
    cost.recomputed_seconds += again->outcome.timings.prefill_seconds / kSteps;
    // The row that the step behind it drew from.
    LabReply same{.outcome = {}, .logits = {with->logits[static_cast<std::size_t>(step) + 1]}};
    const LogitsDifference difference = CompareLogits(same, *again);
    cost.logits.compared += difference.compared;
    cost.logits.different += difference.different;
  }
  return cost;
}

// The power of N that a cost grew with over the last doubling.
double Power(double before, double after) { return std::log2(after / before); }

OutputJson CostJson(const StepCost& cost) {
  const auto side = [](const WorkCounter::Work& work, double seconds) {
    return OutputJson{{"rows", work.rows}, {"scores", work.scores}, {"seconds", seconds}};
  };
  return {{"tokens", cost.tokens},
          {"with_cache", side(cost.cached, cost.cached_seconds)},
          {"without_cache", side(cost.recomputed, cost.recomputed_seconds)},
          {"logits_compared", cost.logits.compared},
          {"logits_different", cost.logits.different}};
}

std::vector<std::string> CostLines(const std::vector<StepCost>& costs) {
  TextTable table("rrrrrrrr");
  table.Add({"N", "rows", "scores", "ms", "rows", "scores", "ms", "ms: times"});
  for (const StepCost& cost : costs) {
    table.Add({Grouped(cost.tokens), Grouped(cost.cached.rows), Grouped(cost.cached.scores),
               Decimal(1e3 * cost.cached_seconds, 2), Grouped(cost.recomputed.rows),
               Grouped(cost.recomputed.scores), Decimal(1e3 * cost.recomputed_seconds, 2),
               Decimal(cost.recomputed_seconds / cost.cached_seconds, 1)});
  }
  return table.Lines();
}

void AddGrowth(const StepCost& before, const StepCost& after, LabStep& step) {
  const auto scores = [](const WorkCounter::Work& a, const WorkCounter::Work& b) {
    return Power(static_cast<double>(a.scores), static_cast<double>(b.scores));
  };
  const double with = scores(before.cached, after.cached);
  const double without = scores(before.recomputed, after.recomputed);
  const double with_time = Power(before.cached_seconds, after.cached_seconds);
  const double without_time = Power(before.recomputed_seconds, after.recomputed_seconds);
  step.lines.push_back("From the last N but one to the last, attention's work grew with N^" +
                       Decimal(with, 2) + " and N^" + Decimal(without, 2) + ", the time with N^" +
                       Decimal(with_time, 2) + " and N^" + Decimal(without_time, 2) + ".");
  step.lines.emplace_back(
      "Time grows more slowly than attention's work while the weights' products, which each "
      "computed row costs once, are most of it.");
  step.facts["growth"] = {{"scores_with_cache", with},
                          {"scores_without_cache", without},
                          {"seconds_with_cache", with_time},
                          {"seconds_without_cache", without_time}};
}

}  // namespace

Result<LabSteps> KvCacheLab(const LabArgs& args) {
  std::int64_t most = args.tokens > 0 ? args.tokens : kMost;
  if (most < 2 * kFirst) {
    return UsageError("lab", "--tokens",
                      std::to_string(most) + " is less than " + std::to_string(2 * kFirst) +
                          ", which shows no growth");
  }
  auto lab = LabLoop::Create(args, most + kCachedSteps + 2, /*prefix_cache=*/false);
  // A model may have no room for the default and the steps behind it.
  while (!lab && lab.error().what == "--context" && args.tokens == 0 && most > 2 * kFirst) {
    most /= 2;
    lab = LabLoop::Create(args, most + kCachedSteps + 2, /*prefix_cache=*/false);
  }
  if (!lab && lab.error().what == "--context") {
    return UsageError(
        "lab", "--tokens",
        std::to_string(most) + " and the steps behind it are too many: " + lab.error().Message());
  }
  if (!lab) return std::unexpected(lab.error());
  std::vector<StepCost> costs;
  for (std::int64_t length = kFirst; length <= most; length *= 2) {
    const Result<StepCost> cost = Measure(**lab, length);
    if (!cost) return std::unexpected(cost.error());
    costs.push_back(*cost);
  }
  LabStep step{.id = "C1", .title = "one decode step behind N tokens, with and without a KV cache"};
  step.facts = {{"model", (*lab)->model().file().path()},
                {"threads", (*lab)->model().options().threads},
                {"steps", OutputJson::array()}};
  step.lines = {
      "With it, the new token's row is computed and its query meets N + 1 keys. Without, all rows "
      "are computed again, and each query meets the keys up to its own.",
      "rows and scores are counted by the engine's trace; scores are those of one head in a layer "
      "that sees everything. First with the cache, then without."};
  for (std::string& line : CostLines(costs)) step.lines.push_back(std::move(line));
  LogitsDifference all;
  for (const StepCost& cost : costs) {
    step.facts["steps"].push_back(CostJson(cost));
    all.compared += cost.logits.compared;
    all.different += cost.logits.different;
  }
  AddGrowth(costs[costs.size() - 2], costs.back(), step);
  step.lines.push_back("Both ways give the same logits: of " +
                       Grouped(std::uint64_t{all.compared}) + " compared, " +
                       Grouped(std::uint64_t{all.different}) + " differ in any bit.");
  return LabSteps{std::move(step)};
}

}  // namespace folio
