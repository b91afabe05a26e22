// A value of a model's metadata, and how it is shown in an error.
#ifndef FOLIO_FORMATS_METADATA_VALUE_H_
#define FOLIO_FORMATS_METADATA_VALUE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace folio {

// Arrays are homogeneous; integers of any width become int64 or uint64, floats double. Strings and
// string arrays are views into what the model file keeps.
using MetadataValue =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view,
                 std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<bool>, std::vector<std::string_view>>;

using Metadata = std::map<std::string, MetadataValue, std::less<>>;

// Text of a file in quotes for an error: cut to some 40 bytes, at a character; escaped if it is not
// UTF-8.
std::string QuotedExcerpt(std::string_view text);

// The value with its type, short enough for an error: `the string "abc"`, `an array of 3 strings`.
std::string DescribeMetadataValue(const MetadataValue& value);

}  // namespace folio

#endif  // FOLIO_FORMATS_METADATA_VALUE_H_
