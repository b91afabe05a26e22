#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/loaded_model.h"
#include "engine/numerics_name.h"
#include "folio/commands.h"
#include "folio/conversation.h"
#include "folio/engine.h"
#include "folio/engine_args.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/sampling_args.h"
#include "folio/text_arg.h"

namespace folio {
namespace {

struct RunArgs {
  EngineArgs engine;
  SamplingArgs sampling;
  TextArg prompt;
  std::string system;
  bool chat = false;
  bool special = false;
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

Result<std::vector<TokenId>> PromptTokens(const LoadedModel& model, const RunArgs& args,
                                          const std::string& text) {
  const Tokenizer& tokenizer = model.tokenizer();
  if (args.chat) {
    const Result<ChatTemplate>& chat_template = model.chat_template();
    if (!chat_template) return std::unexpected(chat_template.error());
    std::vector<ChatMessage> messages;
    if (!args.system.empty()) messages.push_back({.role = "system", .content = args.system});
    messages.push_back({.role = "user", .content = text});
    return chat_template->Render(tokenizer, messages, /*add_generation_prompt=*/true);
  }
  auto tokens =
      tokenizer.Encode(text, args.special ? SpecialTokens::kParse : SpecialTokens::kAsText);
  if (tokens && tokenizer.add_bos() && tokenizer.bos() >= 0) {
    tokens->insert(tokens->begin(), tokenizer.bos());
  }
  return tokens;
}

OutputJson LogprobsJson(const Tokenizer& tokenizer, const Reply& reply) {
  const auto entry = [&](TokenId token, float logprob) {
    return OutputJson{{"token", token},
                      {"piece", std::string(tokenizer.TokenPiece(token))},
                      {"logprob", logprob}};
  };
  OutputJson list = OutputJson::array();
  for (const Sample& sample : reply.samples) {
    OutputJson json = entry(sample.token, sample.logprob);
    json["top"] = OutputJson::array();
    for (const TokenLogprob& other : sample.top) {
      json["top"].push_back(entry(other.token, other.logprob));
    }
    list.push_back(json);
  }
  return list;
}

OutputJson AsJson(const LoadedModel& model, const Request& request, const Outcome& outcome) {
  const Reply& reply = outcome.choices.front();
  OutputJson json;
  json["model"] = model.file().path();
  json["prompt_tokens"] = outcome.usage.prompt_tokens;
  json["cached_tokens"] = outcome.usage.cached_tokens;
  json["completion_tokens"] = outcome.usage.generated_tokens;
  json["text"] = reply.text;
  json["tokens"] = OutputJson::array();
  for (const Sample& sample : reply.samples) json["tokens"].push_back(sample.token);
  json["finish_reason"] = std::string(FinishReasonName(reply.finish_reason));
  json["seed"] = request.sampling.seed;
  json["isa"] = std::string(IsaName(model.isa()));
  json["threads"] = model.options().threads;
  json["numerics"] = std::string(NumericsName(model.options().numerics));
  json["timings"] = {{"load_s", model.load_seconds()},
                     {"prefill_s", outcome.timings.prefill_seconds},
                     {"decode_s", outcome.timings.decode_seconds}};
  if (request.sampling.logprobs) json["logprobs"] = LogprobsJson(model.tokenizer(), reply);
  return json;
}

Status Complete(Engine& engine, const RunArgs& args, const Request& request) {
  const bool terminal = OutputIsTerminal();
  Result<Stream> stream = engine.Submit(request);
  if (!stream) return std::unexpected(stream.error());
  Status written;
  const auto print = [&](std::string_view text) {
    if (args.json || !written) return;
    written = WriteOutput(terminal ? ForTerminal(text) : std::string(text));
    if (written) written = FlushOutput();
  };
  const auto outcome = ReadReply(*std::move(stream), print, [&] { return !written; });
  if (!outcome) return std::unexpected(outcome.error());
  if (!written) return written;
  if (args.json) return WriteJson(AsJson(engine.model(), request, *outcome));
  return terminal && !outcome->choices.front().text.ends_with('\n') ? WriteOutput("\n") : Status();
}

Status RunRun(RunArgs& args) {
  if (const Status checked = CheckCombinations(args); !checked) return checked;
  Result<Request> request = RequestOf(args.sampling, /*default_seed=*/0);
  if (!request) return std::unexpected(request.error());
  if (const auto checked = LoadOptionsOf(args.engine); !checked) {
    return std::unexpected(checked.error());
  }
  const Result<std::string> text = args.prompt.Read();
  if (!text) return std::unexpected(text.error());
  EngineOptions options = EngineOptionsOf(args.engine);
  options.one_context = true;
  options.max_requests = 1;
  options.prompt_log_bytes = 1 << 20;
  const auto engine = OpenEngine(args.engine.model, options);
  if (!engine) return std::unexpected(engine.error());
  auto prompt = PromptTokens((*engine)->model(), args, *text);
  if (!prompt) return std::unexpected(prompt.error());
  request->prompt = *std::move(prompt);
  return Complete(**engine, args, *request);
}

}  // namespace

void AddRun(CLI::App& app, Action& action) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* command = app.add_subcommand("run", "one completion to stdout");
  args->prompt.AddTo(*command, "--prompt", "the prompt; - reads stdin", args->engine.model);
  command->add_flag("--chat", args->chat, "wrap the prompt in the model's chat template");
  command->add_option("--system", args->system, "a system message, with --chat")->type_name("TEXT");
  command->add_flag("--special", args->special,
                    "parse spellings of control tokens in the prompt, without --chat");
  command->add_flag("--json", args->json, "print one JSON document instead of the text");
  AddSamplingArgs(*command, args->sampling);
  AddWhole(*command, "--logprobs", args->sampling.logprobs, 0, 100,
           "log-probabilities of each token and of the N best, with --json")
      ->group("Sampling");
  AddEngineArgs(*command, args->engine);
  command->callback([args, &action] { action = [args] { return RunRun(*args); }; });
}

}  // namespace folio
