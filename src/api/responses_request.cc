#include "api/responses_request.h"

#include <algorithm>
#include <utility>

#include "api/openai_sampling.h"
#include "api/responses_items.h"
#include "api/responses_tools.h"

namespace folio {
namespace {

void ReadFormat(Fields& text, ReplyFormat& format) {
  const Json* given = text.Object("format");
  if (given == nullptr) return;
  Fields inner(*given, text.PathOf("format"), text.refusal());
  const std::string type = inner.Text("type").value_or("text");
  if (type == "json_object") {
    format.kind = ReplyFormat::Kind::kJsonObject;
  } else if (type == "json_schema") {
    format.kind = ReplyFormat::Kind::kJsonSchema;
    format.name = inner.Text("name").value_or("");
    format.strict = inner.Flag("strict").value_or(false);
    const Json* schema = inner.Object("schema");
    if (schema == nullptr) return inner.Refuse("schema", "is missing");
    format.schema = *schema;
  } else if (type != "text") {
    inner.Refuse("type", "is '" + type + "', none of text, json_object, json_schema");
  }
}

void ReadText(Fields& fields, ApiRequest& api) {
  const Json* text = fields.Object("text");
  if (text == nullptr) return;
  Fields inner(*text, "text", fields.refusal());
  inner.Text("verbosity");
  ReadFormat(inner, api.format);
}

// Templates know one or the other of these variables, or none.
void ReadReasoning(Fields& fields, ResponsesRequest& request) {
  const Json* reasoning = fields.Object("reasoning");
  if (reasoning == nullptr) return;
  Fields inner(*reasoning, "reasoning", fields.refusal());
  const auto summary = inner.Text("summary");
  request.summary = summary && *summary != "none";
  const auto effort = inner.Text("effort");
  if (!effort) return;
  Json& variables = request.api.variables;
  if (*effort == "none") {
    if (!variables.contains("enable_thinking")) variables["enable_thinking"] = false;
  } else if (!variables.contains("reasoning_effort")) {
    variables["reasoning_effort"] = *effort;
  }
}

void ReadLogprobs(Fields& fields, SamplingParams& sampling) {
  const auto top = fields.Whole("top_logprobs", 0, kMostTopLogprobs);
  bool wanted = top.value_or(0) > 0;
  const Json* include = fields.List("include");
  for (std::size_t i = 0; include != nullptr && i < include->size(); ++i) {
    const Json& name = (*include)[i];
    if (!name.is_string()) return fields.RefuseKind(ItemPath("include", i), name, "a string");
    wanted |= name == "message.output_text.logprobs";
  }
  if (wanted) sampling.logprobs = static_cast<int>(top.value_or(0));
}

// Values that are not known are hints that aren't understood: they pass. Returns the marks' own.
CacheRetention ReadCacheOptions(Fields& fields, ResponsesRequest& request) {
  CacheRetention retention = CacheRetention::k1Hour;  // of OpenAI's 30 minutes
  const Json* options = fields.Object("prompt_cache_options");
  if (options == nullptr) return retention;
  Fields inner(*options, "prompt_cache_options", fields.refusal());
  const auto ttl = RetentionOf(inner.Text("ttl").value_or(""));
  const bool is_implicit = inner.Text("mode").value_or("implicit") != "explicit";
  if (ttl && is_implicit) request.api.request.retention = *ttl;
  request.comparison_response_id = inner.Text("comparison_response_id").value_or("");
  return ttl.value_or(retention);
}

// The item that one refers to, or null: it stands for itself.
const Json* Referred(const Json& item, const Json& referred) {
  if (!referred.is_object() || !IsItemReference(item)) return nullptr;
  const auto found = referred.find(item["id"].get<std::string>());
  return found == referred.end() ? nullptr : &*found;
}

void ReadItems(Fields& fields, const ResponsesOptions& options, ResponsesItems& items,
               Json& own_items) {
  for (std::size_t i = 0; i < options.earlier.size() && !fields.refused(); ++i) {
    items.Add(options.earlier[i], ItemPath("previous_response_id.items", i));
  }
  const Json* input = fields.Find("input");
  own_items = Json::array();
  if (input == nullptr) {
    if (options.earlier.empty()) fields.Refuse("input", "is missing");
  } else if (input->is_string()) {
    own_items.push_back({{"type", "message"}, {"role", "user"}, {"content", *input}});
    items.Add(own_items.back(), "input");
  } else if (input->is_array()) {
    for (std::size_t i = 0; i < input->size() && !fields.refused(); ++i) {
      const Json& item = (*input)[i];
      const Json* referred = Referred(item, options.referred);
      own_items.push_back(referred != nullptr ? *referred : item);
      items.Add(own_items.back(), ItemPath("input", i));
    }
  } else {
    fields.RefuseKind("input", *input, "a string or a list of items");
  }
}

void RefuseUnsupported(Fields& fields) {
  if (fields.Flag("background").value_or(false)) {
    fields.Refuse("background", "is not supported: replies are made while the client waits");
  }
  if (fields.Find("conversation") != nullptr) {
    fields.Refuse("conversation", "is not supported: use previous_response_id, or send all items");
  }
  if (fields.Find("prompt") != nullptr) {
    fields.Refuse("prompt", "is not supported: no prompts are kept here; use input");
  }
}

Json MemberOr(const Fields& fields, std::string_view name, const Json& otherwise) {
  const Json* found = fields.Find(name);
  return found == nullptr ? otherwise : *found;
}

Json EchoedText(Fields& fields) {
  Json text = MemberOr(fields, "text", Json::object());
  if (!text.contains("format")) text["format"] = {{"type", "text"}};
  return text;
}

Json EchoedReasoning(Fields& fields) {
  Json reasoning = {{"effort", nullptr}, {"summary", nullptr}};
  const Json given = MemberOr(fields, "reasoning", Json::object());
  for (const auto& [name, value] : given.items()) reasoning[name] = value;
  return reasoning;
}

// After all fields were found right.
Json EchoOf(Fields& fields, const ResponsesRequest& request) {
  const SamplingParams& sampling = request.api.request.sampling;
  Json echo = {{"instructions", MemberOr(fields, "instructions", nullptr)},
               {"max_output_tokens", MemberOr(fields, "max_output_tokens", nullptr)},
               {"metadata", MemberOr(fields, "metadata", Json::object())},
               {"parallel_tool_calls", request.api.parallel_tool_calls},
               {"previous_response_id", MemberOr(fields, "previous_response_id", nullptr)},
               {"prompt_cache_key", MemberOr(fields, "prompt_cache_key", nullptr)},
               {"prompt_cache_retention", MemberOr(fields, "prompt_cache_retention", nullptr)},
               {"reasoning", EchoedReasoning(fields)},
               {"safety_identifier", MemberOr(fields, "safety_identifier", nullptr)},
               {"service_tier", "default"},
               {"store", request.store},
               {"temperature", MemberOr(fields, "temperature", 1.0)},
               {"text", EchoedText(fields)},
               {"tool_choice", MemberOr(fields, "tool_choice", "auto")},
               {"tools", MemberOr(fields, "tools", Json::array())},
               {"top_logprobs", sampling.logprobs.value_or(0)},
               {"top_p", MemberOr(fields, "top_p", 1.0)},
               {"truncation", "disabled"},
               {"user", MemberOr(fields, "user", nullptr)}};
  if (const Json* options = fields.Find("prompt_cache_options")) {
    echo["prompt_cache_options"] = *options;
  }
  return echo;
}

// What is only told again, or has no effect, must still be of its type.
void CheckEchoed(Fields& fields) {
  fields.Object("metadata");
  fields.Text("safety_identifier");
  fields.Text("service_tier");
  fields.Text("truncation");
}

void ReadPlain(Fields& fields, ResponsesRequest& request) {
  ApiRequest& api = request.api;
  api.variables = MemberOr(fields, "chat_template_kwargs", Json::object());
  if (!api.variables.is_object()) fields.Object("chat_template_kwargs");
  ReadCommonFields(fields, api);
  api.request.choices = 1;
  api.request.max_tokens = fields.Whole("max_output_tokens", 1, kMostTokens).value_or(-1);
  api.parallel_tool_calls = fields.Flag("parallel_tool_calls").value_or(true);
  request.store = fields.Flag("store").value_or(true);
  request.previous_response_id = fields.Text("previous_response_id").value_or("");
  ReadLogprobs(fields, api.request.sampling);
  ReadText(fields, api);
}

}  // namespace

Result<ResponsesRequest> ParseResponses(const Json& body, const ResponsesOptions& options) {
  ResponsesRequest request;
  std::optional<Error> refusal;
  Fields fields(body, "", refusal);
  ReadPlain(fields, request);
  if (!refusal) ReadReasoning(fields, request);
  ResponsesTools tools;
  if (const Json* list = fields.List("tools")) tools.Add(*list, "tools", refusal);
  ResponsesItems items(
      {.drop_media = options.drop_media, .retention = ReadCacheOptions(fields, request)}, tools,
      refusal);
  if (auto text = fields.Text("instructions"); text && !text->empty()) {
    items.AddInstructions(*std::move(text));
  }
  ReadItems(fields, options, items, request.items);
  request.api.tool_choice = tools.ReadChoice(fields);
  RefuseUnsupported(fields);
  CheckEchoed(fields);
  request.api.messages = items.TakeMessages();
  if (request.api.messages.empty()) fields.Refuse("input", "has no message in it");
  if (refusal) return std::unexpected(*refusal);
  request.api.marks = items.TakeMarks();
  request.api.tools = std::move(tools.tools());
  request.api.notes = std::move(tools.notes());
  request.echo = EchoOf(fields, request);
  return request;
}

Json ResponsesInputTokensJson(std::int64_t tokens) {
  return {{"object", "response.input_tokens"}, {"input_tokens", tokens}};
}

}  // namespace folio
