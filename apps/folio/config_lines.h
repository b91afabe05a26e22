// A text's lines, for edits that leave the others alone.
#ifndef FOLIO_APPS_FOLIO_CONFIG_LINES_H_
#define FOLIO_APPS_FOLIO_CONFIG_LINES_H_

#include <string>
#include <string_view>
#include <vector>

namespace folio {

// Without their line feeds. A text that ends in one has no empty line behind it.
std::vector<std::string> LinesOf(std::string_view text);
// With a line feed behind each.
std::string JoinLines(const std::vector<std::string>& lines);
// Blanks and a carriage return taken from both ends.
std::string_view Trimmed(std::string_view text);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CONFIG_LINES_H_
