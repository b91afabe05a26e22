#include "store/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "store/model_source.h"

namespace folio {
namespace {

constexpr int kMostHops = 8;
constexpr long kConnectSeconds = 30;

std::unexpected<HttpError> Fail(const std::string& url, std::string where, std::string why,
                                bool transient) {
  return std::unexpected(
      HttpError{RuntimeError(ShownUrl(url), std::move(where), std::move(why)).error(), transient});
}

std::optional<std::uint64_t> ParseUint(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// One request and its answer, as libcurl's callbacks see it.
struct Transfer {
  CURL* curl = nullptr;
  const HeadHandler* on_head = nullptr;
  const BodyHandler* on_body = nullptr;
  HttpHead head;
  bool head_given = false;
  bool ended_early = false;  // on_head wanted no body
  std::optional<Error> failure;
};

bool WantsBody(long status) { return (status >= 200 && status < 300) || status == 416; }

bool GiveHead(Transfer& transfer) {
  if (transfer.head_given) return true;
  transfer.head_given = true;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &transfer.head.status);
  if (!WantsBody(transfer.head.status)) return true;
  const Result<bool> wanted = (*transfer.on_head)(transfer.head);
  if (!wanted) transfer.failure = wanted.error();
  transfer.ended_early = wanted.has_value() && !*wanted;
  return wanted.value_or(false);
}

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  if (!GiveHead(transfer)) return 0;
  if (!WantsBody(transfer.head.status)) return bytes;  // an error page or a redirect's text
  const Status taken = (*transfer.on_body)({data, bytes});
  if (taken) return bytes;
  transfer.failure = taken.error();
  return 0;
}

void ReadContentRange(std::string_view value, HttpHead& head) {
  if (!value.starts_with("bytes ")) return;
  value.remove_prefix(6);
  if (!value.starts_with("*")) head.range_start = ParseUint(value);
  if (const std::size_t slash = value.find('/'); slash != std::string_view::npos) {
    head.range_total = ParseUint(value.substr(slash + 1));
  }
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
  auto& head = static_cast<Transfer*>(user)->head;
  const std::string_view line(data, size * count);
  const std::size_t colon = line.find(':');
  if (line.starts_with("HTTP/")) {  // also after a 1xx answer: start again
    HttpHead fresh;
    fresh.linked_etag = head.linked_etag;
    head = fresh;
  } else if (colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string_view value = Trim(line.substr(colon + 1));
    if (name == "etag") head.etag = value;
    if (name == "x-linked-etag") head.linked_etag = value;
    if (name == "content-length") head.content_length = ParseUint(value);
    if (name == "content-range") ReadContentRange(value, head);
  }
  return size * count;
}

bool IsTransient(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return true;
    default:
      return false;
  }
}

std::string StatusMeaning(long status) {
  std::string code = "the server answered " + std::to_string(status);
  if (status == 401 || status == 403) {
    return code + " (no access; a private or gated model needs a token in HF_TOKEN)";
  }
  if (status == 404) return code + " (no such model or file)";
  if (status == 429) return code + " (too many requests; try later)";
  if (status >= 500) return code + " (its own failure; try later)";
  return code;
}

struct CurlDeleter {
  void operator()(CURL* curl) const { curl_easy_cleanup(curl); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

using CurlPtr = std::unique_ptr<CURL, CurlDeleter>;
using ListPtr = std::unique_ptr<curl_slist, CurlDeleter>;

CurlPtr NewCurl() {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  return CurlPtr(initialised == CURLE_OK ? curl_easy_init() : nullptr);
}

void AddHeader(ListPtr& list, const std::string& header) {
  curl_slist* const longer = curl_slist_append(list.get(), header.c_str());
  // A list that was there keeps its head, which `list` has already.
  if (list == nullptr) list.reset(longer);
}

// Performs one hop. Gives the URL of a redirect, or an empty string at the end.
std::expected<std::string, HttpError> OneHop(const HttpClient::Options& options,
                                             const HttpRequest& request, const std::string& url,
                                             Transfer& transfer) {
  const CurlPtr curl = NewCurl();
  if (curl == nullptr) return Fail(url, "download", "libcurl cannot start", false);
  transfer.curl = curl.get();
  ListPtr headers;
  if (!options.token.empty() && UrlOrigin(url) == options.token_origin) {
    AddHeader(headers, "Authorization: Bearer " + options.token);
  }
  if (request.offset > 0 || request.length > 0) {
    const std::string last =
        request.length == 0 ? "" : std::to_string(request.offset + request.length - 1);
    AddHeader(headers, "Range: bytes=" + std::to_string(request.offset) + "-" + last);
    if (!request.if_range.empty()) AddHeader(headers, "If-Range: " + request.if_range);
  }
  std::array<char, CURL_ERROR_SIZE> message{};
  CURL* const c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(c, CURLOPT_USERAGENT, "folio");
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall.count()));
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, message.data());
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &OnBody);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, &OnHeader);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &transfer);

  const CURLcode code = curl_easy_perform(c);
  if (transfer.failure) return std::unexpected(HttpError{*transfer.failure, false});
  if (transfer.ended_early) return std::string();
  if (code != CURLE_OK) {
    const std::string why = message[0] != '\0' ? message.data() : curl_easy_strerror(code);
    return Fail(url, "download", why, IsTransient(code));
  }
  GiveHead(transfer);  // an empty body gave no occasion
  if (transfer.failure) return std::unexpected(HttpError{*transfer.failure, false});
  const long status = transfer.head.status;
  if (WantsBody(status)) return std::string();
  char* location = nullptr;
  curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &location);
  if (status >= 300 && status < 400 && location != nullptr) return std::string(location);
  return Fail(url, "download", StatusMeaning(status),
              status == 408 || status == 429 || status >= 500);
}

}  // namespace

std::expected<void, HttpError> HttpClient::Get(const HttpRequest& request,
                                               const HeadHandler& on_head,
                                               const BodyHandler& on_body) const {
  std::string url = request.url;
  std::string linked_etag;
  for (int hop = 0; hop <= kMostHops; ++hop) {
    Transfer transfer{.on_head = &on_head, .on_body = &on_body, .head = {}, .failure = {}};
    transfer.head.linked_etag = linked_etag;
    const auto next = OneHop(options_, request, url, transfer);
    if (!next) return std::unexpected(next.error());
    if (next->empty()) return {};
    const std::string origin = UrlOrigin(*next);
    if (!origin.starts_with("https:") &&
        (url.starts_with("https:") || !origin.starts_with("http:"))) {
      return Fail(url, "redirect", "to " + ShownUrl(*next) + " is refused as unsafe", false);
    }
    linked_etag = transfer.head.linked_etag;
    url = *next;
  }
  return Fail(request.url, "redirect", "more than " + std::to_string(kMostHops) + " in a row",
              false);
}

std::expected<std::string, HttpError> HttpClient::GetText(const std::string& url,
                                                          std::size_t most_bytes) const {
  std::string text;
  const auto done = Get(
      {.url = url, .if_range = {}}, [](const HttpHead&) { return Result<bool>(true); },
      [&](std::span<const char> bytes) -> Status {
        if (text.size() + bytes.size() > most_bytes) {
          return RuntimeError(ShownUrl(url), "answer",
                              "is longer than " + std::to_string(most_bytes) + " bytes");
        }
        text.append(bytes.data(), bytes.size());
        return {};
      });
  if (!done) return std::unexpected(done.error());
  return text;
}

}  // namespace folio
