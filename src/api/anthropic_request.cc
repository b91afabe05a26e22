#include "api/anthropic_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "api/anthropic_messages.h"
#include "api/anthropic_tools.h"
#include "api/sampling_fields.h"

namespace folio {
namespace {

constexpr std::size_t kLongestUserId = 4096;  // bytes of one that is looked into

// What makes Anthropic's SDK send the whole conversation again, without threads.
std::optional<ApiError> RefusedThread(const Json& body) {
  if (!body.is_object()) return std::nullopt;
  const auto thread = body.find("thread");
  if (thread == body.end() || thread->is_null()) return std::nullopt;
  return ApiError{.kind = ApiError::Kind::kInvalidRequest,
                  .message = "thread: conversations are not kept here: send the whole one",
                  .param = "thread",
                  .details_code = "thread_unsupported_request"};
}

void SetIfNew(Json& variables, const char* name, const Json& value) {
  if (!variables.contains(name)) variables[name] = value;
}

void ReadThinking(Fields& body, AnthropicRequest& request) {
  const Json* given = body.Object("thinking");
  if (given == nullptr) return;
  Fields fields(*given, "thinking", body.refusal());
  const auto type = fields.Text("type");
  constexpr std::array<std::string_view, 3> kThinks = {"enabled", "adaptive", "between_tools"};
  if (!type) return fields.Refuse("type", "is missing");
  const bool thinks = std::ranges::find(kThinks, *type) != kThinks.end();
  if (!thinks && type != "disabled") {
    fields.Refuse("type", "is '" + *type + "', none of enabled, adaptive, between_tools, disabled");
  }
  SetIfNew(request.api.variables, "enable_thinking", thinks);
  request.thinking_budget = fields.Whole("budget_tokens", 1, kMostTokens);
  request.reply.omit_thinking = fields.Text("display") == "omitted";
}

void ReadFormat(Fields& parent, std::string_view name, ReplyFormat& format) {
  const Json* given = parent.Object(name);
  if (given == nullptr) return;
  Fields fields(*given, parent.PathOf(name), parent.refusal());
  if (const auto type = fields.Text("type"); type != "json_schema") {
    return fields.Refuse("type", type ? "is '" + *type + "', not json_schema" : "is missing");
  }
  const Json* schema = fields.Object("schema");
  if (schema == nullptr) return fields.Refuse("schema", "is missing");
  format = {.kind = ReplyFormat::Kind::kJsonSchema, .name = "", .schema = *schema, .strict = true};
}

void ReadEffort(Fields& config, Json& variables) {
  constexpr std::array<std::string_view, 5> kEfforts = {"low", "medium", "high", "xhigh", "max"};
  const auto effort = config.Text("effort");
  if (!effort) return;
  const auto found = std::ranges::find(kEfforts, *effort);
  if (found == kEfforts.end()) {
    return config.Refuse("effort", "is '" + *effort + "', none of low, medium, high, xhigh, max");
  }
  SetIfNew(variables, "reasoning_effort", found < kEfforts.begin() + 2 ? *effort : "high");
}

void ReadOutputConfig(Fields& body, ApiRequest& api) {
  ReadFormat(body, "output_format", api.format);
  const Json* given = body.Object("output_config");
  if (given == nullptr) return;
  Fields fields(*given, "output_config", body.refusal());
  ReadFormat(fields, "format", api.format);
  ReadEffort(fields, api.variables);
}

// Claude Code names its session in the user's id: as JSON {..., "session_id"}, earlier as
// user_X_account_Y_session_Z. Another id is a person's, who may have many conversations.
std::string SessionOf(const std::string& user_id) {
  constexpr std::string_view kSession = "_session_";
  if (user_id.size() > kLongestUserId) return {};
  if (user_id.starts_with('{')) {
    const auto parsed = ParseJson(user_id);
    if (!parsed || !parsed->is_object()) return {};
    const auto id = parsed->find("session_id");
    return id != parsed->end() && id->is_string() ? id->get<std::string>() : "";
  }
  const auto found = user_id.rfind(kSession);
  return found == user_id.npos ? "" : user_id.substr(found + kSession.size());
}

void ReadMetadata(Fields& body, AnthropicRequest& request) {
  const Json* given = body.Object("metadata");
  if (given == nullptr) return;
  Fields fields(*given, "metadata", body.refusal());
  request.user_id = fields.Text("user_id").value_or("");
  request.api.session = SessionOf(request.user_id);
}

void ReadDiagnostics(Fields& body, AnthropicRequest& request) {
  const Json* given = body.Object("diagnostics");
  if (given == nullptr) return;
  Fields fields(*given, "diagnostics", body.refusal());
  request.wants_diagnostics = true;
  request.previous_message_id = fields.Text("previous_message_id").value_or("");
}

void ReadMarks(Fields& body, AnthropicReading& reading, ApiRequest& api) {
  reading.marks.ReadTopLevel(body, static_cast<std::int64_t>(api.messages.size()) - 1);
  reading.marks.Check(body);
  api.marks = reading.marks.ByMessage();
  for (const CacheMark& mark : api.marks) {
    api.request.retention = std::max(api.request.retention, mark.retention);
  }
}

// What the prompt consists of.
void ReadPrompt(Fields& body, AnthropicReading& reading, ApiRequest& api) {
  api.model = body.Text("model").value_or("");
  api.variables = Json::object();
  if (const Json* given = body.Object("chat_template_kwargs")) api.variables = *given;
  api.tools = ReadAnthropicTools(body, reading);
  ReadAnthropicToolChoice(body, api);
  api.messages = ReadAnthropicMessages(body, reading);
  ReadMarks(body, reading, api);
}

void ReadReply(Fields& body, AnthropicRequest& request) {
  ApiRequest& api = request.api;
  api.stream = body.Flag("stream").value_or(false);
  api.seed = ReadSeed(body);
  ReadSampling(body, api.request.sampling);
  ReadStops(body, "stop_sequences", api.request.stop);
  request.reply.max_tokens = body.Whole("max_tokens", 0, kMostTokens).value_or(-1);
  api.request.max_tokens = request.reply.max_tokens;
  api.request.priority = static_cast<int>(
      body.Whole("priority", std::numeric_limits<int>::min(), std::numeric_limits<int>::max())
          .value_or(0));
  api.request.cache_salt = body.Text("cache_salt").value_or("");
}

void CheckReply(Fields& body, const AnthropicRequest& request) {
  if (request.reply.max_tokens < 0) body.Refuse("max_tokens", "is missing");
  const Json& messages = request.api.messages;
  if (!messages.empty() && messages.back()["role"] == "assistant") {
    body.Refuse("messages",
                "This model does not support assistant message prefill. The conversation must end "
                "with a user message.");
  }
}

AnthropicRequest Read(Fields& body, const AnthropicOptions& options) {
  AnthropicRequest request;
  AnthropicReading reading{.drop_media = options.drop_media, .marks = {}, .left_out = {}};
  ReadPrompt(body, reading, request.api);
  ReadThinking(body, request);
  ReadOutputConfig(body, request.api);
  ReadReply(body, request);
  ReadMetadata(body, request);
  ReadDiagnostics(body, request);
  request.api.notes = std::move(reading.left_out);
  return request;
}

std::expected<AnthropicRequest, ApiError> Parse(const Json& body, const AnthropicOptions& options,
                                                bool for_reply) {
  if (auto refused = RefusedThread(body)) return std::unexpected(*std::move(refused));
  std::optional<Error> refusal;
  Fields fields(body, "", refusal);
  AnthropicRequest request = Read(fields, options);
  if (for_reply) CheckReply(fields, request);
  if (refusal) return std::unexpected(ApiErrorOf(*refusal));
  return request;
}

}  // namespace

std::expected<AnthropicRequest, ApiError> ParseMessages(const Json& body,
                                                        const AnthropicOptions& options) {
  return Parse(body, options, true);
}

std::expected<AnthropicRequest, ApiError> ParseCountTokens(const Json& body,
                                                           const AnthropicOptions& options) {
  return Parse(body, options, false);
}

Json CountTokensJson(std::int64_t prompt_tokens) { return {{"input_tokens", prompt_tokens}}; }

}  // namespace folio
