#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/generate.h"
#include "engine/session.h"
#include "folio/commands.h"
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

Result<std::vector<TokenId>> PromptTokens(const LoadedModel& engine, const RunArgs& args,
                                          const std::string& text) {
  const Tokenizer& tokenizer = engine.tokenizer();
  if (args.chat) {
    const Result<ChatTemplate>& chat_template = engine.chat_template();
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

OutputJson LogprobsJson(const Tokenizer& tokenizer, const Generation& generation) {
  const auto entry = [&](TokenId token, float logprob) {
    return OutputJson{{"token", token},
                      {"piece", std::string(tokenizer.TokenPiece(token))},
                      {"logprob", logprob}};
  };
  OutputJson list = OutputJson::array();
  for (const Sample& sample : generation.samples) {
    OutputJson json = entry(sample.token, sample.logprob);
    json["top"] = OutputJson::array();
    for (const TokenLogprob& other : sample.top) {
      json["top"].push_back(entry(other.token, other.logprob));
    }
    list.push_back(json);
  }
  return list;
}

OutputJson AsJson(const LoadedModel& engine, const GenerateOptions& options,
                  const Generation& generation) {
  OutputJson json;
  json["model"] = engine.file().path();
  json["prompt_tokens"] = generation.prompt_tokens;
  json["cached_tokens"] = generation.cached_tokens;
  json["completion_tokens"] = generation.tokens.size();
  json["text"] = generation.text;
  json["tokens"] = generation.tokens;
  json["finish_reason"] = std::string(FinishReasonName(generation.finish_reason));
  json["seed"] = options.sampling.seed;
  json["isa"] = std::string(IsaName(engine.isa()));
  json["threads"] = engine.options().threads;
  json["numerics"] = std::string(NumericsName(engine.options().numerics));
  json["timings"] = {{"load_s", engine.load_seconds()},
                     {"prefill_s", generation.prefill_seconds},
                     {"decode_s", generation.decode_seconds}};
  if (options.sampling.logprobs) json["logprobs"] = LogprobsJson(engine.tokenizer(), generation);
  return json;
}

Status Complete(LoadedModel& engine, const RunArgs& args, const GenerateOptions& options,
                const std::vector<TokenId>& prompt) {
  Session session(engine);
  const bool terminal = OutputIsTerminal();
  Status written;
  const OnText print = [&](std::string_view text) {
    written = WriteOutput(terminal ? ForTerminal(text) : std::string(text));
    if (written) written = FlushOutput();
    return written.has_value();
  };
  const auto generation = Generate(session, prompt, options, args.json ? OnText() : print);
  if (!generation) return std::unexpected(generation.error());
  if (!written) return written;
  if (args.json) return WriteJson(AsJson(engine, options, *generation));
  return terminal && !generation->text.ends_with('\n') ? WriteOutput("\n") : Status();
}

Status RunRun(RunArgs& args) {
  if (const Status checked = CheckCombinations(args); !checked) return checked;
  const Result<GenerateOptions> options = GenerateOptionsOf(args.sampling, /*default_seed=*/0);
  if (!options) return std::unexpected(options.error());
  if (const auto engine_options = EngineOptionsOf(args.engine); !engine_options) {
    return std::unexpected(engine_options.error());
  }
  const Result<std::string> text = args.prompt.Read();
  if (!text) return std::unexpected(text.error());
  const auto engine = LoadEngine(args.engine);
  if (!engine) return std::unexpected(engine.error());
  const auto prompt = PromptTokens(**engine, args, *text);
  if (!prompt) return std::unexpected(prompt.error());
  return Complete(**engine, args, *options, *prompt);
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
