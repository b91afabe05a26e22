// The server over real sockets, with clients that behave and clients that don't.
#include "http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace folio {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::seconds kPatience(20);

// A client that writes and reads bytes.
class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  // False if the server has gone.
  bool Send(std::string_view text) {
    return send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // Reads until `end` stands in what came, or nothing comes any more.
  std::string ReadTo(std::string_view end) {
    std::string text;
    char byte = 0;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (text.find(end) == std::string::npos && std::chrono::steady_clock::now() < deadline &&
           recv(socket_, &byte, 1, 0) == 1) {
      text += byte;
    }
    return text;
  }
  std::string ReadAll() { return ReadTo(std::string_view("\0never\0", 7)); }

 private:
  int socket_;
  bool connected_ = false;
};

// What a streamed reply sends is given by the test.
struct Script {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> ready;
  std::string bytes;
  bool last = false;
  bool destroyed = false;
  int keep_alives = 0;
  int calls_to_wait = 0;  // of Next, before there is a head

  void Give(std::string more, bool is_last) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      bytes += more;
      last = is_last;
      call = ready;
    }
    if (call) call();
  }
  template <typename Condition>
  bool WaitFor(const Condition& condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kPatience, condition);
  }
};

class ScriptedStream final : public HttpStream {
 public:
  explicit ScriptedStream(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  ~ScriptedStream() override {
    const std::lock_guard lock(script_->mutex);
    script_->destroyed = true;
    script_->changed.notify_all();
  }
  void OnReady(std::function<void()> ready) override {
    const std::lock_guard lock(script_->mutex);
    script_->ready = std::move(ready);
    script_->changed.notify_all();
  }
  HttpPart Next() override {
    const std::lock_guard lock(script_->mutex);
    if (script_->calls_to_wait > 0) {
      --script_->calls_to_wait;
      return {.again = milliseconds(20)};
    }
    HttpPart part{.bytes = std::exchange(script_->bytes, {}), .last = script_->last};
    if (!std::exchange(begun_, true)) part.head = HttpHead{.fields = {{"X-Kind", "stream"}}};
    return part;
  }
  HttpPart KeepAlive() override {
    const std::lock_guard lock(script_->mutex);
    ++script_->keep_alives;
    script_->changed.notify_all();
    return {.bytes = ": alive\n"};
  }

 private:
  std::shared_ptr<Script> script_;
  bool begun_ = false;
};

class Echo final : public HttpHandler {
 public:
  std::optional<HttpResponse> AnswerHead(const HttpRequest& head) override {
    if (head.path == "/at-once") return HttpResponse{.body = "here"};
    if (head.path != "/refused") return std::nullopt;
    return HttpResponse{.head = {.status = 404}, .body = "refused"};
  }
  HttpReply Handle(HttpRequest request) override {
    if (request.path == "/stream") return std::make_unique<ScriptedStream>(script);
    if (request.path == "/hold") {
      held.fetch_add(1);
      std::unique_lock lock(script->mutex);
      script->changed.wait_for(lock, kPatience, [this] { return script->last; });
    }
    if (request.path == "/throw") throw std::bad_alloc();
    return HttpResponse{.body = request.method + " " + request.path + "?" + request.query + " " +
                                std::to_string(request.body.size()) + ":" +
                                request.body.substr(0, 20)};
  }
  HttpResponse Failure(const HttpRequest& /*head*/, int status, std::string_view why) override {
    return {.head = {.status = status}, .body = std::string(why)};
  }

  bool IsAside(const HttpRequest& head) override { return head.path.starts_with("/aside"); }

  std::shared_ptr<Script> script = std::make_shared<Script>();
  std::atomic<int> held{0};
};

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpServerOptions options = {}) {
    options.port = 0;
    auto server = HttpServer::Start(options, echo_);
    ASSERT_TRUE(server.has_value()) << server.error().Message();
    server_ = *std::move(server);
  }
  // All that a server says to this, which must end the connection.
  std::string Ask(std::string_view text) {
    Client client(server_->port());
    client.Send(text);
    return client.ReadAll();
  }

  Echo echo_;
  std::unique_ptr<HttpServer> server_;
};

std::string Get(std::string_view path, std::string_view fields = "Connection: close\r\n") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(fields) + "\r\n";
}

TEST_F(HttpServerTest, ARequestReachesItsHandlerAndTheReplyItsClient) {
  Start();
  const std::string reply = Ask(
      "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\n\r\nPOST /a/b?c=d 5:hello"));
}

TEST_F(HttpServerTest, AConnectionTakesOneRequestAfterAnotherAlsoPipelined) {
  Start();
  Client client(server_->port());
  client.Send(Get("/1", "") + Get("/2", ""));
  EXPECT_THAT(client.ReadTo("/1? 0:"), HasSubstr("GET /1? 0:"));
  EXPECT_THAT(client.ReadTo("/2? 0:"), HasSubstr("GET /2? 0:"));
  client.Send(Get("/3"));
  EXPECT_THAT(client.ReadAll(), HasSubstr("GET /3? 0:"));
}

