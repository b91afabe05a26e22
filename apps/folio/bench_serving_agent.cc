// Two conversations with long prompts whose turns alternate, as a coding agent and its helper have
// them: each turn's prompt is the last one, its reply and a question.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "folio/bench_serving_scenarios.h"
#include "folio/bench_tokens.h"

namespace folio {
namespace {

constexpr std::int64_t kPrefix = 28'000;
constexpr std::int64_t kShare = 4;  // the short prefix is a quarter of the long one
constexpr std::int64_t kReply = 20;
constexpr std::int64_t kQuestion = 40;

struct Conversation {
  std::int64_t prefix = 0;
  std::vector<std::int32_t> prompt;
  std::int64_t computed = 0;  // leading tokens of the next prompt that the engine has computed
};

struct Turn {
  std::int64_t prefix = 0;
  std::int64_t number = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t possible_tokens = 0;  // in full blocks
  double first_token_s = 0;
};

std::int64_t WantedPrefix(const ServingArgs& serving) {
  return serving.prefix > 0 ? serving.prefix : kPrefix;
}

// The longest prefix whose turns fit the context.
std::int64_t LongPrefix(const ServingArgs& serving, std::int64_t context) {
  const std::int64_t room = context - serving.turns * (kReply + kQuestion);
  return std::clamp<std::int64_t>(room, 1, WantedPrefix(serving));
}

Result<Turn> TakeTurn(Engine& engine, Conversation& conversation, std::int64_t number,
                      std::int64_t block_size) {
  std::vector<Request> request;
  request.push_back(GreedyRequest(conversation.prompt, kReply));
  const auto served = ServeTogether(engine, std::move(request));
  if (!served) return std::unexpected(served.error());
  const Outcome& outcome = served->front().outcome;
  const Turn turn{.prefix = conversation.prefix,
                  .number = number,
                  .prompt_tokens = outcome.usage.prompt_tokens,
                  .cached_tokens = outcome.usage.cached_tokens,
                  .possible_tokens = conversation.computed / block_size * block_size,
                  .first_token_s = served->front().first_token_s};
  std::vector<std::int32_t>& prompt = conversation.prompt;
  for (const Sample& sample : outcome.choices[0].samples) prompt.push_back(sample.token);
  // The last token of a reply is drawn and never computed.
  conversation.computed = static_cast<std::int64_t>(prompt.size()) - 1;
  const auto question = BenchTokens(kQuestion, engine.model().config().vocab,
                                    static_cast<std::uint64_t>(1000 + number));
  prompt.insert(prompt.end(), question.begin(), question.end());
  return turn;
}

OutputJson AsJson(const Turn& turn) {
  return {{"prefix_tokens", turn.prefix},
          {"turn", turn.number},
          {"prompt_tokens", turn.prompt_tokens},
          {"cached_tokens", turn.cached_tokens},
          {"possible_tokens", turn.possible_tokens},
          {"first_token_s", turn.first_token_s}};
}

ScenarioReport Describe(const std::vector<Turn>& turns, const std::array<Conversation, 2>& both,
                        std::int64_t context, std::int64_t wanted) {
  const bool scaled = both[0].prefix < wanted;
  ScenarioReport report;
  report.json = {{"context", context},
                 {"prefix_tokens", {both[0].prefix, both[1].prefix}},
                 {"scaled_to_context", scaled},
                 {"turns", OutputJson::array()}};
  report.text = Format(
      "  two conversations from %lld and %lld tokens%s\n", static_cast<long long>(both[0].prefix),
      static_cast<long long>(both[1].prefix), scaled ? " (scaled to the context)" : "");
  report.text += "    TURN  PREFIX  PROMPT  CACHED  POSSIBLE  FIRST TOKEN s\n";
  for (const Turn& turn : turns) {
    report.json["turns"].push_back(AsJson(turn));
    report.text +=
        Format("  %6lld  %6lld  %6lld  %6lld  %8lld  %13.3f\n", static_cast<long long>(turn.number),
               static_cast<long long>(turn.prefix), static_cast<long long>(turn.prompt_tokens),
               static_cast<long long>(turn.cached_tokens),
               static_cast<long long>(turn.possible_tokens), turn.first_token_s);
    if (turn.cached_tokens < turn.possible_tokens && report.broken.empty()) {
      report.broken = Format(
          "turn %lld of the conversation from %lld tokens found %lld tokens, %lld were possible",
          static_cast<long long>(turn.number), static_cast<long long>(turn.prefix),
          static_cast<long long>(turn.cached_tokens), static_cast<long long>(turn.possible_tokens));
    }
  }
  return report;
}

}  // namespace

Result<ScenarioReport> RunAgent(const EngineArgs& args, const ServingArgs& serving) {
  const auto engine = OpenWarmEngine(args, EngineOptionsOf(args));
  if (!engine) return std::unexpected(engine.error());
  const std::int64_t context = (*engine)->TakeSnapshot().context;
  const std::int64_t vocab = (*engine)->model().config().vocab;
  std::array<Conversation, 2> both;
  both[0].prefix = LongPrefix(serving, context);
  both[1].prefix = std::max<std::int64_t>(1, both[0].prefix / kShare);
  for (std::size_t i = 0; i < both.size(); ++i) {
    both[i].prompt = BenchTokens(both[i].prefix, vocab, /*seed=*/10 + i);
  }
  std::vector<Turn> turns;
  for (std::int64_t number = 1; number <= serving.turns; ++number) {
    for (Conversation& conversation : both) {
      const Result<Turn> turn = TakeTurn(**engine, conversation, number, args.block_size);
      if (!turn) return std::unexpected(turn.error());
      turns.push_back(*turn);
    }
  }
  return Describe(turns, both, context, WantedPrefix(serving));
}

}  // namespace folio
