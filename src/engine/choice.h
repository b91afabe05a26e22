// One reply in the making: draws tokens, turns them into text, and says when it is over.
#ifndef FOLIO_ENGINE_CHOICE_H_
#define FOLIO_ENGINE_CHOICE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "folio/engine.h"
#include "sampling/sampler.h"
#include "sampling/stop_matcher.h"
#include "text/grammar.h"
#include "text/tokenizer.h"

namespace folio {

class Choice {
 public:
  // `most_tokens`: of the reply, by the request and the context together. `request` and `tokenizer`
  // must outlive the choice. `grammar`: what the reply must keep to, at its beginning.
  Choice(const Request& request, const Tokenizer& tokenizer, int index, std::int64_t most_tokens,
         std::optional<GrammarMatcher> grammar = std::nullopt);

  int index() const { return index_; }
  std::int64_t generated() const { return generated_; }
  std::int64_t tokens_left() const { return most_tokens_ - generated_; }
  bool finished() const { return finished_.has_value(); }

  // Draws the token at `position`, which follows `history`: read where reads_history() says so. If
  // the reply goes on, it is the next to compute; otherwise finished() is set. Bad logits, and
  // a grammar that became too complex, end the reply with an error.
  std::int32_t Draw(std::span<const float> logits, std::span<const std::int32_t> history,
                    std::int64_t position);
  bool reads_history() const { return sampler_.HasPenalties(); }

  // Ends a reply that is not finished; of kError, with the reason.
  void End(FinishReason reason, Error error = {});

  // What is new since the last call; empty if nothing can be shown and nothing ended.
  std::optional<Delta> TakeDelta();
  // Everything, once finished.
  Reply TakeReply();

 private:
  Result<Sample> DrawAllowed(std::span<const float> logits, std::span<const std::int32_t> history,
                             std::int64_t position);
  void Emit(std::string_view text);
  void EmitControl(std::int32_t token);
  void Finish(FinishReason reason);

  const Request* request_;
  const Tokenizer* tokenizer_;
  int index_;
  std::int64_t most_tokens_;
  std::int64_t generated_ = 0;
  Sampler sampler_;
  std::optional<GrammarMatcher> grammar_;
  IncrementalDecoder decoder_;
  StopMatcher matcher_;
  Reply reply_;
  Delta delta_;
  std::optional<FinishReason> finished_;
  bool told_ = false;  // that it finished
};

}  // namespace folio

#endif  // FOLIO_ENGINE_CHOICE_H_
