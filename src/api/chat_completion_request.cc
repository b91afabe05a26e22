#include <string>
#include <utility>

#include "api/openai_messages.h"
#include "api/openai_request.h"
#include "api/openai_sampling.h"
#include "api/openai_tools.h"

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

void ReadFormat(Fields& fields, ReplyFormat& format) {
  const Json* given = fields.Object("response_format");
  if (given == nullptr) return;
  Fields inner(*given, "response_format", fields.refusal());
  const std::string type = inner.Text("type").value_or("text");
  if (type == "json_object") {
    format.kind = ReplyFormat::Kind::kJsonObject;
  } else if (type == "json_schema") {
    const Json* named = inner.Object("json_schema");
    if (named == nullptr) return inner.Refuse("json_schema", "is missing");
    Fields of(*named, inner.PathOf("json_schema"), fields.refusal());
    format.strict = of.Flag("strict").value_or(false);
    format.kind = ReplyFormat::Kind::kJsonSchema;
    format.name = of.Text("name").value_or("");
    const Json* schema = of.Object("schema");
    if (schema == nullptr) return of.Refuse("schema", "is missing");
    format.schema = *schema;
  } else if (type != "text") {
    inner.Refuse("type", "is '" + type + "', none of text, json_object, json_schema");
  }
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

Result<ApiRequest> ParseChatCompletion(const Json& body, const ChatOptions& options) {
  ApiRequest request;
  std::optional<Error> refusal;
  Fields fields(body, "", refusal);
  request.messages = ReadMessages(fields, options.drop_media);
  if (const Json* given = fields.Object("chat_template_kwargs")) request.variables = *given;
  request.tools = ReadTools(fields, request.notes);
  request.tool_choice = ReadToolChoice(fields, request.tools);
  request.parallel_tool_calls = fields.Flag("parallel_tool_calls").value_or(true);
  ReadFormat(fields, request.format);
  ReadCommonFields(fields, request);
  ReadLogprobs(fields, request.request.sampling);
  request.request.max_tokens = ReadMaxTokens(fields);
  RefuseChatOnly(fields);
  if (refusal) return std::unexpected(*refusal);
  return request;
}

}  // namespace folio
