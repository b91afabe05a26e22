// One connection: reads requests, has them handled, sends the replies, until either side is done.
#ifndef FOLIO_HTTP_HTTP_CONNECTION_H_
#define FOLIO_HTTP_HTTP_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/http_context.h"

namespace folio {

// All on the network thread.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;

  // `context` must outlive this.
  HttpConnection(Socket socket, HttpContext& context, std::string peer);

  boost::asio::awaitable<void> Run();
  // In place of Run: tells the client, whatever it asks, that there are too many connections.
  boost::asio::awaitable<void> TurnAway();
  // Ends it now, if no request is being read or replied to.
  void CloseIfIdle();
  void Close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  // What wakes a connection that waits for its stream: news, or the client's leaving.
  struct Waiter;

  // True if another request may follow.
  boost::asio::awaitable<bool> Exchange();
  boost::asio::awaitable<bool> WaitForBytes();
  // A status to refuse with; 0: read; -1: the client is gone.
  boost::asio::awaitable<int> ReadHeader(Parser& parser);
  boost::asio::awaitable<int> ReadBody(Parser& parser, BodyLease& lease);
  boost::asio::awaitable<HttpReply> HandleOnWorker(HttpRequest request, std::size_t most);
  boost::asio::awaitable<void> Refuse(const HttpRequest& head, int status);
  boost::asio::awaitable<bool> SendContinue();
  // False if the client is gone.
  boost::asio::awaitable<bool> SendWhole(HttpResponse response);
  boost::asio::awaitable<bool> SendStream(HttpStream& stream);
  boost::asio::awaitable<bool> SendHead(const HttpHead& head);
  boost::asio::awaitable<bool> SendChunk(const std::string& bytes, bool last);
  boost::asio::awaitable<void> WatchClient(std::shared_ptr<Waiter> waiter);
  // Reads on for a moment, so that the client sees the reply before the connection ends.
  boost::asio::awaitable<void> Linger();

  boost::beast::basic_stream<boost::asio::generic::stream_protocol> stream_;
  HttpContext* context_;
  std::string peer_;
  boost::beast::flat_buffer buffer_;
  unsigned version_ = 11;   // of the request that is replied to
  bool head_only_ = false;  // it is HEAD
  bool keep_alive_ = true;  // after it
  bool unread_ = false;     // its body was not read to the end
  bool idle_ = true;
};

}  // namespace folio

#endif  // FOLIO_HTTP_HTTP_CONNECTION_H_
