// What comes over a connection, over a real socket: the replies to it are well-formed HTTP whatever
// it was, and a request's body is never more than what was sent. An input's first byte chooses how
// it is cut into writes.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

#include "http/http_server.h"

namespace {

void Require(bool holds, std::source_location where = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "line %u does not hold\n", where.line());
  std::abort();
}

constexpr std::size_t kMostInput = std::size_t{1} << 16;
constexpr std::size_t kMostBody = std::size_t{1} << 15;

// Replies with what was asked, so that a client can tell which reply has no body.
class Echo final : public folio::HttpHandler {
 public:
  std::atomic<int> handled = 0;

  std::optional<folio::HttpResponse> AnswerHead(const folio::HttpRequest& head) override {
    if (head.path == "/refused") return Response(head, 404, "refused");
    return std::nullopt;
  }
  folio::HttpReply Handle(folio::HttpRequest request) override {
    ++handled;
    Require(request.body.size() <= kMostBody);
    return Response(request, 200, request.body);
  }
  folio::HttpResponse Failure(const folio::HttpRequest& head, int status,
                              std::string_view why) override {
    Require(status >= 400 && status < 600);
    return Response(head, status, std::string(why));
  }

 private:
  static folio::HttpResponse Response(const folio::HttpRequest& head, int status,
                                      std::string body) {
    folio::HttpResponse response;
    response.head.status = status;
    response.head.fields = {{"x-has-body", head.method == "HEAD" ? "no" : "yes"}};
    response.body = std::move(body);
    return response;
  }
};

struct Server {
  Echo echo;
  std::string path = "/tmp/folio_http_fuzz_" + std::to_string(getpid());
  std::unique_ptr<folio::HttpServer> server;

  Server() {
    auto started = folio::HttpServer::Start(
        {.host = "", .unix_socket = path, .max_header_bytes = 4096, .max_body_bytes = kMostBody},
        echo);
    if (!started) {
      std::fprintf(stderr, "%s\n", started.error().Message().c_str());
      std::abort();
    }
    server = *std::move(started);
  }
};

int Connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  Require(client >= 0 &&
          connect(client, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return client;
}

// All that comes back until the server closes. A server that waits for more of a client that has
// ended its side hangs: that fails.
std::string Exchange(const std::string& path, std::string_view sent, std::size_t piece) {
  const int client = Connect(path);
  while (!sent.empty()) {
    const ssize_t written = send(client, sent.data(), std::min(piece, sent.size()), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;  // refused already
    sent.remove_prefix(static_cast<std::size_t>(written));
  }
  shutdown(client, SHUT_WR);
  std::string received;
  std::array<char, 4096> bytes;
  while (true) {
    const ssize_t read = recv(client, bytes.data(), bytes.size(), 0);
    if (read < 0 && errno == EINTR) continue;    // the fuzzer's own clock
    if (read < 0) Require(errno == ECONNRESET);  // what it had not read when it closed
    if (read <= 0) break;
    received.append(bytes.data(), static_cast<std::size_t>(read));
  }
  close(client);
  return received;
}

std::string_view TakeTo(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  Require(at != std::string_view::npos);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return taken;
}

std::string_view FieldOf(std::string_view head, std::string_view name) {
  const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string_view::npos) return {};
  std::string_view value = head.substr(at + 4 + name.size());
  return value.substr(0, value.find("\r\n"));
}

// Takes one reply; its status.
int TakeReply(std::string_view& received) {
  const std::string_view head = TakeTo(received, "\r\n\r\n");
  int status = 0;
  Require(head.starts_with("HTTP/1.") && head.size() >= 12 && head[8] == ' ');
  Require(std::from_chars(head.data() + 9, head.data() + 12, status).ptr == head.data() + 12);
  if (status == 100) return status;
  const std::string_view length = FieldOf(head, "Content-Length");
  std::size_t body = 0;
  Require(!length.empty() &&
          std::from_chars(length.data(), length.data() + length.size(), body).ec == std::errc());
  if (FieldOf(head, "x-has-body") == "no") body = 0;
  Require(received.size() >= body);
  received.remove_prefix(body);
  return status;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server* const server = new Server;  // for all inputs; the process's end is its end
  if (size < 2 || size > kMostInput) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const int handled = server->echo.handled;
  const std::string all = Exchange(server->path, input.substr(1), 1 + data[0] * 8);
  std::string_view received = all;
  int told = 0;
  while (!received.empty()) told += TakeReply(received) == 200 ? 1 : 0;
  Require(told <= server->echo.handled - handled);
  return 0;
}
