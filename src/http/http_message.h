// What goes in and out of the HTTP server: requests as its handler sees them, and replies, whole or
// in parts that come as they are made. HTTP/1.1 is RFC 9112's, names of fields RFC 9110's.
#ifndef FOLIO_HTTP_HTTP_MESSAGE_H_
#define FOLIO_HTTP_HTTP_MESSAGE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace folio {

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "GET"
  std::string path;    // of the target, not decoded, without the query
  std::string query;   // after "?", or empty
  HttpFields fields;   // names in lower case, as many as came
  std::string body;    // its Content-Encoding undone
  std::string peer;    // "127.0.0.1:5000", or "unix"

  // The first field of that name (lower case), or empty.
  std::string_view Field(std::string_view name) const;
  bool HasField(std::string_view name) const;
};

struct HttpHead {
  int status = 200;
  HttpFields fields;
};

struct HttpResponse {
  HttpHead head;
  std::string body;
};

struct HttpPart {
  // The reply's, with the first part that has one; until then nothing is sent.
  std::optional<HttpHead> head;
  std::string bytes;
  bool last = false;
  // Next is asked again after so long, if nothing became ready before.
  std::optional<std::chrono::milliseconds> again;
};

// A reply that is made while it is sent. Its functions are called by the server's network thread,
// one at a time, and must return at once. Destroyed when the reply is over or the client is gone.
class HttpStream {
 public:
  HttpStream() = default;
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;
  virtual ~HttpStream() = default;
  // `ready` is to be called, from any thread, whenever Next may have more; also after this was
  // destroyed it does no harm.
  virtual void OnReady(std::function<void()> ready) = 0;
  // What there is now, perhaps nothing. Asked for only when all before was sent: what the client is
  // slow to take waits in here.
  virtual HttpPart Next() = 0;
  // Instead, after a while with nothing to send.
  virtual HttpPart KeepAlive() = 0;
};

using HttpReply = std::variant<HttpResponse, std::unique_ptr<HttpStream>>;

class HttpHandler {
 public:
  HttpHandler() = default;
  HttpHandler(const HttpHandler&) = delete;
  HttpHandler& operator=(const HttpHandler&) = delete;
  virtual ~HttpHandler() = default;
  // Before the body is read: a response refuses the request, or answers it where no body and no
  // waiting is needed. On the network thread; returns at once.
  virtual std::optional<HttpResponse> AnswerHead(const HttpRequest& head) = 0;
  // Whether it may take long to answer without computing anything: it is then handled on a thread
  // beside the workers, and neither waits for the other. On the network thread.
  virtual bool IsAside(const HttpRequest& /*head*/) { return false; }
  // On a worker's thread; many at a time.
  virtual HttpReply Handle(HttpRequest request) = 0;
  // What the server itself refuses, in the handler's form: 400, 413, 415, 431, 500, 503.
  virtual HttpResponse Failure(const HttpRequest& head, int status, std::string_view why) = 0;
};

}  // namespace folio

#endif  // FOLIO_HTTP_HTTP_MESSAGE_H_
