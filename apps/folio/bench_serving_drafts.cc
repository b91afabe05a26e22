// Drafts copied from the text so far, against plain decoding. The replies are dictated, so that
// every model says the same: the forward pass, the draws and the verdict on each draft are real.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine_loop.h"
#include "engine/run_request.h"
#include "folio/bench_serving_scenarios.h"
#include "folio/bench_tokens.h"
#include "folio/median.h"

namespace folio {
namespace {

constexpr std::int64_t kFile = 500;
constexpr std::int64_t kReply = 300;
constexpr std::int64_t kEvery = 100;  // tokens, of which the last kChanged are new
constexpr std::int64_t kChanged = 20;
constexpr int kRounds = 3;
constexpr float kDictated = 1e4F;  // above any logit

struct Text {
  const char* name;
  std::vector<std::int32_t> prompt;
  std::vector<std::int32_t> reply;
};

// A file as the prompt; its middle with changes as the reply.
Text EditText(std::int64_t vocab) {
  Text text{.name = "edit", .prompt = BenchTokens(kFile, vocab), .reply = {}};
  const auto fresh = BenchTokens(kReply, vocab, /*seed=*/2);
  for (std::int64_t i = 0; i < kReply; ++i) {
    const bool changed = i % kEvery >= kEvery - kChanged;
    const auto& from = changed ? fresh : text.prompt;
    text.reply.push_back(from[static_cast<std::size_t>(changed ? i : i + 100)]);
  }
  return text;
}

// A reply that repeats nothing.
Text FreshText(std::int64_t vocab) {
  return {.name = "fresh",
          .prompt = BenchTokens(kFile, vocab),
          .reply = BenchTokens(kReply, vocab, /*seed=*/2)};
}

// A loop whose replies are dictated.
class Dictation {
 public:
  static Result<std::unique_ptr<Dictation>> Create(LoadedModel& model,
                                                   std::int64_t max_draft_tokens) {
    std::unique_ptr<Dictation> dictation(new Dictation);
    auto loop = EngineLoop::Create(
        model, {.max_requests = 1,
                .max_draft_tokens = max_draft_tokens,
                .on_logits = [raw = dictation.get()](std::uint64_t, int, std::span<float> logits) {
                  logits[static_cast<std::size_t>(raw->reply_[raw->drawn_++])] = kDictated;
                }});
    if (!loop) return std::unexpected(loop.error());
    dictation->loop_ = *std::move(loop);
    return dictation;
  }

  Result<Outcome> Run(const Text& text) {
    reply_ = text.reply;
    drawn_ = 0;
    return RunRequest(*loop_, ++last_id_, GreedyRequest(text.prompt, kReply));
  }

 private:
  Dictation() = default;

  std::span<const std::int32_t> reply_;
  std::size_t drawn_ = 0;
  std::uint64_t last_id_ = 0;
  std::unique_ptr<EngineLoop> loop_;
};

double TokensPerSecond(const Outcome& outcome) {
  return static_cast<double>(outcome.usage.generated_tokens - 1) / outcome.timings.decode_seconds;
}

bool AsDictated(const Outcome& outcome, const Text& text) {
  const std::vector<Sample>& samples = outcome.choices.front().samples;
  return std::ranges::equal(samples, text.reply, {}, &Sample::token);
}

// Both ways in turns.
Status Measure(LoadedModel& model, std::int64_t max_draft_tokens, const Text& text,
               ScenarioReport& report) {
  std::array<std::vector<double>, 2> speeds;
  std::vector<double> ratios;
  Usage usage;
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t way : {0U, 1U}) {
      // A new loop each time: what drafts cost is learned again.
      const auto dictation = Dictation::Create(model, way == 0 ? 0 : max_draft_tokens);
      if (!dictation) return std::unexpected(dictation.error());
      const auto outcome = (*dictation)->Run(text);
      if (!outcome) return std::unexpected(outcome.error());
      if (!AsDictated(*outcome, text)) report.broken = "a reply is not what was dictated";
      speeds[way].push_back(TokensPerSecond(*outcome));
      if (way == 1) usage = outcome->usage;
    }
    ratios.push_back(speeds[1].back() / speeds[0].back());
  }
  report.json[text.name] = {{"plain_tokens_per_second", Median(speeds[0])},
                            {"drafted_tokens_per_second", Median(speeds[1])},
                            {"ratio", Median(ratios)},
                            {"drafted_tokens", usage.drafted_tokens},
                            {"accepted_tokens", usage.accepted_tokens}};
  report.text += Format("  %-5s %8.1f %8.1f tokens/s, %.2f times; %lld of %lld drafted accepted\n",
                        text.name, Median(speeds[0]), Median(speeds[1]), Median(ratios),
                        static_cast<long long>(usage.accepted_tokens),
                        static_cast<long long>(usage.drafted_tokens));
  return {};
}

}  // namespace

Result<ScenarioReport> RunDrafts(const EngineArgs& args, const ServingArgs& /*serving*/) {
  Result<LoadOptions> options = LoadOptionsOf(args);
  if (!options) return std::unexpected(options.error());
  options->max_logit_rows = 1 + args.max_draft_tokens;
  if (options->context == 0) options->context = kFile + kReply;
  const auto model = LoadModel(args.model, *options);
  if (!model) return std::unexpected(model.error());
  (*model)->weights().packing.Finish((*model)->pool(), [](double) {});
  const std::int64_t vocab = (*model)->config().vocab;
  if (auto warm = Dictation::Create(**model, 0); warm) {
    if (const auto done = (*warm)->Run(FreshText(vocab)); !done)
      return std::unexpected(done.error());
  }
  ScenarioReport report;
  report.text =
      "  a reply of 300 tokens, plain and drafted: an edit that copies 80 %, and nothing to copy\n";
  report.json = {{"max_draft_tokens", args.max_draft_tokens}};
  for (const Text& text : {EditText(vocab), FreshText(vocab)}) {
    if (Status done = Measure(**model, args.max_draft_tokens, text, report); !done) {
      return std::unexpected(done.error());
    }
  }
  return report;
}

}  // namespace folio
