// Bytes that should be UTF-8 to text that is.
#ifndef FOLIO_TEXT_UTF8_REPAIR_H_
#define FOLIO_TEXT_UTF8_REPAIR_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace folio {

// Appends `bytes` to `text` with U+FFFD for each maximal part of an ill-formed sequence (the
// Unicode Standard, 3.9). Returns how many bytes were used: all of them where `at_end`; else a last
// sequence that later bytes could complete is left.
std::size_t AppendRepaired(std::string_view bytes, bool at_end, std::string& text);

}  // namespace folio

#endif  // FOLIO_TEXT_UTF8_REPAIR_H_
