#include "folio/sampling_args.h"

#include <limits>

#include "folio/input.h"
#include "folio/options.h"
#include "sampling/sampler.h"

namespace folio {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

Result<ReplyGrammar> ReadGrammar(const SamplingArgs& args) {
  if (!args.json_schema.empty() && !args.grammar.empty()) {
    return UsageError("--grammar", "", "excludes --json-schema: a reply keeps to one of them");
  }
  ReplyGrammar grammar;
  if (args.json_schema.empty() && args.grammar.empty()) return grammar;
  grammar.kind = args.grammar.empty() ? ReplyGrammar::Kind::kJsonSchema : ReplyGrammar::Kind::kLark;
  Result<std::string> text = ReadTextFile(args.grammar.empty() ? args.json_schema : args.grammar);
  if (!text) return std::unexpected(text.error());
  grammar.text = *std::move(text);
  return grammar;
}

}  // namespace

void AddSamplingArgs(const Command& command, SamplingArgs& args) {
  const Command group = command.Group("Sampling");
  group.AddReal("--temperature", args.temperature, "0 is greedy (default: 0.8)");
  group.AddWhole("--top-k", args.top_k, 0, kMost,
                 "keep the K most probable tokens; 0 keeps all (default: 40)");
  group.AddReal("--top-p", args.top_p,
                "keep the most probable tokens up to this share (default: 0.95)");
  group.AddReal("--min-p", args.min_p,
                "keep tokens at least so probable relative to the best (default: 0.05)");
  group.AddSeed("--seed", args.seed,
                "of the random numbers (default: 0 for run, another each time for chat)");
  group.AddWhole("--max-tokens", args.max_tokens, 1, kMost,
                 "end the reply after so many (default: the context's end)");
  group.AddTexts("--stop", args.stop, "end the reply before this text; may be repeated");
  group.AddReal("--repeat-penalty", args.repeat_penalty,
                "divide the logits of tokens seen before (default: 1)");
  group.AddReal("--presence-penalty", args.presence_penalty,
                "subtract from the logits of tokens seen before (default: 0)");
  group.AddReal("--frequency-penalty", args.frequency_penalty,
                "subtract for each time a token was seen (default: 0)");
  group
      .AddText("--json-schema", args.json_schema,
               "the reply is JSON that fits the schema in this file")
      .Takes("FILE");
  group
      .AddText("--grammar", args.grammar,
               "the reply keeps to the grammar in this file, in llguidance's dialect of Lark")
      .Takes("FILE");
  command.SetFooter(
      "Sampling goes in this order: tokens that a schema or grammar forbids are left out; repeat, "
      "presence and frequency penalties; greedy if the "
      "temperature is 0; else temperature, top-k, top-p, min-p, and a draw whose random number "
      "depends on seed and position alone.");
}

Result<Request> RequestOf(const SamplingArgs& args, std::uint64_t default_seed) {
  Request request;
  request.sampling = {.temperature = args.temperature,
                      .top_k = static_cast<int>(args.top_k),
                      .top_p = args.top_p,
                      .min_p = args.min_p,
                      .repeat_penalty = args.repeat_penalty,
                      .presence_penalty = args.presence_penalty,
                      .frequency_penalty = args.frequency_penalty,
                      .seed = args.seed.value_or(default_seed),
                      .logprobs = {}};
  if (args.logprobs >= 0) request.sampling.logprobs = static_cast<int>(args.logprobs);
  if (const Status checked = CheckSamplingParams(request.sampling); !checked) {
    Error error = checked.error();
    error.what.insert(0, "--");
    return std::unexpected(error);
  }
  for (const std::string& stop : args.stop) {
    if (stop.empty()) return UsageError("--stop", "", "is empty");
  }
  request.max_tokens = args.max_tokens;
  request.stop = args.stop;
  Result<ReplyGrammar> grammar = ReadGrammar(args);
  if (!grammar) return std::unexpected(grammar.error());
  request.grammar = *std::move(grammar);
  return request;
}

Status CheckGrammarFile(const SamplingArgs& args, const Request& request, const Engine& engine) {
  Status checked = engine.CheckGrammar(request.grammar);
  if (checked || checked.error().kind != ErrorKind::kUsage) return checked;
  return InputError(args.grammar.empty() ? args.json_schema : args.grammar, checked.error().where,
                    checked.error().why);
}

}  // namespace folio
