#include "folio/sampling_args.h"

#include <limits>

#include "folio/options.h"
#include "sampling/sampler.h"

namespace folio {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

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
  command.SetFooter(
      "Sampling goes in this order: repeat, presence and frequency penalties; greedy if the "
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
  return request;
}

}  // namespace folio
