// One HTTP GET by libcurl, with redirects followed by hand so that a token goes to its own origin
// and nowhere else. http and https only; https never falls back to http.
#ifndef FOLIO_STORE_HTTP_CLIENT_H_
#define FOLIO_STORE_HTTP_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace folio {

// What a server said before the body.
struct HttpHead {
  long status = 0;
  std::string etag;
  std::string linked_etag;  // X-Linked-ETag of any hop: the hub's SHA-256 of the file
  std::optional<std::uint64_t> content_length;
  std::optional<std::uint64_t> range_start;  // of Content-Range
  std::optional<std::uint64_t> range_total;
};

struct HttpError {
  Error error;
  bool transient = false;  // trying again may help
};

struct HttpRequest {
  std::string url;
  std::uint64_t offset = 0;  // above 0: ask for the bytes from here on
  std::uint64_t length = 0;  // above 0: ask for so many bytes only
  std::string if_range;      // with `offset`: only if the file is still this one
};

// Gets the head of a 2xx or 416 answer before the first byte of its body; false ends the transfer
// there, as a success.
using HeadHandler = std::function<Result<bool>(const HttpHead&)>;
using BodyHandler = std::function<Status(std::span<const char>)>;

class HttpClient {
 public:
  struct Options {
    std::string token;               // a bearer token, or empty; never shown
    std::string token_origin;        // UrlOrigin of the only server that gets it
    std::chrono::seconds stall{30};  // a transfer without a byte for so long is given up
  };
  explicit HttpClient(Options options) : options_(std::move(options)) {}

  // Any other status than 2xx or 416 is an error that names it.
  std::expected<void, HttpError> Get(const HttpRequest& request, const HeadHandler& on_head,
                                     const BodyHandler& on_body) const;
  // The whole body as a string; longer than `most_bytes` is an error.
  std::expected<std::string, HttpError> GetText(const std::string& url,
                                                std::size_t most_bytes) const;

 private:
  Options options_;
};

}  // namespace folio

#endif  // FOLIO_STORE_HTTP_CLIENT_H_
