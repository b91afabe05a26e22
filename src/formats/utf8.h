// UTF-8 as the Unicode Standard defines it (table 3-7): no overlong forms, no surrogates, nothing
// above U+10FFFF.
#ifndef FOLIO_FORMATS_UTF8_H_
#define FOLIO_FORMATS_UTF8_H_

#include <cstddef>
#include <string_view>

namespace folio {

// Length in bytes of the longest well-formed prefix; text.size() when all of it is.
std::size_t ValidUtf8Prefix(std::string_view text);

inline bool IsValidUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

}  // namespace folio

#endif  // FOLIO_FORMATS_UTF8_H_