TEST_F(HttpServerTest, ChunkedBodiesAndExpectationsAreRead) {
  Start();
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
                  "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
              HasSubstr("POST /? 5:abcde"));
  Client client(server_->port());
  client.Send(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: "
      "close\r\n\r\n");
  EXPECT_EQ(client.ReadTo("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_THAT(client.ReadAll(), HasSubstr("POST /? 2:ok"));
}

TEST_F(HttpServerTest, ARequestThatCouldBeReadInTwoWaysIsRefused) {
  Start();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (const char* fields :
       {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "Content-Length: -1\r\n\r\n",
        "Content-Length: 5 5\r\n\r\nhello", "Content-Length : 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabcde\r\n0\r\n\r\n", "X: a\r\n b: c\r\nY\r\n\r\n",
        "Content-Length: 99999999999999999999\r\n\r\n", "Transfer-Encoding: gzip\r\n\r\n",
        "Transfer-Encoding: chunked, chunked\r\n\r\n", "Transfer-Encoding: gzip, chunked\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    // Nothing behind it is taken for another request.
    const std::string reply = Ask(head + fields + Get("/smuggled"));
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 4")) << fields;
    EXPECT_EQ(reply.find("/smuggled"), std::string::npos) << fields;
  }
  EXPECT_THAT(Ask("GET / HTTP/9.9\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(Ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
}

TEST_F(HttpServerTest, WhatIsTooLargeIsRefusedBeforeItIsHeld) {
  Start({.max_header_bytes = 2000, .max_body_bytes = 1000});
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nX: " + std::string(5000, 'a') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  std::string chunks;
  for (int i = 0; i < 20; ++i) chunks += "64\r\n" + std::string(100, 'a') + "\r\n";
  EXPECT_THAT(Ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks),
              StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, AllBodiesTogetherHaveABound) {
  Start({.max_body_bytes = 1000, .max_bodies_bytes = 1500});
  Client first(server_->port());
  first.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(999, 'a'));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_THAT(
      Ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'a')),
      StartsWith("HTTP/1.1 503"));
  first.Send("a");
  EXPECT_THAT(first.ReadTo("1000:"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(
      Ask("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" +
          std::string(1000, 'a')),
      StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, SlowSendersAreTimedOut) {
  Start({.idle_timeout = milliseconds(300),
         .header_timeout = milliseconds(300),
         .body_timeout = milliseconds(300)});
  EXPECT_EQ(Ask(""), "");
  EXPECT_EQ(Ask("GET / HTT"), "");
  EXPECT_EQ(Ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel"), "");
}

TEST_F(HttpServerTest, ARefusalComesBeforeTheBody) {
  Start();
  EXPECT_THAT(Ask("POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"),
              StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, AHandlerThatThrowsIsAnInternalError) {
  Start();
  EXPECT_THAT(Ask(Get("/throw")), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(Ask(Get("/")), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpServerTest, AStreamIsSentInChunksAsItIsMade) {
  Start();
  Client client(server_->port());
  client.Send(Get("/stream", ""));
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), HasSubstr("Transfer-Encoding: chunked"));
  echo_.script->Give("one", false);
  EXPECT_EQ(client.ReadTo("one\r\n"), "3\r\none\r\n");
  echo_.script->Give("two", true);
  EXPECT_EQ(client.ReadTo("0\r\n\r\n"), "3\r\ntwo\r\n0\r\n\r\n");
  client.Send(Get("/after"));
  EXPECT_THAT(client.ReadAll(), HasSubstr("GET /after?"));
}

TEST_F(HttpServerTest, AnOldClientsStreamEndsWithItsConnection) {
  Start();
  Client client(server_->port());
  client.Send("GET /stream HTTP/1.0\r\n\r\n");
  echo_.script->Give("all", true);
  const std::string reply = client.ReadAll();
  EXPECT_THAT(reply, HasSubstr("\r\n\r\nall"));
  EXPECT_EQ(reply.find("chunked"), std::string::npos);
}

TEST_F(HttpServerTest, WhileNothingComesTheConnectionIsKeptAlive) {
  Start({.keep_alive = milliseconds(50)});
  Client client(server_->port());
  client.Send(Get("/stream"));
  EXPECT_THAT(client.ReadTo(": alive\n\r\n8\r\n: alive"), HasSubstr("8\r\n: alive\n\r\n"));
  echo_.script->Give("end", true);
  EXPECT_THAT(client.ReadAll(), HasSubstr("end"));
}

TEST_F(HttpServerTest, AStreamMayAskForItsTurnBeforeAnythingIsReady) {
  Start();
  echo_.script->calls_to_wait = 3;
  Client client(server_->port());
  client.Send(Get("/stream"));
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), HasSubstr("X-Kind: stream"));
  EXPECT_EQ(echo_.script->keep_alives, 0);
  echo_.script->Give("end", true);
  EXPECT_THAT(client.ReadAll(), HasSubstr("end"));
}

// Health and metrics are told while every worker is busy.
TEST_F(HttpServerTest, WhatIsAnsweredAtOnceOrAsideWaitsForNoWorker) {
  Start({.workers = 1});
  Client holding(server_->port());
  Client waiting(server_->port());
  holding.Send(Get("/hold"));
  waiting.Send(Get("/hold"));
  while (echo_.held == 0) std::this_thread::yield();
  EXPECT_THAT(Ask(Get("/at-once")), HasSubstr("here"));
  EXPECT_THAT(Ask(Get("/aside")), HasSubstr("GET /aside?"));
  EXPECT_EQ(echo_.held, 1);
  echo_.script->Give("", true);
  echo_.script->changed.notify_all();
  EXPECT_THAT(waiting.ReadAll(), HasSubstr("GET /hold?"));
}

TEST_F(HttpServerTest, AClientThatLeavesEndsItsStream) {
  Start();
  {
    Client client(server_->port());
    client.Send(Get("/stream", ""));
    client.ReadTo("\r\n\r\n");
  }
  EXPECT_TRUE(echo_.script->WaitFor([this] { return echo_.script->destroyed; }));
}

// What a client doesn't take waits in the stream, which can bound it, and not in the server.
TEST_F(HttpServerTest, AClientThatDoesNotReadIsNotWrittenTo) {
  Start({.write_timeout = milliseconds(500)});
  Client client(server_->port());
  client.Send(Get("/stream", ""));
  client.ReadTo("\r\n\r\n");
  for (int i = 0; i < 200 && !echo_.script->destroyed; ++i) {
    echo_.script->Give(std::string(1 << 20, 'a'), false);
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_TRUE(echo_.script->WaitFor([this] { return echo_.script->destroyed; }));
  EXPECT_GT(echo_.script->bytes.size(), std::size_t{1} << 20);
}

TEST_F(HttpServerTest, DrainingWaitsForWhatIsMade) {
  Start();
  Client idle(server_->port());
  Client client(server_->port());
  client.Send(Get("/stream", ""));
  client.ReadTo("\r\n\r\n");
  std::thread giver([this] {
    std::this_thread::sleep_for(milliseconds(200));
    echo_.script->Give("rest", true);
  });
  EXPECT_TRUE(server_->Drain(std::chrono::steady_clock::now() + kPatience));
  giver.join();
  EXPECT_THAT(client.ReadAll(), HasSubstr("rest"));
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_FALSE(Client(server_->port()).connected());
}

TEST_F(HttpServerTest, DrainingCutsWhatTakesTooLong) {
  Start();
  Client client(server_->port());
  client.Send(Get("/stream", ""));
  client.ReadTo("\r\n\r\n");
  EXPECT_FALSE(server_->Drain(std::chrono::steady_clock::now() + milliseconds(100)));
  EXPECT_TRUE(echo_.script->WaitFor([this] { return echo_.script->destroyed; }));
}

TEST_F(HttpServerTest, ConnectionsBeyondTheMostAreToldSo) {
  Start({.max_connections = 2});
  Client first(server_->port());
  Client second(server_->port());
  first.Send(Get("/", ""));
  second.Send(Get("/", ""));
  first.ReadTo("0:");
  second.ReadTo("0:");
  EXPECT_THAT(Ask(Get("/")), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Connection: close")));
  EXPECT_EQ(server_->counts().refused_connections, 1U);
}

TEST_F(HttpServerTest, OnlySoManyAreToldThatTheyAreTooMany) {
  Start({.max_connections = 1});
  Client first(server_->port());
  first.Send(Get("/", ""));
  first.ReadTo("0:");
  std::vector<std::unique_ptr<Client>> others;  // none of which closes its side
  for (int i = 0; i < 40; ++i) {
    others.push_back(std::make_unique<Client>(server_->port()));
    others.back()->Send(Get("/"));
  }
  std::int64_t told = 0;
  for (const auto& other : others) told += other->ReadAll().starts_with("HTTP/1.1 503") ? 1 : 0;
  EXPECT_GE(told, 32);
  EXPECT_LT(told, 40);
  EXPECT_EQ(server_->counts().refused_connections, 40U);
}

TEST_F(HttpServerTest, ASocketsFileGoesWithItsServerAndNoOtherTakesIt) {
  const std::string path = testing::TempDir() + "folio_http_test_" + std::to_string(getpid());
  Start({.unix_socket = path});
  EXPECT_EQ(access(path.c_str(), F_OK), 0);
  Echo other;
  const auto second = HttpServer::Start({.port = 0, .unix_socket = path}, other);
  ASSERT_FALSE(second.has_value());
  EXPECT_THAT(second.error().Message(), HasSubstr("another server listens there"));
  server_.reset();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST_F(HttpServerTest, AddressesThatCannotBeBoundAreNamed) {
  Start();
  Echo other;
  const auto taken = HttpServer::Start({.port = server_->port()}, other);
  ASSERT_FALSE(taken.has_value());
  EXPECT_THAT(taken.error().Message(), HasSubstr("127.0.0.1:" + std::to_string(server_->port())));
  const auto name = HttpServer::Start({.host = "nowhere"}, other);
  ASSERT_FALSE(name.has_value());
  EXPECT_THAT(name.error().Message(), HasSubstr("'nowhere'"));
}

}  // namespace
}  // namespace folio
