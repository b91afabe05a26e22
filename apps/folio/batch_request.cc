#include "folio/batch_request.h"

#include <algorithm>
#include <utility>

#include "api/reply_grammar.h"

namespace folio {
namespace {

Status CheckEnds(const Outcome& outcome) {
  for (const Reply& reply : outcome.choices) {
    if (reply.finish_reason == FinishReason::kError) return std::unexpected(reply.error);
    if (reply.finish_reason == FinishReason::kCancelled)
      return RuntimeError("request", "", "cancelled");
  }
  return {};
}

// What a batch has no means to enforce is refused, not ignored.
Status CheckForced(const ApiRequest& request) {
  const auto choice = request.tool_choice.kind;
  if (choice == ToolChoice::Kind::kRequired || choice == ToolChoice::Kind::kNamed) {
    return UsageError("", "tool_choice", "forces a call: calls are not forced yet");
  }
  if (std::ranges::any_of(request.tools, &Tool::strict)) {
    return UsageError("", "tools", "are strict: calls are not held to a schema yet");
  }
  return {};
}

}  // namespace

void RunningStreams::Add(Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.insert(&stream);
  if (cancelled_) stream.Cancel();
}

void RunningStreams::Remove(Stream& stream) {
  const std::lock_guard lock(mutex_);
  streams_.erase(&stream);
}

void RunningStreams::CancelAll() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (Stream* stream : streams_) stream->Cancel();
}

bool RunningStreams::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancelled_;
}

BatchRequest::BatchRequest(Engine& engine, RunningStreams& running, ApiRequest request)
    : engine_(&engine), running_(&running), request_(std::move(request)) {}

BatchRequest::~BatchRequest() {
  for (const auto& stream : streams_) {
    if (stream != nullptr) running_->Remove(*stream);
  }
}

Result<Request> BatchRequest::Make(std::size_t prompt) {
  Request request = request_.request;
  if (request_.prompts.empty()) {
    if (Status able = CheckForced(request_); !able) return std::unexpected(able.error());
    request.grammar = GrammarOf(request_, {.calls = SpellingOf(CallSyntax::kHermes)});
    auto rendered =
        engine_->RenderChat(DumpJson(request_.messages), DumpJson(TemplateVariables(request_)));
    if (!rendered) return std::unexpected(rendered.error());
    request.prompt = std::move(rendered->tokens);
    request.parts = std::move(rendered->parts);
  } else if (auto* ids = std::get_if<std::vector<std::int32_t>>(&request_.prompts[prompt])) {
    request.prompt = std::move(*ids);
  } else {
    auto tokens = engine_->Tokenize(std::get<std::string>(request_.prompts[prompt]));
    if (!tokens) return std::unexpected(tokens.error());
    request.prompt = *std::move(tokens);
    request_.prompts[prompt] = std::string();
  }
  // Prompts of one request draw differently, as its choices do.
  request.sampling.seed = request_.seed.value_or(0) + prompt;
  if (request.retention != CacheRetention::kNone) {
    request.retained_tokens = static_cast<std::int64_t>(request.prompt.size());
  }
  return request;
}

Status BatchRequest::SubmitNext() {
  Result<Request> request = Make(submitted_);
  if (!request) return std::unexpected(request.error());
  Result<Stream> stream = engine_->Submit(*std::move(request));
  if (!stream) return std::unexpected(BlameRequest(request_, stream.error()));
  streams_.push_back(std::make_unique<Stream>(*std::move(stream)));
  running_->Add(*streams_.back());
  ++submitted_;
  return {};
}

Status BatchRequest::Submit(std::size_t window) {
  while (submitted_ < prompts() && submitted_ < window) {
    if (Status submitted = SubmitNext(); !submitted) return submitted;
  }
  return {};
}

Result<std::vector<Outcome>> BatchRequest::Finish(
    std::size_t window, const std::function<void(std::int64_t)>& on_tokens) {
  std::vector<Outcome> outcomes;
  for (std::size_t prompt = 0; prompt < prompts(); ++prompt) {
    if (Status submitted = Submit(prompt + window); !submitted) {
      return std::unexpected(submitted.error());
    }
    Stream& stream = *streams_[prompt];
    while (const auto delta = stream.Next()) {
      on_tokens(static_cast<std::int64_t>(delta->samples.size()));
    }
    if (Status ended = CheckEnds(stream.outcome()); !ended) return std::unexpected(ended.error());
    outcomes.push_back(stream.outcome());
    running_->Remove(stream);
    streams_[prompt].reset();
  }
  return outcomes;
}

}  // namespace folio
