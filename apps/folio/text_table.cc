#include "folio/text_table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace folio {
namespace {

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return !ContinuesCharacter(byte); }));
}

}  // namespace

std::string Grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string Grouped(std::int64_t number) {
  if (number >= 0) return Grouped(static_cast<std::uint64_t>(number));
  return "-" + Grouped(~static_cast<std::uint64_t>(number) + 1);
}

std::string Significant(double number, int digits) {
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.*g", digits, number);
  return text.data();
}

std::string Decimal(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

std::string OneLine(std::string_view text, std::size_t most) {
  constexpr std::string_view kMore = "...";
  const bool cut = Width(text) > most;
  const std::size_t keep = cut ? most - std::min(most, kMore.size()) : most;
  std::string line;
  std::size_t characters = 0;
  for (const char byte : text) {
    if (!ContinuesCharacter(byte) && ++characters > keep) break;
    const auto value = static_cast<unsigned char>(byte);
    line += value < 0x20 || value == 0x7f ? ' ' : byte;
  }
  if (cut) line += kMore;
  return line;
}

std::vector<std::string> Wrapped(std::string_view line, std::size_t columns) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  std::vector<std::string> lines;
  std::string rest(line);
  while (Width(rest) > columns) {
    std::size_t end = 0;  // of what fits
    for (std::size_t width = 0; end < rest.size(); ++end) {
      if (!ContinuesCharacter(rest[end]) && ++width > columns) break;
    }
    const std::size_t blank = rest.rfind(' ', end);
    if (blank == std::string::npos || blank <= first) break;  // a word as long as the line
    lines.push_back(rest.substr(0, blank));
    rest = std::string(first, ' ') + rest.substr(blank + 1);
  }
  lines.push_back(std::move(rest));
  return lines;
}

std::vector<std::string> TextTable::Lines() const {
  std::vector<std::size_t> widths(alignment_.size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - Width(row[i]), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == 'r' ? blanks + row[i] : row[i] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace folio
