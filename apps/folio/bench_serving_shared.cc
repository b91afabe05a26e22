// Requests with one long prefix and different tails, arriving together.
#include <algorithm>
#include <vector>

#include "folio/bench_serving_scenarios.h"
#include "folio/bench_tokens.h"

namespace folio {
namespace {

constexpr std::int64_t kRequests = 16;
constexpr std::int64_t kPrefix = 2000;
constexpr std::int64_t kTail = 50;
constexpr std::int64_t kGenerated = 4;

std::vector<Request> MakeRequests(std::int64_t count, std::int64_t prefix, std::int64_t vocab) {
  const std::vector<std::int32_t> shared = BenchTokens(prefix, vocab);
  std::vector<Request> requests;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int32_t> prompt = shared;
    const auto tail = BenchTokens(kTail, vocab, /*seed=*/static_cast<std::uint64_t>(100 + i));
    prompt.insert(prompt.end(), tail.begin(), tail.end());
    // Tails differ from their first token on: otherwise two could share a block more.
    prompt[static_cast<std::size_t>(prefix)] = static_cast<std::int32_t>(i % vocab);
    requests.push_back(GreedyRequest(std::move(prompt), kGenerated));
  }
  return requests;
}

struct Totals {
  std::int64_t prompt = 0;
  std::int64_t cached = 0;
  std::int64_t prefilled = 0;
  std::vector<double> first_token_s;  // sorted
  double done_s = 0;
};

Totals Add(const std::vector<Served>& served) {
  Totals totals;
  for (const Served& one : served) {
    totals.prompt += one.outcome.usage.prompt_tokens;
    totals.cached += one.outcome.usage.cached_tokens;
    totals.prefilled += PrefilledTokens(one.outcome.usage);
    totals.first_token_s.push_back(one.first_token_s);
    totals.done_s = std::max(totals.done_s, one.done_s);
  }
  std::ranges::sort(totals.first_token_s);
  return totals;
}

}  // namespace

Result<ScenarioReport> RunShared(const EngineArgs& args, const ServingArgs& serving) {
  const std::int64_t count = serving.requests > 0 ? serving.requests : kRequests;
  const Result<std::int64_t> context = MostContext(args);
  if (!context) return std::unexpected(context.error());
  const std::int64_t wanted = serving.prefix > 0 ? serving.prefix : kPrefix;
  const std::int64_t own = kTail + kGenerated;
  const std::int64_t prefix = std::clamp<std::int64_t>(*context - own, 1, wanted);
  EngineOptions options = EngineOptionsOf(args);
  if (options.context == 0) options.context = prefix + own;
  const auto engine = OpenWarmEngine(args, options);
  if (!engine) return std::unexpected(engine.error());
  const auto served =
      ServeTogether(**engine, MakeRequests(count, prefix, (*engine)->model().config().vocab));
  if (!served) return std::unexpected(served.error());

  const Totals totals = Add(*served);
  const std::int64_t bound = prefix + count * (kTail + options.block_size);
  const std::vector<double>& first = totals.first_token_s;
  ScenarioReport report;
  report.json = {
      {"requests", count},
      {"prefix_tokens", prefix},
      {"scaled_to_context", prefix < wanted},
      {"tail_tokens", kTail},
      {"generated_tokens", kGenerated},
      {"prompt_tokens", totals.prompt},
      {"cached_tokens", totals.cached},
      {"prefilled_tokens", totals.prefilled},
      {"prefilled_at_most", bound},
      {"first_token_s",
       {{"first", first.front()}, {"median", first[first.size() / 2]}, {"last", first.back()}}},
      {"total_s", totals.done_s}};
  report.text =
      Format(
          "  %lld requests of %lld shared and %lld own tokens: %lld of %lld computed "
          "(at most %lld)\n",
          static_cast<long long>(count), static_cast<long long>(prefix),
          static_cast<long long>(kTail), static_cast<long long>(totals.prefilled),
          static_cast<long long>(totals.prompt), static_cast<long long>(bound)) +
      Format(
          "  first token after %.3f s (first), %.3f s (median), %.3f s (last); all after %.3f s\n",
          first.front(), first[first.size() / 2], first.back(), totals.done_s);
  if (totals.prefilled > bound) {
    report.broken = Format("%lld prompt tokens were computed, at most %lld should be",
                           static_cast<long long>(totals.prefilled), static_cast<long long>(bound));
  }
  return report;
}

}  // namespace folio
