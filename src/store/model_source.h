// Where a model is fetched from: "hf:ORG/REPO[:QUANT]" (the Hugging Face hub or a server with its
// API) or a URL.
#ifndef FOLIO_STORE_MODEL_SOURCE_H_
#define FOLIO_STORE_MODEL_SOURCE_H_

#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"

namespace folio {

struct HubSource {
  std::string repo;   // "org/repo"
  std::string quant;  // "Q4_K_M", a file's name, or empty
};
struct UrlSource {
  std::string url;
  std::string file_name;  // the URL's last component, decoded and checked
};
using ModelSource = std::variant<HubSource, UrlSource>;

Result<ModelSource> ParseModelSource(std::string_view source);

// A URL as it may be shown: without user, password, query and fragment, which can carry secrets.
std::string ShownUrl(std::string_view url);
// "scheme://host:port" in lower case, the unit that a token is given to; empty if there is none.
std::string UrlOrigin(std::string_view url);
// Percent-encodes a path for a URL; slashes stay.
std::string EncodePath(std::string_view path);

}  // namespace folio

#endif  // FOLIO_STORE_MODEL_SOURCE_H_
