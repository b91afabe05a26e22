#include "api/responses_items.h"

#include <algorithm>
#include <utility>

#include "api/encrypted_content.h"

namespace folio {
namespace {

constexpr std::size_t kMostMarks = 4;

// The texts of a list of {text}, joined.
std::string JoinedTexts(Fields& item, std::string_view name) {
  std::string text;
  const Json* list = item.List(name);
  for (std::size_t i = 0; list != nullptr && i < list->size() && !item.refused(); ++i) {
    Fields part((*list)[i], ItemPath(item.PathOf(name), i), item.refusal());
    if (i > 0) text += "\n\n";
    text += part.Text("text").value_or("");
  }
  return text;
}

bool IsMedia(std::string_view type) {
  return type.starts_with("input_") || type == "image" || type == "image_url" || type == "file";
}

}  // namespace

bool IsItemReference(const Json& item) {
  if (!item.is_object() || !item.contains("id") || !item["id"].is_string()) return false;
  const auto type = item.find("type");
  const bool has_type = type != item.end() && !type->is_null();
  return has_type ? *type == "item_reference" : !item.contains("role");
}

std::optional<CacheRetention> RetentionOf(std::string_view ttl) {
  if (ttl == "30m") return CacheRetention::k1Hour;
  if (ttl == "12h") return CacheRetention::k24Hours;
  return std::nullopt;
}

void ResponsesItems::ReadMark(Fields& part) {
  const Json* given = part.Object("prompt_cache_breakpoint");
  if (given == nullptr) return;
  Fields mark(*given, part.PathOf("prompt_cache_breakpoint"), *refusal_);
  mark_ = RetentionOf(mark.Text("ttl").value_or("")).value_or(options_.retention);
}

// The message that the item went into is the last one.
void ResponsesItems::Mark() {
  if (mark_) marks_.push_back({.message = conversation_.last_index(), .retention = *mark_});
  mark_.reset();
}

std::vector<CacheMark> ResponsesItems::TakeMarks() {
  if (marks_.size() > kMostMarks) {
    marks_.erase(marks_.begin(), marks_.end() - static_cast<std::ptrdiff_t>(kMostMarks));
  }
  return std::move(marks_);
}

std::string ResponsesItems::MediaText(Fields& part, const std::string& type) {
  if (options_.drop_media && IsMedia(type)) {
    AddNote(tools_->notes(), part.PathOf("") + ": '" + type + "' replaced by a note");
    const bool image = type.find("image") != std::string::npos;
    return image ? "[image left out: only text is read here]"
                 : "[file left out: only text is read here]";
  }
  part.Refuse("type", "is '" + type + "': only text is read, no images, audio or files");
  return {};
}

std::string ResponsesItems::PartText(const Json& part, const std::string& path) {
  Fields fields(part, path, *refusal_);
  ReadMark(fields);
  const auto type = fields.Text("type").value_or("text");
  const std::string_view name = type == "refusal" ? "refusal" : "text";
  const bool is_text = type == "input_text" || type == "output_text" || type == "text" ||
                       type == "refusal" || type == "summary_text" || type == "reasoning_text";
  if (!is_text) return MediaText(fields, type);
  auto text = fields.Text(name);
  if (!text) fields.Refuse(name, "is missing");
  return std::move(text).value_or("");
}

std::string ResponsesItems::TextOf(Fields& item, std::string_view name) {
  const Json* content = item.Find(name);
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    item.RefuseKind(name, *content, "a string or a list of parts");
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < content->size() && !item.refused(); ++i) {
    text += PartText((*content)[i], ItemPath(item.PathOf(name), i));
  }
  return text;
}

void ResponsesItems::AddMessage(Fields& item) {
  const auto role = item.Text("role");
  if (!role) return item.Refuse("role", "is missing");
  std::string text = TextOf(item, "content");
  if (*role == "assistant") return conversation_.AddAssistantText(text);
  if (item.Find("content") == nullptr) item.Refuse("content", "is missing");
  if (*role == "system" || *role == "developer") {
    conversation_.AddMessage("system", std::move(text));
  } else if (*role == "user") {
    conversation_.AddMessage("user", std::move(text));
  } else {
    item.Refuse("role", "is '" + *role + "', none of user, assistant, system, developer");
  }
}

void ResponsesItems::AddCall(Fields& item, bool custom) {
  const auto name = item.Text("name");
  if (!name) return item.Refuse("name", "is missing");
  const Tool named{.name = *name, .space = item.Text("namespace").value_or("")};
  std::string arguments;
  if (custom) {
    arguments = DumpJson({{"input", item.Text("input").value_or("")}});
  } else {
    arguments = item.Text("arguments").value_or("{}");
  }
  conversation_.AddCall(item.Text("call_id").value_or(""), named.ModelName(), std::move(arguments));
}

void ResponsesItems::AddOutput(Fields& item) {
  std::string call_id = item.Text("call_id").value_or("");
  if (std::ranges::find(left_out_calls_, call_id) != left_out_calls_.end()) {
    return LeaveOut(item, "output of a call left out");
  }
  conversation_.AddOutput(std::move(call_id), TextOf(item, "output"));
}

void ResponsesItems::AddReasoning(Fields& item) {
  const auto ours = DecryptedContent(item.Text("encrypted_content").value_or(""));
  if (ours) return conversation_.AddReasoning(*ours);
  std::string text = JoinedTexts(item, "content");
  if (text.empty()) text = JoinedTexts(item, "summary");
  if (text.empty()) return LeaveOut(item, "reasoning that can't be read here");
  conversation_.AddReasoning(text);
}

void ResponsesItems::LeaveOut(Fields& item, const std::string& type) {
  AddNote(tools_->notes(), item.PathOf("") + ": '" + type + "' left out");
  if (auto call_id = item.Text("call_id")) left_out_calls_.push_back(*std::move(call_id));
}

void ResponsesItems::Add(const Json& value, const std::string& path) {
  Fields item(value, path, *refusal_);
  if (item.refused()) return;
  const bool has_role = item.Find("role") != nullptr;
  const auto type = item.Text("type").value_or(has_role ? "message" : "item_reference");
  if (type == "message") {
    AddMessage(item);
  } else if (type == "function_call" || type == "custom_tool_call") {
    AddCall(item, type == "custom_tool_call");
  } else if (type == "function_call_output" || type == "custom_tool_call_output") {
    AddOutput(item);
  } else if (type == "reasoning") {
    AddReasoning(item);
  } else if (type == "additional_tools") {
    if (const Json* list = item.List("tools")) tools_->Add(*list, path + ".tools", *refusal_);
  } else if (type == "item_reference") {
    item.Refuse("id", "names no item that is kept here");
  } else {
    LeaveOut(item, type);
  }
  Mark();
}

}  // namespace folio
