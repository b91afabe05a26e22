// What the connections of one server share.
#ifndef FOLIO_HTTP_HTTP_CONTEXT_H_
#define FOLIO_HTTP_HTTP_CONTEXT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/asio/thread_pool.hpp>

#include "http/http_message.h"
#include "http/http_server.h"

namespace folio {

struct HttpContext {
  HttpServerOptions options;
  HttpHandler* handler = nullptr;
  boost::asio::thread_pool* workers = nullptr;
  boost::asio::thread_pool* aside = nullptr;  // see HttpHandler::IsAside
  std::atomic<bool> draining{false};
  std::atomic<std::uint64_t> accepted{0}, requests{0}, refused{0}, lost{0};
  std::atomic<std::size_t> bodies_bytes{0};
};

// Bytes of bodies that one request holds of what all may.
class BodyLease {
 public:
  explicit BodyLease(HttpContext& context) : context_(&context) {}
  ~BodyLease() { context_->bodies_bytes.fetch_sub(bytes_); }
  BodyLease(const BodyLease&) = delete;
  BodyLease& operator=(const BodyLease&) = delete;

  // False if all together would hold too much.
  bool GrowTo(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    const std::size_t more = bytes - bytes_;
    if (context_->bodies_bytes.fetch_add(more) + more > context_->options.max_bodies_bytes) {
      context_->bodies_bytes.fetch_sub(more);
      return false;
    }
    bytes_ = bytes;
    return true;
  }

 private:
  HttpContext* context_;
  std::size_t bytes_ = 0;
};

}  // namespace folio

#endif  // FOLIO_HTTP_HTTP_CONTEXT_H_
