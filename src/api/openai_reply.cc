#include "api/openai_reply.h"

#include "api/openai_error.h"
#include "api/openai_logprobs.h"

namespace folio {
namespace {

// OpenAI has no word for the other ends: they are errors, or nobody is there to read them.
std::string_view FinishReasonText(FinishReason reason) {
  return reason == FinishReason::kLength ? "length" : "stop";
}

Json UsageJson(std::span<const Outcome> outcomes) {
  Usage sum;
  for (const Outcome& outcome : outcomes) {
    sum.prompt_tokens += outcome.usage.prompt_tokens;
    sum.cached_tokens += outcome.usage.cached_tokens;
    sum.generated_tokens += outcome.usage.generated_tokens;
  }
  return {{"prompt_tokens", sum.prompt_tokens},
          {"completion_tokens", sum.generated_tokens},
          {"total_tokens", sum.prompt_tokens + sum.generated_tokens},
          {"prompt_tokens_details", {{"cached_tokens", sum.cached_tokens}}}};
}

Json ReplyJson(const ReplyHead& head, const char* object, Json choices,
               std::span<const Outcome> outcomes) {
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"choices", std::move(choices)},
          {"usage", UsageJson(outcomes)}};
}

bool IsCallersFault(const Error& error) { return error.kind != ErrorKind::kRuntime; }

}  // namespace

Json ChatCompletionJson(const ReplyHead& head, const Outcome& outcome, bool logprobs,
                        const TokenBytes& bytes) {
  Json choices = Json::array();
  for (const Reply& reply : outcome.choices) {
    Json message = {{"role", "assistant"}, {"content", reply.text}, {"refusal", nullptr}};
    choices.push_back({{"index", choices.size()},
                       {"message", std::move(message)},
                       {"logprobs", logprobs ? ChatLogprobs(reply, bytes) : Json()},
                       {"finish_reason", FinishReasonText(reply.finish_reason)}});
  }
  return ReplyJson(head, "chat.completion", std::move(choices), {&outcome, 1});
}

Json CompletionJson(const ReplyHead& head, std::span<const Outcome> outcomes, bool logprobs,
                    const TokenBytes& bytes) {
  Json choices = Json::array();
  for (const Outcome& outcome : outcomes) {
    for (const Reply& reply : outcome.choices) {
      choices.push_back({{"index", choices.size()},
                         {"text", reply.text},
                         {"logprobs", logprobs ? CompletionLogprobs(reply, bytes) : Json()},
                         {"finish_reason", FinishReasonText(reply.finish_reason)}});
    }
  }
  return ReplyJson(head, "text_completion", std::move(choices), outcomes);
}

Json ErrorJson(const Error& error) { return OpenAiErrorJson(ApiErrorOf(error)); }

int HttpStatusOf(const Error& error) { return IsCallersFault(error) ? 400 : 500; }

}  // namespace folio
