#include "engine/generate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sampling/stop_matcher.h"

namespace folio {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Gathers final text and passes it on.
class TextSink {
 public:
  TextSink(const Tokenizer& tokenizer, std::vector<std::string> stop, const OnText& on_text,
           Generation& generation)
      : decoder_(tokenizer),
        matcher_(std::move(stop)),
        on_text_(on_text),
        generation_(generation) {}

  // False once a stop string was met or the caller cancelled; the reason is then set.
  bool Push(TokenId token) { return Emit(matcher_.Push(decoder_.Push(token))); }
  // The reply is over for another reason: text that was held back is final after all.
  void Finish() {
    if (Emit(matcher_.Push(decoder_.Finish()))) Emit(matcher_.Finish());
  }

 private:
  bool Emit(const std::string& text) {
    generation_.text += text;
    if (!text.empty() && on_text_ && !on_text_(text)) {
      generation_.finish_reason = FinishReason::kCancelled;
      return false;
    }
    if (matcher_.stopped()) {
      generation_.finish_reason = FinishReason::kStop;
      return false;
    }
    return true;
  }

  IncrementalDecoder decoder_;
  StopMatcher matcher_;
  const OnText& on_text_;
  Generation& generation_;
};

bool IsEnd(const Tokenizer& tokenizer, TokenId token) {
  const std::vector<TokenId>& ends = tokenizer.end_tokens();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

// Samples, emits and appends until something ends the reply. The session always holds every
// generated token but the last.
Status Decode(Session& session, const Tokenizer& tokenizer, std::vector<TokenId> history,
              const GenerateOptions& options, TextSink& sink, Generation& generation) {
  Sampler sampler(options.sampling);
  while (true) {
    const auto position = static_cast<std::int64_t>(history.size());
    const auto generated = static_cast<std::int64_t>(generation.tokens.size());
    if ((options.max_tokens >= 0 && generated >= options.max_tokens) ||
        position >= session.context()) {
      generation.finish_reason = FinishReason::kLength;
      sink.Finish();
      return {};
    }
    Result<Sample> sample = sampler.Draw(session.logits(), history, position);
    if (!sample) return std::unexpected(sample.error());
    const TokenId token = sample->token;
    generation.tokens.push_back(token);
    history.push_back(token);
    if (options.sampling.logprobs) generation.samples.push_back(*std::move(sample));
    if (!options.ignore_end_tokens && IsEnd(tokenizer, token)) {
      generation.finish_reason = FinishReason::kStop;
      sink.Finish();
      return {};
    }
    if (!sink.Push(token)) return {};
    const bool wants_more = options.max_tokens < 0 || generated + 1 < options.max_tokens;
    if (wants_more && position + 1 < session.context()) {
      if (Status appended = session.Append({&token, 1}); !appended) return appended;
    }
  }
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

Result<Generation> Generate(Session& session, std::span<const TokenId> prompt,
                            const GenerateOptions& options, const OnText& on_text) {
  if (Status checked = CheckSamplingParams(options.sampling); !checked)
    return std::unexpected(checked.error());
  Generation generation;
  generation.prompt_tokens = static_cast<std::int64_t>(prompt.size());
  const auto start = std::chrono::steady_clock::now();
  const Result<std::int64_t> cached = session.SetPrompt(prompt);
  if (!cached) return std::unexpected(cached.error());
  generation.cached_tokens = *cached;
  generation.prefill_seconds = SecondsSince(start);

  const auto decode_start = std::chrono::steady_clock::now();
  TextSink sink(session.tokenizer(), options.stop, on_text, generation);
  Status decoded = Decode(session, session.tokenizer(), {prompt.begin(), prompt.end()}, options,
                          sink, generation);
  if (!decoded) return std::unexpected(decoded.error());
  generation.decode_seconds = SecondsSince(decode_start);
  return generation;
}

}  // namespace folio
