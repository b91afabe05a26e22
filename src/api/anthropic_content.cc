#include "api/anthropic_content.h"

#include <utility>

#include "api/prefix_hygiene.h"

namespace folio {
namespace {

constexpr std::string_view kTextTypes = "text";

bool IsMedia(std::string_view type) {
  return type == "image" || type == "document" || type == "container_upload";
}

std::string Required(Fields& fields, std::string_view name) {
  auto text = fields.Text(name);
  if (!text) fields.Refuse(name, "is missing");
  return std::move(text).value_or("");
}

std::string MediaText(Fields& block, const std::string& type, AnthropicReading& reading) {
  if (!reading.drop_media) {
    block.Refuse("type", "is '" + type + "': only text is read, no images, documents or files");
    return {};
  }
  reading.LeaveOut(block, type, "only text is read");
  return "[" + type + " left out: only text is read here]";
}

std::string SearchResultText(Fields& block, std::int64_t message, AnthropicReading& reading) {
  const std::string title = Required(block, "title");
  const std::string source = Required(block, "source");
  return title + "\n" + source + "\n" + ContentText(block, "content", message, reading) + "\n";
}

template <typename ReadBlock>
std::string JoinBlocks(Fields& fields, std::string_view name, ReadBlock&& read) {
  const Json* content = fields.Find(name);
  if (content == nullptr) return {};
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    fields.RefuseKind(name, *content, "a string or a list of blocks");
    return {};
  }
  std::string text;
  for (std::size_t i = 0; i < content->size() && !fields.refused(); ++i) {
    Fields block((*content)[i], ItemPath(fields.PathOf(name), i), fields.refusal());
    text += read(block, Required(block, "type"));
  }
  return text;
}

}  // namespace

void AnthropicReading::LeaveOut(const Fields& block, std::string_view type, std::string_view why) {
  AddNote(left_out,
          block.PathOf("") + ": '" + std::string(type) + "' left out: " + std::string(why));
}

std::string BlockText(Fields& block, std::string_view type, std::int64_t message,
                      std::string_view allowed, AnthropicReading& reading) {
  reading.marks.Read(block, message);
  if (type == "text") return Required(block, "text");
  if (type == "compaction") return ContentText(block, "content", message, reading);
  if (type == "search_result") return SearchResultText(block, message, reading);
  if (type == "tool_reference") return "Tool " + Required(block, "tool_name") + " is available.\n";
  if (IsMedia(type)) return MediaText(block, std::string(type), reading);
  block.Refuse("type", "is '" + std::string(type) + "', none of " + std::string(allowed));
  return {};
}

std::string ContentText(Fields& fields, std::string_view name, std::int64_t message,
                        AnthropicReading& reading) {
  return JoinBlocks(fields, name, [&](Fields& block, const std::string& type) {
    return BlockText(block, type, message, "text, search_result, tool_reference", reading);
  });
}

std::string SystemText(Fields& body, AnthropicReading& reading) {
  return JoinBlocks(body, "system", [&](Fields& block, const std::string& type) {
    if (type != kTextTypes) block.Refuse("type", "is '" + type + "', not text");
    std::string text = BlockText(block, type, 0, kTextTypes, reading);
    if (StartsWithClientHeader(text) && text.back() != '\n') text += '\n';
    return text;
  });
}

}  // namespace folio
