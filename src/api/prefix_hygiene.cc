#include "api/prefix_hygiene.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>
#include <utility>

#include "api/schema_order.h"

namespace folio {
namespace {

constexpr std::string_view kHeader = "x-anthropic-billing-header";
constexpr std::size_t kMostLeading = 8;  // system messages that are looked into

bool IsNameByte(unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; }

// How long " NAME=VALUE;" is at the start of `text`; 0 if there is none. The last one of a line
// may lack its semicolon.
std::size_t PairLength(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  const std::size_t name = at;
  while (at < text.size() && IsNameByte(static_cast<unsigned char>(text[at]))) ++at;
  if (at == name || at == text.size() || text[at] != '=') return 0;
  at = std::min(text.find_first_of("; \n", at), text.size());
  if (at < text.size() && text[at] == ' ') return 0;
  return at < text.size() && text[at] == ';' ? at + 1 : at;
}

// With its line break. Text that a client glued to its pairs stays.
std::size_t HeaderLength(std::string_view text) {
  const std::size_t pairs = kHeader.size() + (text.substr(kHeader.size()).starts_with(':') ? 1 : 0);
  std::size_t end = pairs;
  while (const std::size_t pair = PairLength(text.substr(end))) end += pair;
  const std::size_t rest = std::min(text.find_first_not_of(" \r", end), text.size());
  if (end > pairs && rest < text.size() && text[rest] != '\n') return end;
  return std::min(text.find('\n', end), text.size() - 1) + 1;
}

void RemoveMessage(ApiRequest& request, std::size_t index) {
  request.messages.erase(index);
  for (CacheMark& mark : request.marks) {
    if (mark.message >= static_cast<std::int64_t>(index)) --mark.message;
  }
}

bool DropClientHeaders(ApiRequest& request) {
  bool dropped = false;
  std::size_t i = 0;
  for (std::size_t n = 0; n < kMostLeading && i < request.messages.size(); ++n) {
    Json& message = request.messages[i];
    if (message["role"] != "system") break;
    std::string text = message["content"].get<std::string>();
    if (!StartsWithClientHeader(text)) {
      ++i;
      continue;
    }
    dropped = true;
    text.erase(0, HeaderLength(text));
    if (text.empty() && request.messages.size() > 1) {
      RemoveMessage(request, i);
    } else {
      message["content"] = std::move(text);
      ++i;
    }
  }
  return dropped;
}

bool SortTools(std::vector<Tool>& tools) {
  if (std::ranges::is_sorted(tools, {}, &Tool::ModelName)) return false;
  std::ranges::sort(tools, {}, &Tool::ModelName);
  return true;
}

bool OrderSchemas(std::vector<Tool>& tools) {
  bool changed = false;
  for (Tool& tool : tools) {
    Json ordered = OrderedSchema(tool.parameters);
    if (ordered == tool.parameters) continue;
    tool.parameters = std::move(ordered);
    changed = true;
  }
  return changed;
}

struct Kind {
  std::string_view name;
  bool PrefixHygiene::* flag;
};
constexpr std::array<Kind, 4> kKinds = {{
    {.name = "client-headers", .flag = &PrefixHygiene::drop_client_headers},
    {.name = "tool-order", .flag = &PrefixHygiene::sort_tools},
    {.name = "schema-order", .flag = &PrefixHygiene::order_schemas},
    {.name = "session-tools", .flag = &PrefixHygiene::keep_session_tools},
}};

constexpr PrefixHygiene kNoHygiene{
    .drop_client_headers = false, .sort_tools = false, .order_schemas = false};

bool TurnOn(std::string_view word, PrefixHygiene& hygiene) {
  for (const auto& [name, flag] : kKinds) {
    const bool by_default = word == "default" && PrefixHygiene{}.*flag;
    if (by_default || word == name) hygiene.*flag = true;
  }
  return word == "default" || std::ranges::find(kKinds, word, &Kind::name) != kKinds.end();
}

}  // namespace

Result<PrefixHygiene> ParseHygiene(std::string_view kinds) {
  PrefixHygiene hygiene = kNoHygiene;
  if (kinds == "none") return hygiene;
  for (const auto part : std::views::split(kinds, ',')) {
    const std::string_view word(part);
    if (TurnOn(word, hygiene)) continue;
    return UsageError("hygiene", "",
                      "'" + std::string(word) +
                          "' is none of client-headers, tool-order, schema-order, "
                          "session-tools, default, and none alone");
  }
  return hygiene;
}

bool StartsWithClientHeader(std::string_view text) { return text.starts_with(kHeader); }

std::vector<std::string> TidyPrefix(ApiRequest& request, const PrefixHygiene& hygiene) {
  std::vector<std::string> done;
  if (hygiene.drop_client_headers && DropClientHeaders(request)) {
    done.emplace_back("client's billing header left out");
  }
  if (hygiene.sort_tools && SortTools(request.tools)) done.emplace_back("tools sorted by name");
  if (hygiene.order_schemas && OrderSchemas(request.tools)) {
    done.emplace_back("members of tools' schemas put in order");
  }
  return done;
}

}  // namespace folio
