#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/loaded_model.h"
#include "folio/cache_report.h"
#include "folio/commands.h"
#include "folio/engine.h"
#include "folio/engine_args.h"
#include "folio/expert_report.h"
#include "folio/memory_line.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/run_reply.h"
#include "folio/sampling_args.h"
#include "folio/text_arg.h"
#include "folio/text_table.h"

namespace folio {
namespace {

struct RunArgs {
  EngineArgs engine;
  SamplingArgs sampling;
  TextArg prompt;
  std::string system;
  bool chat = false;
  bool special = false;
  bool show_cache = false;
  bool show_experts = false;
  bool json = false;
};

Status CheckCombinations(const RunArgs& args) {
  if (!args.system.empty() && !args.chat) {
    return UsageError("run", "--system", "needs --chat: a plain prompt has no system message");
  }
  if (args.special && args.chat) {
    return UsageError("run", "--special", "excludes --chat: a message's text is never parsed");
  }
  if (args.sampling.logprobs >= 0 && !args.json) {
    return UsageError("run", "--logprobs", "needs --json, which is where they are printed");
  }
  return {};
}

// `parts`: say which message a token belongs to, which takes longer.
Result<RenderedPrompt> RenderPrompt(const LoadedModel& model, const RunArgs& args,
                                    const std::string& text, bool parts) {
  const Tokenizer& tokenizer = model.tokenizer();
  Result<std::vector<TokenId>> tokens;
  if (args.chat) {
    const Result<ChatTemplate>& chat_template = model.chat_template();
    if (!chat_template) return std::unexpected(chat_template.error());
    std::vector<ChatMessage> messages;
    if (!args.system.empty()) messages.push_back({.role = "system", .content = args.system});
    messages.push_back({.role = "user", .content = text});
    if (parts) {
      return chat_template->RenderWithParts(tokenizer, messages, /*add_generation_prompt=*/true);
    }
    tokens = chat_template->Render(tokenizer, messages, /*add_generation_prompt=*/true);
  } else {
    tokens =
        tokenizer.EncodePrompt(text, args.special ? SpecialTokens::kParse : SpecialTokens::kAsText);
  }
  if (!tokens) return std::unexpected(tokens.error());
  return RenderedPrompt{.tokens = *std::move(tokens), .parts = {}};
}

// Prompts that one engine takes together. Their replies are written in the prompts' order, the
// first that is not complete while it is made.
class Run {
 public:
  Run(const RunArgs& args, Engine& engine, const std::vector<std::string>& texts)
      : args_(args), engine_(engine), texts_(texts), writer_(args.json) {}

  // All or none: one that is refused ends the run before anything is written.
  Status Submit(const Request& options) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      auto prompt =
          RenderPrompt(engine_.model(), args_, texts_[i], /*parts=*/many() || args_.show_cache);
      if (!prompt) return Refuse(i, prompt.error());
      Request request = options;
      request.prompt = std::move(prompt->tokens);
      request.parts = std::move(prompt->parts);
      request.record_experts = args_.show_experts;
      Result<Stream> stream = engine_.Submit(request);
      if (!stream) return Refuse(i, stream.error());
      requests_.push_back(std::move(request));
      streams_.push_back(*std::move(stream));
    }
    return {};
  }

