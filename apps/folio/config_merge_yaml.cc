#include <algorithm>
#include <cctype>
#include <cstddef>

#include "folio/config_lines.h"
#include "folio/config_merge.h"

namespace folio {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::size_t IndentOf(std::string_view line) { return line.find_first_not_of(' '); }

bool IsBlankOrComment(std::string_view line) {
  const std::string_view text = Trimmed(line);
  return text.empty() || text.starts_with('#');
}

// Whether the top level is a mapping with one key a line, as hands write it: then a line that
// starts with a key is one, whatever stands below it.
bool IsPlainMapping(const std::vector<std::string>& lines) {
  bool has_key = false;
  return std::ranges::all_of(lines, [&has_key](const std::string& line) {
    if (IsBlankOrComment(line) || line.starts_with(' '))
      return line.find('\t') == std::string::npos;
    if (line.starts_with("- ") || Trimmed(line) == "-") return has_key;
    if (Trimmed(line) == "---") return !has_key;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) return false;
    has_key = true;
    const bool is_name = std::ranges::all_of(line.substr(0, colon), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    });
    return is_name && colon > 0 &&
           (colon + 1 == line.size() || line[colon + 1] == ' ' || line[colon + 1] == '\r');
  });
}

std::size_t FindKey(const std::vector<std::string>& lines, std::string_view key) {
  const std::string start = std::string(key) + ":";
  const auto found = std::ranges::find_if(
      lines, [&start](const std::string& line) { return line.starts_with(start); });
  return found == lines.end() ? kNone : static_cast<std::size_t>(found - lines.begin());
}

std::string_view ValueOf(std::string_view line) { return Trimmed(line.substr(line.find(':') + 1)); }

// Whether the key's value is all on its line.
bool HasPlainValue(const std::vector<std::string>& lines, std::size_t at) {
  const std::string_view value = ValueOf(lines[at]);
  if (!value.empty() && std::string_view("|>&*![{").contains(value[0])) return false;
  std::size_t next = at + 1;
  while (next < lines.size() && IsBlankOrComment(lines[next])) ++next;
  return next == lines.size() || (!lines[next].starts_with(' ') && !lines[next].starts_with('-'));
}

Error NotPlain() {
  return InputError("", "", "is not YAML of the plain kind that can be changed safely").error();
}

std::vector<std::string> ItemLines(const std::vector<std::string>& item, std::size_t indent) {
  std::vector<std::string> lines;
  for (const std::string& line : item) {
    lines.push_back(std::string(indent, ' ') + (lines.empty() ? "- " : "  ") + line);
  }
  return lines;
}

// The line behind what belongs to the key at `at`: its list may stand as far left as itself.
std::size_t EndOfKey(const std::vector<std::string>& lines, std::size_t at) {
  std::size_t end = at + 1;
  while (end < lines.size() && (IsBlankOrComment(lines[end]) || lines[end].starts_with(' ') ||
                                lines[end].starts_with('-'))) {
    ++end;
  }
  return end;
}

// Takes out the item that has this first line from the list under the key at `at`.
void RemoveItem(const std::string& first_line, std::size_t at, std::size_t indent,
                std::vector<std::string>& lines) {
  const std::size_t end = EndOfKey(lines, at);
  std::size_t first = at + 1;
  while (first < end && lines[first] != first_line) ++first;
  if (first == end) return;
  std::size_t last = first;  // of its lines: blank ones belong to it where more of it follow
  for (std::size_t i = first + 1; i < end; ++i) {
    if (Trimmed(lines[i]).empty()) continue;
    if (IndentOf(lines[i]) <= indent) break;
    last = i;
  }
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(first),
              lines.begin() + static_cast<std::ptrdiff_t>(last) + 1);
}

}  // namespace

Result<std::string> MergeYamlPairs(std::string_view old, const std::vector<ConfigPair>& pairs) {
  std::vector<std::string> lines = LinesOf(old);
  if (!IsPlainMapping(lines)) return std::unexpected(NotPlain());
  for (const auto& [key, value] : pairs) {
    std::string line = key;
    line.append(": ").append(value);
    const std::size_t at = FindKey(lines, key);
    if (at == kNone) {
      lines.push_back(line);
    } else if (HasPlainValue(lines, at)) {
      lines[at] = line;
    } else {
      return InputError("", key, "has a value of several lines");
    }
  }
  return JoinLines(lines);
}

Result<std::string> MergeYamlItem(std::string_view old, std::string_view key,
                                  const std::vector<std::string>& item) {
  std::vector<std::string> lines = LinesOf(old);
  if (!IsPlainMapping(lines)) return std::unexpected(NotPlain());
  std::size_t at = FindKey(lines, key);
  if (at == kNone) {
    lines.push_back(std::string(key) + ":");
    at = lines.size() - 1;
  }
  const std::string_view value = ValueOf(lines[at]);
  if (value == "[]") lines[at] = std::string(key) + ":";
  if (!value.empty() && value != "[]" && !value.starts_with('#')) {
    return InputError("", std::string(key), "is no list with an item a line");
  }
  std::size_t next = at + 1;
  while (next < lines.size() && IsBlankOrComment(lines[next])) ++next;
  std::size_t indent = 2;
  if (next < lines.size() && Trimmed(lines[next]).starts_with('-')) {
    indent = IndentOf(lines[next]);
  } else if (next < lines.size() && lines[next].starts_with(' ')) {
    return InputError("", std::string(key), "is no list");
  }
  const std::vector<std::string> text = ItemLines(item, indent);
  RemoveItem(text.front(), at, indent, lines);
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at) + 1, text.begin(), text.end());
  return JoinLines(lines);
}

}  // namespace folio
