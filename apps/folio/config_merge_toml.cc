#include <algorithm>
#include <cstddef>
#include <optional>

#include "folio/config_lines.h"
#include "folio/config_merge.h"

namespace folio {
namespace {

// A table's header or a pair: where it stands, and its name without blanks and quotes.
struct Statement {
  bool is_header = false;
  std::string name;
  std::size_t first_line = 0;
  std::size_t last_line = 0;
};

// Walks over values that may go on over lines: strings of all four kinds, arrays, inline tables.
class ValueScanner {
 public:
  // Reads a line of a value, or of a value's rest.
  void Read(std::string_view line) {
    for (std::size_t i = 0; i < line.size();) {
      if (!quote_.empty()) {
        i += InString(line.substr(i));
      } else if (line[i] == '#') {
        return;
      } else if (line[i] == '"' || line[i] == '\'') {
        const std::string three(3, line[i]);
        quote_ = line.substr(i).starts_with(three) ? three : three.substr(0, 1);
        i += quote_.size();
      } else {
        if (line[i] == '[' || line[i] == '{') ++depth_;
        if (line[i] == ']' || line[i] == '}') --depth_;
        ++i;
      }
    }
    if (quote_.size() == 1) is_broken_ = true;  // its kind ends on its line
  }
  bool IsOpen() const { return !quote_.empty() || depth_ > 0; }
  bool IsBroken() const { return is_broken_ || depth_ < 0; }

 private:
  // How many characters of the string's rest to skip.
  std::size_t InString(std::string_view rest) {
    if (quote_[0] == '"' && rest[0] == '\\') return std::min<std::size_t>(2, rest.size());
    if (!rest.starts_with(quote_)) return 1;
    const std::size_t size = quote_.size();
    // Up to two quotes may stand before the three that end a string.
    if (size == 3 && rest.size() > 3 && rest[3] == quote_[0]) return 1;
    quote_.clear();
    return size;
  }
  std::string quote_;  // that ends the string that is open
  int depth_ = 0;
  bool is_broken_ = false;
};

std::string PlainName(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != ' ' && c != '\t' && c != '"' && c != '\'') out += c;
  }
  return out;
}

std::optional<Statement> HeaderOf(std::string_view line) {
  const std::size_t end = line.find(']');
  if (!line.starts_with('[') || end == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(1, end - 1);
  if (name.starts_with('[')) name.remove_prefix(1);
  return Statement{.is_header = true, .name = PlainName(name)};
}

// Nothing where the text isn't understood: such a file is left alone.
std::optional<std::vector<Statement>> StatementsOf(const std::vector<std::string>& lines) {
  std::vector<Statement> statements;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = Trimmed(lines[i]);
    if (line.empty() || line.starts_with('#')) continue;
    std::optional<Statement> statement = HeaderOf(line);
    std::size_t last = i;
    if (!statement) {
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) return std::nullopt;
      statement = Statement{.name = PlainName(line.substr(0, equals))};
      ValueScanner value;
      value.Read(line.substr(equals + 1));
      while (value.IsOpen() && !value.IsBroken() && last + 1 < lines.size()) {
        value.Read(lines[++last]);
      }
      if (value.IsOpen() || value.IsBroken()) return std::nullopt;
    }
    statement->first_line = i;
    statement->last_line = last;
    statements.push_back(*std::move(statement));
    i = last;
  }
  return statements;
}

std::string PairText(const ConfigPair& pair) { return pair.first + " = " + pair.second; }

class TomlEditor {
 public:
  explicit TomlEditor(std::string_view text) : lines_(LinesOf(text)) {}

  bool Understands() { return Read(); }
  const std::vector<Statement>& statements() const { return statements_; }
  std::string Text() const { return JoinLines(lines_); }

  void SetRoot(const ConfigPair& pair) {
    std::size_t end = 0;  // of the statements in front of the first table
    for (const Statement& statement : statements_) {
      if (statement.is_header) break;
      if (statement.name == pair.first) {
        return Replace(statement.first_line, statement.last_line + 1, {PairText(pair)});
      }
      end = statement.last_line + 1;
    }
    Replace(end, end, {PairText(pair)});
  }

  void SetTable(const std::string& name, const std::vector<ConfigPair>& pairs) {
    std::vector<std::string> text = {"[" + name + "]"};
    for (const ConfigPair& pair : pairs) text.push_back(PairText(pair));
    const auto header = std::ranges::find_if(statements_, [&name](const Statement& statement) {
      return statement.is_header && statement.name == name;
    });
    if (header == statements_.end()) {
      if (!lines_.empty() && !Trimmed(lines_.back()).empty()) text.insert(text.begin(), "");
      return Replace(lines_.size(), lines_.size(), text);
    }
    auto last = header;
    while (last + 1 != statements_.end() && !(last + 1)->is_header) ++last;
    Replace(header->first_line, last->last_line + 1, text);
  }

 private:
  bool Read() {
    auto statements = StatementsOf(lines_);
    if (!statements) return false;
    statements_ = *std::move(statements);
    return true;
  }
  void Replace(std::size_t first, std::size_t end, const std::vector<std::string>& text) {
    const auto at = lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(first),
                                 lines_.begin() + static_cast<std::ptrdiff_t>(end));
    lines_.insert(at, text.begin(), text.end());
    Read();
  }
  std::vector<std::string> lines_;
  std::vector<Statement> statements_;
};

bool IsWithin(const std::string& name, const std::string& table) {
  return name == table || name.starts_with(table + ".");
}

// Whether the table, or one around it, is given by a pair and not by a header of its own.
bool IsInlined(const std::vector<Statement>& statements, const std::string& table) {
  std::string header;
  return std::ranges::any_of(statements, [&](const Statement& statement) {
    if (statement.is_header) header = statement.name;
    if (statement.is_header || IsWithin(header, table)) return false;
    const std::string name = header.empty() ? statement.name : header + "." + statement.name;
    return IsWithin(name, table) || IsWithin(table, name);
  });
}

}  // namespace

Result<std::string> MergeTomlConfig(std::string_view old, const TomlSettings& settings) {
  TomlEditor editor(old);
  if (!editor.Understands()) return InputError("", "", "is not TOML that can be changed safely");
  if (IsInlined(editor.statements(), settings.table)) {
    return InputError("", settings.table, "is written inline, not as a table of its own");
  }
  for (const ConfigPair& pair : settings.root) editor.SetRoot(pair);
  editor.SetTable(settings.table, settings.table_pairs);
  return editor.Text();
}

}  // namespace folio
