// Bodies that clients compress.
#ifndef FOLIO_HTTP_CONTENT_ENCODING_H_
#define FOLIO_HTTP_CONTENT_ENCODING_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace folio {

// Whether DecodeContent knows it: "", "identity", "gzip", "x-gzip", "deflate", "zstd"; case doesn't
// matter.
bool IsKnownEncoding(std::string_view encoding);

// `body` without its encoding: a usage error if it is not whole, has bytes behind it, or if more
// than `most` bytes would come of it, which is noticed before they are made.
Result<std::string> DecodeContent(std::string body, std::string_view encoding, std::size_t most);

}  // namespace folio

#endif  // FOLIO_HTTP_CONTENT_ENCODING_H_
