#include "server/deferred_reply.h"

#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "api/sse_event.h"
#include "server/reply_stream.h"

namespace folio {

// What the thread that loads models writes and the network thread reads.
struct DeferredReply::State {
  std::mutex mutex;
  std::function<void()> ready;
  std::optional<HttpReply> reply;

  void Give(HttpReply made) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      reply = std::move(made);
      call = ready;
    }
    if (call) call();
  }
};

DeferredReply::DeferredReply(ModelHost& models, Parts parts)
    : stream_(parts.stream),
      fields_(std::move(parts.fields)),
      as_event_(std::move(parts.as_event)),
      state_(std::make_shared<State>()),
      since_(std::chrono::steady_clock::now()) {
  const std::weak_ptr<State> weak = state_;
  models.WhenLoaded(
      parts.model, weak,
      [weak, answer = std::move(parts.answer), refuse = std::move(parts.refuse)](
          const std::expected<ModelHost::ModelUse, ApiError>& model) {
        const auto state = weak.lock();
        if (state == nullptr) return;
        if (!model) return state->Give(refuse(model.error()));
        try {
          state->Give(answer());
        } catch (const std::exception&) {
          state->Give(refuse({.kind = ApiError::Kind::kInternal,
                              .message = "the server has no memory for this request"}));
        }
      });
}

void DeferredReply::OnReady(std::function<void()> ready) {
  bool now = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ready = ready;
    now = state_->reply.has_value();
  }
  if (now && ready) ready();
}

// Of the reply's own head only one can be sent.
HttpPart DeferredReply::Passed(HttpPart part) {
  if (begun_) part.head.reset();
  begun_ = begun_ || part.head.has_value();
  return part;
}

HttpPart DeferredReply::Told(HttpResponse response) {
  HttpPart part{.last = true};
  part.bytes = begun_ && stream_ ? as_event_(response) : std::move(response.body);
  if (!begun_) part.head = std::move(response.head);
  return part;
}

HttpPart DeferredReply::Next() {
  if (reply_ != nullptr) return Passed(reply_->Next());
  std::optional<HttpReply> reply;
  std::function<void()> ready;
  {
    const std::lock_guard lock(state_->mutex);
    reply = std::exchange(state_->reply, std::nullopt);
    ready = state_->ready;
  }
  if (!reply) return {};
  if (auto* whole = std::get_if<HttpResponse>(&*reply)) return Told(std::move(*whole));
  reply_ = std::move(std::get<std::unique_ptr<HttpStream>>(*reply));
  reply_->OnReady(std::move(ready));
  return Passed(reply_->Next());
}

HttpPart DeferredReply::KeepAlive() {
  if (reply_ != nullptr) return Passed(reply_->KeepAlive());
  HttpPart part;
  const bool begins = stream_ || std::chrono::steady_clock::now() - since_ >= kWholeHeadDelay;
  if (!begun_ && !begins) return part;
  if (!begun_) part.head = HeadOfReply(stream_, fields_);
  begun_ = true;
  part.bytes = stream_ ? SseComment("the model is being loaded") : "\n";
  return part;
}

}  // namespace folio
