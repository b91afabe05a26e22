#include "http/http_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_set>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/http_connection.h"
#include "http/http_context.h"

namespace folio {
namespace {

namespace asio = boost::asio;
using Code = boost::system::error_code;

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::chrono::milliseconds kAcceptPause(50);
// Connections that are told that they are too many, beyond the most; those beyond are closed.
constexpr std::size_t kMostTurnedAway = 32;

std::string NameOf(const asio::ip::tcp::endpoint& peer) {
  return peer.address().to_string() + ":" + std::to_string(peer.port());
}
std::string NameOf(const asio::local::stream_protocol::endpoint& /*peer*/) { return "unix"; }

void Prepare(asio::ip::tcp::socket& socket) {
  Code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
}
void Prepare(asio::local::stream_protocol::socket& /*socket*/) {}

// What a server before this one left behind; never a file of another kind.
void RemoveSocket(const std::string& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) unlink(path.c_str());
}

}  // namespace

struct HttpServer::Impl {
  HttpContext context;
  asio::io_context io{1};
  std::optional<asio::ip::tcp::acceptor> tcp;
  std::optional<asio::local::stream_protocol::acceptor> local;
  std::unordered_set<std::shared_ptr<HttpConnection>> connections;  // on the network thread
  std::atomic<std::size_t> open{0};
  std::size_t turned_away = 0;  // of those that are open
  std::mutex mutex;
  std::condition_variable closed;
  int port = 0;
  asio::thread_pool workers;
  asio::thread_pool aside{1};
  std::jthread network;

  Impl(const HttpServerOptions& options, HttpHandler& handler)
      : workers(static_cast<std::size_t>(std::max(1, options.workers))) {
    context.options = options;
    context.handler = &handler;
    context.workers = &workers;
    context.aside = &aside;
  }

  Status ListenTcp();
  Status ListenUnix();
  template <typename Acceptor>
  asio::awaitable<void> Accept(Acceptor& acceptor);
  template <typename Socket>
  void Admit(Socket socket, std::string peer);
  void Ended(const std::shared_ptr<HttpConnection>& connection);
  void StopAccepting();
};

Status HttpServer::Impl::ListenTcp() {
  const HttpServerOptions& options = context.options;
  const std::string where = options.host + ":" + std::to_string(options.port);
  Code code;
  const auto address = asio::ip::make_address(options.host, code);
  if (code) return UsageError("server", "host", "'" + options.host + "' is no IP address");
  if (options.port < 0 || options.port > 65535) {
    return UsageError("server", "port", std::to_string(options.port) + " is not from 0 to 65535");
  }
  try {
    const asio::ip::tcp::endpoint endpoint(address, static_cast<std::uint16_t>(options.port));
    tcp.emplace(io, endpoint.protocol());
    tcp->set_option(asio::socket_base::reuse_address(true));
    tcp->bind(endpoint);
    tcp->listen(asio::socket_base::max_listen_connections);
    port = tcp->local_endpoint().port();
  } catch (const boost::system::system_error& error) {
    return RuntimeError("server", where, error.code().message());
  }
  return {};
}

Status HttpServer::Impl::ListenUnix() {
  const std::string& path = context.options.unix_socket;
  try {
    asio::local::stream_protocol::socket other(io);
    Code none_there;
    other.connect(asio::local::stream_protocol::endpoint(path), none_there);
    if (!none_there) return RuntimeError("server", path, "another server listens there");
    RemoveSocket(path);
    local.emplace(io, asio::local::stream_protocol::endpoint(path));
  } catch (const boost::system::system_error& error) {
    return RuntimeError("server", path, error.code().message());
  }
  return {};
}

