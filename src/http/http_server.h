// An HTTP/1.1 server for one handler: Boost.Beast on Asio. One network thread runs every
// connection as a coroutine; handlers run on a few workers, and
// those that wait for others on one beside them. A client that is slow, silent or gone
// costs its own connection only: everything it may make the server keep has a bound.
#ifndef FOLIO_HTTP_HTTP_SERVER_H_
#define FOLIO_HTTP_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/http_message.h"

namespace folio {

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // an address; empty: no TCP
  int port = 8080;                 // 0 = one that is free
  std::string unix_socket;         // a path; empty: none
  int workers = 2;
  std::size_t max_connections = 4096;
  std::size_t max_header_bytes = std::size_t{64} << 10;
  std::size_t max_body_bytes = std::size_t{16} << 20;  // packed and unpacked
  // Of all connections together, while they are read and until their handler returns.
  std::size_t max_bodies_bytes = std::size_t{256} << 20;
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(75);    // between two requests
  std::chrono::milliseconds header_timeout = std::chrono::seconds(30);  // for a whole header
  std::chrono::milliseconds body_timeout = std::chrono::seconds(30);    // for the next piece
  std::chrono::milliseconds whole_body_timeout = std::chrono::minutes(5);
  std::chrono::milliseconds write_timeout = std::chrono::seconds(60);  // for one part
  std::chrono::milliseconds keep_alive = std::chrono::seconds(8);      // see HttpStream
};

struct HttpServerCounts {
  std::uint64_t connections = 0;  // now
  std::uint64_t accepted = 0;
  std::uint64_t requests = 0;
  std::uint64_t refused_connections = 0;  // beyond the most
  std::uint64_t lost_clients = 0;         // gone before their reply was whole
};

class HttpServer {
 public:
  // Binds and begins to serve. `handler` must outlive the server.
  static Result<std::unique_ptr<HttpServer>> Start(const HttpServerOptions& options,
                                                   HttpHandler& handler);
  // Closes what is open.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;  // bound, or 0
  HttpServerCounts counts() const;

  // Takes no more connections and no more requests on those that are open, and waits until the
  // replies that are being made are sent, at most until `deadline`. True if all were.
  bool Drain(std::chrono::steady_clock::time_point deadline);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace folio

#endif  // FOLIO_HTTP_HTTP_SERVER_H_
