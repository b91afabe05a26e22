#include "http/http_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <exception>
#include <new>
#include <tuple>
#include <utility>
#include <variant>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "http/content_encoding.h"

namespace folio {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using Code = boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadSize = std::size_t{16} << 10;
constexpr std::chrono::seconds kLinger(2);
constexpr std::size_t kMostLingerBytes = std::size_t{4} << 20;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <typename Message>
HttpRequest HeadOf(const Message& message, const std::string& peer) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  const std::string target(message.target());
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message) {
    request.fields.emplace_back(Lower(field.name_string()), std::string(field.value()));
  }
  request.peer = peer;
  return request;
}

// Where a body ends can't be told of any transfer encoding but the one (RFC 9112, 6.3).
bool HasUnknownLength(const HttpRequest& head) {
  return std::ranges::any_of(head.fields,
                             [](const auto& field) {
                               return field.first == "transfer-encoding" &&
                                      Lower(field.second) != "chunked";
                             }) ||
         std::ranges::count(head.fields, "transfer-encoding", &HttpFields::value_type::first) > 1;
}

// Of what a header may fail with.
int StatusOf(const Code& code) {
  if (code == http::error::header_limit) return 431;
  if (code == http::error::body_limit) return 413;
  // A stream that timed out is closed already, and one that lost its client can't be told.
  if (code == http::error::end_of_stream ||
      code.category() != make_error_code(http::error::end_of_stream).category())
    return -1;
  return 400;
}

template <typename Message>
void SetHead(const HttpHead& head, Message& message) {
  message.result(static_cast<unsigned>(head.status));
  for (const auto& [name, value] : head.fields) message.insert(name, value);
}

std::string_view WhyOf(int status) {
  switch (status) {
    case 413:
      return "the body is larger than this server takes";
    case 415:
      return "the body's Content-Encoding is none of gzip, deflate, zstd";
    case 431:
      return "the header is larger than this server takes";
    case 503:
      return "too many bodies are being read: try again";
    default:
      return "this is no HTTP/1.1 request";
  }
}

}  // namespace

struct HttpConnection::Waiter {
  explicit Waiter(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::atomic<bool> news{false};
  bool gone = false;

  static void Wake(const std::shared_ptr<Waiter>& waiter) {
    if (waiter->news.exchange(true)) return;
    asio::post(waiter->timer.get_executor(), [waiter] { waiter->timer.cancel(); });
  }
};

HttpConnection::HttpConnection(Socket socket, HttpContext& context, std::string peer)
    : stream_(std::move(socket)),
      context_(&context),
      peer_(std::move(peer)),
      buffer_(context.options.max_header_bytes + kReadSize) {}

void HttpConnection::CloseIfIdle() {
  if (idle_) Close();
}

void HttpConnection::Close() {
  Code ignored;
  stream_.socket().close(ignored);
}

asio::awaitable<void> HttpConnection::Run() {
  try {
    for (bool again = true; again && !context_->draining;) again = co_await Exchange();
    Code ignored;
    stream_.socket().shutdown(Socket::shutdown_send, ignored);
    if (unread_) co_await Linger();
  } catch (const std::bad_alloc&) {
    context_->lost.fetch_add(1);  // this connection ends, the others go on
  }
  Close();
}

asio::awaitable<void> HttpConnection::TurnAway() {
  try {
    unread_ = true;
    keep_alive_ = false;
    idle_ = false;
    const HttpRequest nothing_read;  // GCC 12 destroys a temporary beside co_await twice
    HttpResponse response =
        context_->handler->Failure(nothing_read, 503, "too many connections are open: try again");
    const bool told = co_await SendWhole(std::move(response));
    Code ignored;
    stream_.socket().shutdown(Socket::shutdown_send, ignored);
    if (told) co_await Linger();
  } catch (const std::bad_alloc&) {
    context_->lost.fetch_add(1);
  }
  Close();
}

asio::awaitable<bool> HttpConnection::Exchange() {
  keep_alive_ = true;
  unread_ = false;
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(context_->options.max_header_bytes));
  parser.body_limit(context_->options.max_body_bytes);
  const bool there = co_await WaitForBytes();
  if (!there) co_return false;
  idle_ = false;
  int status = co_await ReadHeader(parser);
  if (status < 0) co_return false;
  version_ = parser.get().version();
  head_only_ = parser.get().method() == http::verb::head;
  const HttpRequest head = HeadOf(parser.get(), peer_);
  context_->requests.fetch_add(1);
  if (status == 0 && HasUnknownLength(head)) status = 400;
  if (status == 0 && !IsKnownEncoding(head.Field("content-encoding"))) status = 415;
  if (status > 0) {
    co_await Refuse(head, status);
    co_return false;
  }
  keep_alive_ = parser.get().keep_alive() && !context_->draining;
  if (auto refused = context_->handler->AnswerHead(head)) {
    unread_ = !parser.is_done();
    keep_alive_ = keep_alive_ && !unread_;
    const bool told = co_await SendWhole(*std::move(refused));
    idle_ = true;
    co_return told&& keep_alive_;
  }
  std::optional<HttpReply> reply;
  {
    BodyLease lease(*context_);
    if (Lower(head.Field("expect")) == "100-continue") {
      const bool told = co_await SendContinue();
      if (!told) co_return false;
    }
    status = co_await ReadBody(parser, lease);
    if (status < 0) co_return false;
    if (status > 0) {
      co_await Refuse(head, status);
      co_return false;
    }
    HttpRequest request = head;
    request.body = std::move(parser.get().body());
    reply = co_await HandleOnWorker(std::move(request), context_->options.max_body_bytes);
  }
  bool sent = false;
  if (auto* whole = std::get_if<HttpResponse>(&*reply)) {
    sent = co_await SendWhole(std::move(*whole));
  } else {
    sent = co_await SendStream(*std::get<std::unique_ptr<HttpStream>>(*reply));
    if (!sent) context_->lost.fetch_add(1);
  }
  reply.reset();
  idle_ = true;
  co_return sent&& keep_alive_;
}

