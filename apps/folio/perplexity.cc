#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "engine/numerics_name.h"
#include "engine/session.h"
#include "folio/chunked_logits.h"
#include "folio/commands.h"
#include "folio/engine_args.h"
#include "folio/input.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/progress_bar.h"
#include "sampling/softmax_weights.h"

namespace folio {
namespace {

constexpr std::int64_t kDefaultContext = 512;

struct PerplexityArgs {
  EngineArgs engine;
  std::string file;
  bool json = false;
};

struct Score {
  double nll = 0;  // sum of -log p
  std::int64_t tokens = 0;
};

// -log of the probability that the logits give `token`.
double NegativeLogProbability(std::span<const float> logits, TokenId token,
                              std::vector<float>& weights) {
  const float max = *std::ranges::max_element(logits);
  weights.resize(logits.size());
  SoftmaxWeights(logits, max, 1.0F, weights);
  return std::log(SumOf(weights)) + static_cast<double>(max) -
         static_cast<double>(logits[static_cast<std::size_t>(token)]);
}

// Scores the second half of a window, so that every scored token has at least half a window before
// it.
Status ScoreWindow(LoadedModel& model, std::span<const TokenId> window, Score& score) {
  Session session(model);
  const auto vocab = static_cast<std::size_t>(model.config().vocab);
  const std::size_t from = window.size() / 2;
  std::vector<float> weights;
  return ForEachLogits(
      model, session, window, [&](std::size_t first, std::span<const float> logits) -> Status {
        for (std::size_t row = 0; row * vocab < logits.size(); ++row) {
          const std::size_t next = first + row + 1;
          if (next < std::max<std::size_t>(from, 1) || next >= window.size()) continue;
          score.nll +=
              NegativeLogProbability(logits.subspan(row * vocab, vocab), window[next], weights);
          ++score.tokens;
        }
        return {};
      });
}

// The text cut into windows of `context` tokens, each starting with BOS where the model wants one;
// a shorter rest is left out.
std::vector<std::vector<TokenId>> Windows(const Tokenizer& tokenizer,
                                          const std::vector<TokenId>& tokens, std::size_t context) {
  const bool bos = tokenizer.add_bos() && tokenizer.bos() >= 0;
  const std::size_t step = context - (bos ? 1 : 0);
  std::vector<std::vector<TokenId>> windows;
  for (std::size_t first = 0; first + step <= tokens.size(); first += step) {
    std::vector<TokenId> window;
    if (bos) window.push_back(tokenizer.bos());
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    window.insert(window.end(), begin, begin + static_cast<std::ptrdiff_t>(step));
    windows.push_back(std::move(window));
  }
  return windows;
}

Status Print(const PerplexityArgs& args, const LoadedModel& model, const Score& score,
             std::size_t windows, double seconds) {
  const double mean = score.nll / static_cast<double>(score.tokens);
  if (args.json) {
    OutputJson document;
    document["model"] = model.file().path();
    document["file"] = args.file;
    document["context"] = model.plan().context;
    document["windows"] = windows;
    document["scored_tokens"] = score.tokens;
    document["mean_nll"] = mean;
    document["perplexity"] = std::exp(mean);
    document["isa"] = std::string(IsaName(model.isa()));
    document["numerics"] = std::string(NumericsName(model.options().numerics));
    document["seconds"] = seconds;
    return WriteJson(document);
  }
  std::array<char, 160> line{};
  std::snprintf(line.data(), line.size(),
                "perplexity %.4f over %lld tokens (%zu windows of %lld, the second half of each)\n",
                std::exp(mean), static_cast<long long>(score.tokens), windows,
                static_cast<long long>(model.plan().context));
  return WriteOutput(line.data());
}

Status RunPerplexity(PerplexityArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  const Result<std::string> text = args.file == "-" ? ReadStdin() : ReadTextFile(args.file);
  if (!text) return std::unexpected(text.error());
  if (args.engine.context == 0) args.engine.context = kDefaultContext;
  if (args.engine.context < 4) {
    return UsageError("perplexity", "--context",
                      std::to_string(args.engine.context) + " is too short; at least 4");
  }
  const auto model = LoadModel(args.engine);
  if (!model) return std::unexpected(model.error());
  const Tokenizer& tokenizer = (*model)->tokenizer();
  const auto tokens = tokenizer.Encode(*text, SpecialTokens::kAsText);
  if (!tokens) return std::unexpected(tokens.error());
  const auto windows =
      Windows(tokenizer, *tokens, static_cast<std::size_t>((*model)->plan().context));
  if (windows.empty()) {
    return InputError(args.file, "text",
                      "has " + std::to_string(tokens->size()) +
                          " tokens, fewer than one --context of " +
                          std::to_string((*model)->plan().context));
  }
  Score score;
  ProgressBar bar("scoring");
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (Status scored = ScoreWindow(**model, windows[i], score); !scored) return scored;
    bar.Update(static_cast<double>(i + 1) / static_cast<double>(windows.size()));
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Print(args, **model, score, windows.size(), seconds);
}

}  // namespace

void AddPerplexity(const Command& folio) {
  auto args = std::make_shared<PerplexityArgs>();
  const Command command = folio.AddCommand("perplexity", "how well a model predicts a text");
  AddModelArg(command, args->engine.model);
  command.AddText("--file", args->file, "the text; - reads stdin").Required();
  command.AddFlag("--json", args->json, "print one JSON document");
  AddEngineArgs(command, args->engine);
  command.SetFooter(
      "The text is cut into windows of --context tokens (default 512), each computed from an empty "
      "cache; the second half of each is scored. A shorter rest is left out.");
  command.SetAction([args] { return RunPerplexity(*args); });
}

}  // namespace folio
