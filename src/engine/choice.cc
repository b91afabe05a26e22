#include "engine/choice.h"

#include <algorithm>
#include <utility>

namespace folio {

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "unknown";
}

Choice::Choice(const Request& request, const Tokenizer& tokenizer, int index,
               std::int64_t most_tokens, std::optional<GrammarMatcher> grammar)
    : request_(&request),
      tokenizer_(&tokenizer),
      index_(index),
      most_tokens_(most_tokens),
      sampler_(request.sampling, static_cast<std::uint32_t>(index)),
      grammar_(std::move(grammar)),
      decoder_(tokenizer),
      matcher_(request.stop) {
  delta_.choice = index;
}

Result<Sample> Choice::DrawAllowed(std::span<const float> logits,
                                   std::span<const std::int32_t> history, std::int64_t position) {
  if (!grammar_) return sampler_.Draw(logits, history, position);
  const Result<std::span<const std::uint32_t>> allowed = grammar_->Allowed();
  if (!allowed) return std::unexpected(allowed.error());
  return sampler_.Draw(logits, history, position, *allowed);
}

std::int32_t Choice::Draw(std::span<const float> logits, std::span<const std::int32_t> history,
                          std::int64_t position) {
  Result<Sample> sample = DrawAllowed(logits, history, position);
  if (!sample) {
    End(FinishReason::kError, std::move(sample.error()));
    return 0;
  }
  const std::int32_t token = sample->token;
  ++generated_;
  delta_.samples.push_back(*sample);
  reply_.samples.push_back(*std::move(sample));
  const std::vector<TokenId>& ends = tokenizer_->end_tokens();
  if (!request_->ignore_end_tokens && std::ranges::find(ends, token) != ends.end()) {
    Finish(FinishReason::kStop);
    return token;
  }
  if (grammar_) {
    if (Status taken = grammar_->Take(token); !taken) {
      End(FinishReason::kError, std::move(taken.error()));
      return token;
    }
  }
  if (request_->tell_controls && tokenizer_->IsControl(token)) {
    EmitControl(token);
  } else {
    Emit(matcher_.Push(decoder_.Push(token)));
  }
  if (matcher_.stopped()) {
    finished_ = FinishReason::kStop;
  } else if (grammar_ && grammar_->complete()) {
    Finish(FinishReason::kStop);
  } else if (generated_ >= most_tokens_) {
    Finish(FinishReason::kLength);
  }
  return token;
}

void Choice::End(FinishReason reason, Error error) {
  if (finished_) return;
  reply_.error = std::move(error);
  Finish(reason);
}

void Choice::Emit(std::string_view text) {
  reply_.text += text;
  delta_.text += text;
}

// What was held back before it is final: it ends there.
void Choice::EmitControl(std::int32_t token) {
  Emit(matcher_.Push(decoder_.Finish()));
  if (matcher_.stopped()) return;
  Emit(matcher_.Finish());
  delta_.controls.push_back({.offset = delta_.text.size(), .token = token});
}

// Text that was held back is final after all.
void Choice::Finish(FinishReason reason) {
  Emit(matcher_.Push(decoder_.Finish()));
  if (matcher_.stopped()) reason = FinishReason::kStop;
  Emit(matcher_.Finish());
  finished_ = reason;
}

std::optional<Delta> Choice::TakeDelta() {
  const bool tells = finished_ && !told_;
  if (delta_.text.empty() && delta_.samples.empty() && !tells) return std::nullopt;
  told_ = finished_.has_value();
  delta_.finished = finished_;
  if (finished_) delta_.stop_string = matcher_.matched();
  return std::exchange(delta_, Delta{.choice = index_});
}

Reply Choice::TakeReply() {
  reply_.stop_string = matcher_.matched();
  reply_.finish_reason = finished_.value_or(FinishReason::kCancelled);
  return std::move(reply_);
}

}  // namespace folio