  Status Finish() {
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      if (many()) writer_.Write(Header(i));
      ended_.push_back(
          {.prompt = requests_[i].prompt, .outcome = writer_.Copy(std::move(streams_[i]))});
      if (writer_.line_open() && (many() || writer_.terminal())) writer_.Write("\n");
      if (!writer_.status()) return writer_.status();
    }
    if (!many() && FailureOf(0) != nullptr) return std::unexpected(*FailureOf(0));
    if (args_.json) {
      if (const Status written = WriteDocument(); !written) return written;
    } else {
      ShowExperts();
      ShowCache();
    }
    return Failures();
  }

 private:
  bool many() const { return texts_.size() > 1; }

  std::string Header(std::size_t i) const {
    return std::string(i == 0 ? "" : "\n") + "==> " + std::to_string(i + 1) + " of " +
           std::to_string(texts_.size()) + ": " + OneLine(texts_[i], 60) + " <==\n";
  }

  Status Refuse(std::size_t i, Error error) const {
    if (many()) {
      const std::string name = "prompt " + std::to_string(i + 1);
      error.what = error.what == "prompt" ? name : name + ": " + error.what;
    }
    return std::unexpected(std::move(error));
  }

  const Error* FailureOf(std::size_t i) const {
    const Reply& reply = ended_[i].outcome.choices.front();
    return reply.finish_reason == FinishReason::kError ? &reply.error : nullptr;
  }

  // One line about all that failed: the others were printed.
  Status Failures() const {
    std::size_t failed = 0;
    std::size_t first = 0;
    for (std::size_t i = ended_.size(); i-- > 0;) {
      if (FailureOf(i) == nullptr) continue;
      ++failed;
      first = i;
    }
    if (failed == 0) return {};
    return RuntimeError(
        "run", std::to_string(failed) + " of " + std::to_string(ended_.size()),
        "failed; prompt " + std::to_string(first + 1) + ": " + FailureOf(first)->Message());
  }

  OutputJson AsJson(std::size_t i) const {
    OutputJson json = ReplyJson(engine_.model(), requests_[i], ended_[i].outcome);
    if (args_.show_experts) {
      json["routed_experts"] = RoutedExpertsJson(ended_[i].outcome.choices.front().experts);
    }
    if (!many() && !args_.show_cache) return json;
    json["usage"] = UsageJson(ended_[i].outcome.usage);
    json["cache"] = CacheJson(ended_[i].outcome.cache, "prompt");
    if (FailureOf(i) != nullptr) json["error"] = FailureOf(i)->Message();
    return json;
  }

  Status WriteDocument() {
    OutputJson json;
    if (many()) {
      json["model"] = engine_.model().file().path();
      json["replies"] = OutputJson::array();
      for (std::size_t i = 0; i < ended_.size(); ++i) json["replies"].push_back(AsJson(i));
    } else {
      json = AsJson(0);
    }
    if (args_.show_experts) {
      json["expert_load"] = ExpertLoadsJson(engine_.TakeSnapshot(/*blocks=*/false).expert_loads);
    }
    const ExpertCacheSnapshot cache = engine_.TakeSnapshot(/*blocks=*/false).expert_cache;
    if (cache.experts > 0) json["expert_cache"] = ExpertCacheJson(cache);
    if (args_.show_cache) {
      json["pool"] = PoolJson(engine_.model(), engine_.TakeSnapshot(/*blocks=*/true), ended_);
      json["pool"]["predicted_memory"] = PredictedMemoryJson(engine_.model());
    }
    return WriteJson(json);
  }

  // On stderr: stdout is the replies'.
  void ShowCache() {
    if (!args_.show_cache) return;
    const std::string text =
        PoolText(engine_.model(), engine_.TakeSnapshot(/*blocks=*/true), ended_, "prompt");
    std::fputs(ForTerminal(text).c_str(), stderr);
  }

  // Likewise.
  void ShowExperts() {
    if (!args_.show_experts) return;
    std::string text;
    for (std::size_t i = 0; i < ended_.size(); ++i) {
      if (many()) text += "prompt " + std::to_string(i + 1) + ", ";
      const Reply& reply = ended_[i].outcome.choices.front();
      std::vector<TokenId> tokens = ended_[i].prompt;
      for (const Sample& sample : reply.samples) tokens.push_back(sample.token);
      text += ExpertMap(engine_.model().tokenizer(), tokens, reply.experts, ErrorsInColour());
    }
    const Snapshot snapshot = engine_.TakeSnapshot(/*blocks=*/false);
    text += ExpertLoadTable(snapshot.expert_loads);
    if (snapshot.expert_cache.experts > 0) text += ExpertCacheLine(snapshot.expert_cache);
    std::fputs(text.c_str(), stderr);
  }

  const RunArgs& args_;
  Engine& engine_;
  const std::vector<std::string>& texts_;
  ReplyWriter writer_;
  std::vector<Request> requests_;
  std::vector<Stream> streams_;
  std::vector<EndedRequest> ended_;
};

// To people, and to who asked what was planned: what programs read on stderr is else errors alone.
void SayMemory(const LoadedModel& model, bool asked) {
  if (asked || isatty(STDERR_FILENO) == 1)
    std::fprintf(stderr, "memory: %s\n", MemoryLine(model).c_str());
}

Status RunRun(RunArgs& args) {
  if (const Status checked = CheckCombinations(args); !checked) return checked;
  const Result<Request> request = RequestOf(args.sampling, /*default_seed=*/0);
  if (!request) return std::unexpected(request.error());
  if (const auto checked = LoadOptionsOf(args.engine); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<std::vector<std::string>> texts = args.prompt.ReadAll();
  if (!texts) return std::unexpected(texts.error());
  EngineOptions options = EngineOptionsOf(args.engine);
  options.max_requests = std::min(options.max_requests, static_cast<std::int64_t>(texts->size()));
  options.contexts = options.max_requests;
  options.max_queue = static_cast<std::int64_t>(texts->size());
  options.prompt_log_bytes = std::uint64_t{1} << 20;
  const auto engine = OpenEngine(args.engine.model, options);
  if (!engine) return std::unexpected(engine.error());
  if (const Status checked = CheckGrammarFile(args.sampling, *request, **engine); !checked) {
    return checked;
  }
  if (args.show_experts && (*engine)->model().config().router.experts == 0) {
    return UsageError("run", "--show-experts",
                      "this model has no experts (its architecture is " +
                          (*engine)->model().config().architecture + ")");
  }
  SayMemory((*engine)->model(), args.show_cache && !args.json);
  Run run(args, **engine, *texts);
  if (const Status submitted = run.Submit(*request); !submitted) return submitted;
  return run.Finish();
}

}  // namespace

void AddRun(const Command& folio) {
  auto args = std::make_shared<RunArgs>();
  const Command command = folio.AddCommand("run", "completions to stdout");
  args->prompt.AddManyTo(command, "--prompt",
                         "the prompt; - reads stdin; may be repeated: they run together",
                         args->engine.model);
  command.AddFlag("--chat", args->chat, "wrap the prompt in the model's chat template");
  command.AddText("--system", args->system, "a system message, with --chat");
  command.AddFlag("--special", args->special,
                  "parse spellings of control tokens in the prompt, without --chat");
  command.AddFlag("--show-cache", args->show_cache,
                  "then print the memory plan, the pool of KV blocks, and what each prompt found "
                  "in it (on stderr; with --json in the document)");
  command.AddFlag("--show-experts", args->show_experts,
                  "then print which experts each token went to, and each layer's load (on stderr; "
                  "with --json in the document)");
  command.AddFlag("--json", args->json, "print one JSON document instead of the text");
  AddSamplingArgs(command, args->sampling);
  command.Group("Sampling")
      .AddWhole("--logprobs", args->sampling.logprobs, 0, 100,
                "log-probabilities of each token and of the N best, with --json");
  AddEngineArgs(command, args->engine);
  command.SetAction([args] { return RunRun(*args); });
}

}  // namespace folio