asio::awaitable<bool> HttpConnection::WaitForBytes() {
  if (buffer_.size() > 0) co_return true;
  stream_.expires_after(context_->options.idle_timeout);
  const auto [code, bytes] = co_await stream_.async_read_some(buffer_.prepare(kReadSize), kAwait);
  if (code) co_return false;
  buffer_.commit(bytes);
  co_return true;
}

asio::awaitable<int> HttpConnection::ReadHeader(Parser& parser) {
  stream_.expires_after(context_->options.header_timeout);
  const auto [code, bytes] = co_await http::async_read_header(stream_, buffer_, parser, kAwait);
  co_return code ? StatusOf(code) : 0;
}

asio::awaitable<int> HttpConnection::ReadBody(Parser& parser, BodyLease& lease) {
  const auto end = std::chrono::steady_clock::now() + context_->options.whole_body_timeout;
  while (!parser.is_done()) {
    stream_.expires_at(
        std::min(end, std::chrono::steady_clock::now() + context_->options.body_timeout));
    const auto [code, bytes] = co_await http::async_read_some(stream_, buffer_, parser, kAwait);
    if (code) co_return StatusOf(code);
    if (!lease.GrowTo(parser.get().body().size())) co_return 503;
  }
  co_return 0;
}

asio::awaitable<HttpReply> HttpConnection::HandleOnWorker(HttpRequest request, std::size_t most) {
  HttpHandler* const handler = context_->handler;
  const auto work = [handler, most](HttpRequest work_on) -> HttpReply {
    auto body = DecodeContent(std::move(work_on.body), work_on.Field("content-encoding"), most);
    if (!body) return handler->Failure(work_on, 400, body.error().Message());
    work_on.body = *std::move(body);
    const HttpRequest head{.method = work_on.method, .path = work_on.path};
    try {
      return handler->Handle(std::move(work_on));
    } catch (const std::exception&) {
      return handler->Failure(head, 500, "the server has no memory for this request");
    }
  };
  asio::thread_pool& threads = handler->IsAside(request) ? *context_->aside : *context_->workers;
  HttpReply reply = co_await asio::co_spawn(
      threads,
      [](auto run, HttpRequest moved) -> asio::awaitable<HttpReply> {
        co_return run(std::move(moved));
      }(work, std::move(request)),
      asio::use_awaitable);
  co_return reply;
}

asio::awaitable<void> HttpConnection::Refuse(const HttpRequest& head, int status) {
  unread_ = true;
  keep_alive_ = false;
  co_await SendWhole(context_->handler->Failure(head, status, WhyOf(status)));
}

asio::awaitable<bool> HttpConnection::SendContinue() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(context_->options.write_timeout);
  const auto [code, bytes] =
      co_await asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()), kAwait);
  co_return !code;
}

