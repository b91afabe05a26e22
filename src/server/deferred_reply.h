// A reply whose model has yet to be loaded: the client is kept waiting as its API allows, and then
// gets what the endpoint answers.
#ifndef FOLIO_SERVER_DEFERRED_REPLY_H_
#define FOLIO_SERVER_DEFERRED_REPLY_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "api/api_error.h"
#include "http/http_message.h"
#include "server/model_host.h"

namespace folio {

class DeferredReply final : public HttpStream {
 public:
  struct Parts {
    std::string model;  // as asked for
    bool stream = false;
    HttpFields fields;  // of the head, where it is sent before there is a reply
    // Called once the model is loaded, which it stays meanwhile, or can't be.
    std::function<HttpReply()> answer;
    std::function<HttpResponse(const ApiError& error)> refuse;
    // A refusal as an event of a stream whose head was sent.
    std::function<std::string(const HttpResponse& refusal)> as_event;
  };
  DeferredReply(ModelHost& models, Parts parts);

  void OnReady(std::function<void()> ready) override;
  HttpPart Next() override;
  HttpPart KeepAlive() override;

 private:
  struct State;
  HttpPart Told(HttpResponse response);
  HttpPart Passed(HttpPart part);

  bool stream_;
  HttpFields fields_;
  std::function<std::string(const HttpResponse& refusal)> as_event_;
  std::shared_ptr<State> state_;
  std::unique_ptr<HttpStream> reply_;
  bool begun_ = false;  // the head was given
  std::chrono::steady_clock::time_point since_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_DEFERRED_REPLY_H_
