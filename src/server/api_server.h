// The APIs over HTTP: which path is which call, in which dialect, and who may make it.
#ifndef FOLIO_SERVER_API_SERVER_H_
#define FOLIO_SERVER_API_SERVER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_request.h"
#include "http/http_message.h"
#include "server/api_call.h"
#include "server/caller.h"
#include "server/endpoints.h"
#include "server/model_host.h"
#include "server/server_metrics.h"

namespace folio {

struct ApiServerOptions {
  std::size_t store_bytes = std::size_t{96} << 20;  // of all that is kept of requests and replies
  std::string cors_origin;  // that browsers may call from: "*", an origin; empty: none
  bool splices = true;      // replies that come back take their own tokens' place
  PrefixHygiene hygiene;
  // Of replies whose request names no limit; 0: what the context leaves.
  std::int64_t max_reply_tokens = 0;
  bool drop_media = false;  // images and files become a note to the model, instead of an error
  ReplyObserver observer;   // told what became of each request
  // Told of requests that were refused before they ran, in one line without their text.
  std::function<void(const std::string& line)> refused;
  std::function<HttpServerCounts()> http_counts;  // for the metrics
};

class ApiServer final : public HttpHandler {
 public:
  // What is given must outlive this.
  ApiServer(ModelHost& models, Callers& callers, ServerMetrics& metrics, ApiServerOptions options);

  std::optional<HttpResponse> AnswerHead(const HttpRequest& head) override;
  bool IsAside(const HttpRequest& head) override;
  HttpReply Handle(HttpRequest request) override;
  HttpResponse Failure(const HttpRequest& head, int status, std::string_view why) override;

  // From now on new requests get 503.
  void StartDraining() { draining_ = true; }

 private:
  HttpResponse WithCors(HttpResponse response) const;
  // What is sent; a refusal is logged and counted. `key`: whose it is, by name, if that is known.
  HttpResponse Sent(const HttpRequest& head, const std::string& key, HttpResponse response) const;
  // Whether its model has yet to be loaded.
  bool MustWait(const ApiCall& call) const;
  HttpReply Defer(const ApiRoute& route, ApiCall call);
  HttpReply AnswerDeferred(const ApiRoute& route, const std::shared_ptr<ApiCall>& call);
  HttpResponse AnswerAtOnce(const ApiRoute& route, const HttpRequest& head, Dialect dialect);

  ApiContext context_;
  ApiServerOptions options_;
  std::atomic<bool> draining_{false};
};

}  // namespace folio

#endif  // FOLIO_SERVER_API_SERVER_H_
