#include <string>
#include <utility>

#include "api/openai_messages.h"
#include "api/openai_request.h"
#include "api/openai_sampling.h"

namespace folio {
namespace {

void ReadLogprobs(Fields& fields, SamplingParams& sampling) {
  const bool wanted = fields.Flag("logprobs").value_or(false);
  const auto top = fields.Whole("top_logprobs", 0, kMostTopLogprobs);
  if (top && *top > 0 && !wanted) fields.Refuse("top_logprobs", "needs logprobs: true");
  if (wanted) sampling.logprobs = static_cast<int>(top.value_or(0));
}

// max_completion_tokens is the newer name of the two.
std::int64_t ReadMaxTokens(Fields& fields) {
  const auto older = fields.Whole("max_tokens", 1, kMostTokens);
  const auto newer = fields.Whole("max_completion_tokens", 1, kMostTokens);
  return newer.value_or(older.value_or(-1));
}

void RefuseChatOnly(Fields& fields) {
  if (const Json* functions = fields.List("functions"); functions && !functions->empty()) {
    fields.Refuse("functions", "is not supported: use tools");
  }
  if (fields.Find("audio") != nullptr) fields.Refuse("audio", "is not supported: replies are text");
  const Json* modalities = fields.List("modalities");
  for (std::size_t i = 0; modalities != nullptr && i < modalities->size(); ++i) {
    if ((*modalities)[i] == "text") continue;
    fields.Refuse("modalities[" + std::to_string(i) + "]", "is not 'text': replies are text");
  }
}

}  // namespace

Result<ApiRequest> ParseChatCompletion(const Json& body) {
  ApiRequest request;
  std::optional<Error> refusal;
  Fields fields(body, "", refusal);
  const Json messages = ReadMessages(fields);
  Json variables = Json::object();
  if (const Json* given = fields.Object("chat_template_kwargs")) variables = *given;
  if (Json tools = ReadTools(fields); !tools.empty()) variables["tools"] = std::move(tools);
  ReadCommonFields(fields, request);
  ReadLogprobs(fields, request.request.sampling);
  request.request.max_tokens = ReadMaxTokens(fields);
  RefuseChatOnly(fields);
  if (refusal) return std::unexpected(*refusal);
  request.messages = DumpJson(messages);
  if (!variables.empty()) request.variables = DumpJson(variables);
  return request;
}

}  // namespace folio
