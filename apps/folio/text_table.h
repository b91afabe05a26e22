// Plain text for people: columns, and numbers in groups of three digits.
#ifndef FOLIO_APPS_FOLIO_TEXT_TABLE_H_
#define FOLIO_APPS_FOLIO_TEXT_TABLE_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace folio {

// "14,745,600,000"
std::string Grouped(std::uint64_t number);
std::string Grouped(std::int64_t number);

// "12.35": so many digits behind the point.
std::string Decimal(double number, int digits);

// "0.0025", "6.7e-16": so many significant digits.
std::string Significant(double number, int digits);

// One line of at most `most` characters (code points), control characters as blanks; a longer text
// ends with "...".
std::string OneLine(std::string_view text, std::size_t most);

// `line` in lines of at most `columns` characters, broken at blanks where it can be; later ones are
// as far in as the first.
std::vector<std::string> Wrapped(std::string_view line, std::size_t columns);

// Rows of cells, each column as wide as its widest cell (in code points) and two blanks apart.
class TextTable {
 public:
  // One character a column: 'l' or 'r', the side that its cells stand on.
  explicit TextTable(std::string_view alignment) : alignment_(alignment) {}

  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::vector<std::string> Lines() const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_TEXT_TABLE_H_