template <typename Acceptor>
asio::awaitable<void> HttpServer::Impl::Accept(Acceptor& acceptor) {
  while (acceptor.is_open()) {
    typename Acceptor::protocol_type::socket socket(io);
    typename Acceptor::protocol_type::endpoint peer;
    const auto [code] = co_await acceptor.async_accept(socket, peer, kAwait);
    if (code == asio::error::operation_aborted) break;
    if (code) {  // no file descriptors, for example: others may end meanwhile
      asio::steady_timer pause(io, kAcceptPause);
      co_await pause.async_wait(kAwait);
      continue;
    }
    context.accepted.fetch_add(1);
    Prepare(socket);
    Admit(std::move(socket), NameOf(peer));
  }
}

template <typename Socket>
void HttpServer::Impl::Admit(Socket socket, std::string peer) {
  const bool refused = open - turned_away >= context.options.max_connections;
  if (refused) context.refused.fetch_add(1);
  if (refused && turned_away >= kMostTurnedAway) return;
  const auto connection = std::make_shared<HttpConnection>(
      HttpConnection::Socket(std::move(socket)), context, std::move(peer));
  connections.insert(connection);
  open.fetch_add(1);
  turned_away += refused ? 1 : 0;
  asio::co_spawn(io, refused ? connection->TurnAway() : connection->Run(),
                 [this, connection, refused](const std::exception_ptr& /*none*/) {
                   turned_away -= refused ? 1 : 0;
                   Ended(connection);
                 });
}

void HttpServer::Impl::Ended(const std::shared_ptr<HttpConnection>& connection) {
  connections.erase(connection);
  {
    const std::lock_guard lock(mutex);
    open.fetch_sub(1);
  }
  closed.notify_all();
}

void HttpServer::Impl::StopAccepting() {
  Code ignored;
  if (tcp) tcp->close(ignored);
  if (local && local->is_open()) {
    local->close(ignored);
    RemoveSocket(context.options.unix_socket);
  }
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                      HttpHandler& handler) {
  auto impl = std::make_unique<Impl>(options, handler);
  if (!options.host.empty()) {
    if (Status bound = impl->ListenTcp(); !bound) return std::unexpected(bound.error());
    asio::co_spawn(impl->io, impl->Accept(*impl->tcp), asio::detached);
  }
  if (!options.unix_socket.empty()) {
    if (Status bound = impl->ListenUnix(); !bound) return std::unexpected(bound.error());
    asio::co_spawn(impl->io, impl->Accept(*impl->local), asio::detached);
  }
  impl->network = std::jthread([impl = impl.get()] {
    const auto guard = asio::make_work_guard(impl->io);
    impl->io.run();
  });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

// Posting needs memory and may throw where there is none; the process then has to end.
HttpServer::~HttpServer() {  // NOLINT(bugprone-exception-escape)
  Drain(std::chrono::steady_clock::now());
  impl_->io.stop();
  impl_->network.join();
  impl_->workers.join();
  impl_->aside.join();
}

int HttpServer::port() const { return impl_->port; }

HttpServerCounts HttpServer::counts() const {
  return {.connections = impl_->open,
          .accepted = impl_->context.accepted,
          .requests = impl_->context.requests,
          .refused_connections = impl_->context.refused,
          .lost_clients = impl_->context.lost};
}

bool HttpServer::Drain(std::chrono::steady_clock::time_point deadline) {
  impl_->context.draining = true;
  std::promise<void> stopped;
  asio::post(impl_->io, [impl = impl_.get(), &stopped] {
    impl->StopAccepting();
    for (const auto& connection : impl->connections) connection->CloseIfIdle();
    stopped.set_value();
  });
  // From then on no connection comes that isn't counted.
  stopped.get_future().wait();
  const auto all_closed = [this] { return impl_->open == 0; };
  std::unique_lock lock(impl_->mutex);
  if (impl_->closed.wait_until(lock, deadline, all_closed)) return true;
  asio::post(impl_->io, [impl = impl_.get()] {
    for (const auto& connection : impl->connections) connection->Close();
  });
  // Handlers that still work are waited for: they hold their connection.
  impl_->closed.wait(lock, all_closed);
  return false;
}

}  // namespace folio