asio::awaitable<bool> HttpConnection::SendWhole(HttpResponse response) {
  http::response<http::string_body> message;
  message.version(version_);
  SetHead(response.head, message);
  const std::size_t length = response.body.size();
  if (!head_only_) message.body() = std::move(response.body);
  if (response.head.status != 204) message.content_length(length);
  message.keep_alive(keep_alive_);
  stream_.expires_after(context_->options.write_timeout);
  const auto [code, bytes] = co_await http::async_write(stream_, message, kAwait);
  co_return !code;
}

asio::awaitable<bool> HttpConnection::SendStream(HttpStream& stream) {
  const auto waiter = std::make_shared<Waiter>(stream_.get_executor());
  stream.OnReady([waiter] { Waiter::Wake(waiter); });
  // Without a length or chunks, only its end ends a reply.
  if (version_ < 11) keep_alive_ = false;
  asio::co_spawn(
      stream_.get_executor(),
      [](std::shared_ptr<HttpConnection> self,
         std::shared_ptr<Waiter> watched) -> asio::awaitable<void> {
        co_await self->WatchClient(std::move(watched));
      }(shared_from_this(), waiter),
      asio::detached);
  bool begun = false;
  bool sent = true;
  for (bool last = false; sent && !last;) {
    waiter->news = false;
    HttpPart part = stream.Next();
    if (!part.last && !part.head && part.bytes.empty()) {
      stream_.expires_never();
      waiter->timer.expires_after(part.again.value_or(context_->options.keep_alive));
      Code woken;
      if (!waiter->news) {
        std::tie(woken) = co_await waiter->timer.async_wait(kAwait);
      }
      if (waiter->gone) sent = false;
      // A wait that was ended by a call for news that had come before it is no silence.
      if (waiter->news || part.again || woken) continue;
      part = stream.KeepAlive();
    }
    if (part.head && !begun) {
      begun = co_await SendHead(*part.head);
      sent = begun;
    }
    if (sent && begun && !head_only_) {
      const bool taken = co_await SendChunk(part.bytes, part.last);
      sent = taken;
    }
    last = part.last;
  }
  Code ignored;
  stream_.socket().cancel(ignored);
  co_return sent;
}

asio::awaitable<bool> HttpConnection::SendHead(const HttpHead& head) {
  http::response<http::empty_body> message;
  message.version(version_);
  SetHead(head, message);
  message.chunked(version_ >= 11);
  message.keep_alive(keep_alive_);
  http::response_serializer<http::empty_body> serializer(message);
  stream_.expires_after(context_->options.write_timeout);
  const auto [code, bytes] = co_await http::async_write_header(stream_, serializer, kAwait);
  co_return !code;
}

asio::awaitable<bool> HttpConnection::SendChunk(const std::string& bytes, bool last) {
  stream_.expires_after(context_->options.write_timeout);
  const asio::const_buffer content(bytes.data(), bytes.size());
  if (version_ < 11) {
    const auto [code, count] = co_await asio::async_write(stream_, content, kAwait);
    co_return !code;
  }
  if (!bytes.empty()) {
    const auto [code, count] =
        co_await asio::async_write(stream_, http::make_chunk(content), kAwait);
    if (code) co_return false;
  }
  if (!last) co_return true;
  const auto [code, count] = co_await asio::async_write(stream_, http::make_chunk_last(), kAwait);
  co_return !code;
}

// A client that sends more, its next request, is there; one that ends its side is taken for gone.
// When the connection is closed from this side, the wait fails.
asio::awaitable<void> HttpConnection::WatchClient(std::shared_ptr<Waiter> waiter) {
  const auto [code] = co_await stream_.socket().async_wait(Socket::wait_read, kAwait);
  if (!code) {
    char byte = 0;
    const ssize_t read = recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (read > 0 || (read < 0 && errno == EAGAIN)) co_return;
  }
  waiter->gone = true;
  Waiter::Wake(waiter);
}

asio::awaitable<void> HttpConnection::Linger() {
  stream_.expires_after(kLinger);
  std::array<char, kReadSize> sink;
  for (std::size_t total = 0; total < kMostLingerBytes;) {
    const auto [code, bytes] = co_await stream_.async_read_some(asio::buffer(sink), kAwait);
    if (code) co_return;
    total += bytes;
  }
}

}  // namespace folio
