#include "server/submit_reply.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "api/reply_grammar.h"
#include "engine/loaded_model.h"

namespace folio {
namespace {

ApiError SubmitError(const Error& error, const RenderedRequest& rendered,
                     const ServedModel& model) {
  ApiError out = ApiErrorOf(error);
  if (error.kind == ErrorKind::kRuntime) {
    out.kind = ApiError::Kind::kUnavailable;  // a full queue, or an engine that ends
    const double seconds = model.engine().SecondsUntilRoom();
    if (error.what == "queue" && seconds > 0) {
      out.retry_after_seconds = seconds;
      out.message +=
          "; try again in about " + std::to_string(std::llround(std::ceil(seconds))) + " s";
    }
  } else if (error.what == "prompt" && error.where == "tokens") {
    out.kind = ApiError::Kind::kContextOverflow;
    out.prompt_tokens = rendered.prompt_tokens;
    out.limit_tokens = model.engine().LongestPrompt();
  } else if (error.what == "choices") {
    out.param = "n";
    out.message = "n: " + error.why;
  } else if (out.param.empty() && error.what == "prompt") {
    out.param = "prompt";
  }
  return out;
}

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// The longest wish of all marks, up to where it stands; a wish of the request's own means all of
// the prompt.
void SetRetention(const ApiRequest& api, const std::vector<std::int64_t>& mark_tokens,
                  Request& request) {
  if (request.retention != CacheRetention::kNone) {
    request.retained_tokens = static_cast<std::int64_t>(request.prompt.size());
  }
  for (std::size_t i = 0; i < mark_tokens.size(); ++i) {
    if (api.marks[i].retention < request.retention) continue;
    request.retention = api.marks[i].retention;
    request.retained_tokens = mark_tokens[i];
  }
}

// A turn of a conversation asks to be kept like a marked prompt, if it carries no mark.
void SetSessionRetention(const ApiRequest& api, std::int64_t prompt_tokens, const std::string& salt,
                         SessionTable& sessions, Request& request) {
  if (api.session.empty()) return;
  const bool is_turn = sessions.IsTurn(salt + "\n" + api.session, prompt_tokens);
  if (!is_turn || request.retained_tokens > 0) return;
  request.retention = std::max(request.retention, CacheRetention::k5Minutes);
  request.retained_tokens = prompt_tokens;
}

// What a conversation's reply must keep to.
ReplyGrammar GrammarFor(const ReplyJob& job, bool in_reasoning) {
  if (!job.request.prompts.empty() || job.request.tells_nothing) return {};
  const ServedModel& model = *job.model;
  return GrammarOf(job.request,
                   FrameOf(model.syntax(), in_reasoning, [&model](const std::string& mark) {
                     return model.engine().model().tokenizer().FindSpecial(mark);
                   }));
}

// Submits once more, without the schemas that can't be held to and that the caller doesn't insist
// on.
Result<Stream> SubmitLoosely(ReplyJob& job, bool in_reasoning, Request request) {
  Engine& engine = job.model->engine();
  LoosenSchemas(job.request,
                [&engine](const ReplyGrammar& grammar) { return engine.CheckGrammar(grammar); });
  request.grammar = GrammarFor(job, in_reasoning);
  return engine.Submit(std::move(request));
}

}  // namespace

std::expected<std::vector<Stream>, ApiError> SubmitReply(ReplyJob& job, RenderedRequest& rendered,
                                                         SessionTable& sessions) {
  std::vector<Stream> streams;
  const ReplyGrammar grammar = GrammarFor(job, rendered.in_reasoning);
  const bool may_loosen = grammar.kind != ReplyGrammar::Kind::kNone && HasLooseSchemas(job.request);
  const std::uint64_t seed = job.request.seed ? *job.request.seed : RandomSeed();
  for (Engine::Prompt& prompt : rendered.prompts) {
    Request request = job.request.request;
    request.prompt = std::move(prompt.tokens);
    request.parts = std::move(prompt.parts);
    request.sampling.seed = seed + streams.size();
    request.cache_salt = job.salt + job.request.request.cache_salt;
    request.owner = job.key.empty() ? job.salt : job.key;
    request.tell_controls = job.request.prompts.empty();
    request.tell_arrival = true;
    request.grammar = grammar;
    SetRetention(job.request, rendered.mark_tokens, request);
    SetSessionRetention(job.request, static_cast<std::int64_t>(request.prompt.size()), job.salt,
                        sessions, request);
    std::optional<Request> again;  // grammars are compiled by Submit: nothing is tried beforehand
    if (may_loosen) again = request;
    auto stream = job.model->engine().Submit(std::move(request));
    if (!stream && again && stream.error().what == "grammar") {
      stream = SubmitLoosely(job, rendered.in_reasoning, *std::move(again));
    }
    if (!stream) {
      return std::unexpected(
          SubmitError(BlameRequest(job.request, stream.error()), rendered, *job.model));
    }
    streams.push_back(*std::move(stream));
  }
  return streams;
}

}  // namespace folio
