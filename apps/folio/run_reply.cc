#include "folio/run_reply.h"

#include <utility>

#include "engine/numerics_name.h"
#include "folio/conversation.h"

namespace folio {
namespace {

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

}  // namespace

OutputJson ReplyJson(const LoadedModel& model, const Request& request, const Outcome& outcome) {
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

void ReplyWriter::Write(std::string_view text) {
  if (silent_ || !status_ || text.empty()) return;
  status_ = WriteOutput(terminal_ ? ForTerminal(text) : std::string(text));
  if (status_) status_ = FlushOutput();
  line_open_ = !text.ends_with('\n');
}

Outcome ReplyWriter::Copy(Stream stream) {
  line_open_ = !silent_;
  return ReadOutcome(stream, [&](std::string_view text) { Write(text); }, [&] { return !status_; });
}

}  // namespace folio
