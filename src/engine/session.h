// One sequence alone on a loaded model, with no cache, no scheduler and no other sequence beside
// it: the reference that the engine's replies must equal bit for bit, and the tool of commands that
// look at every logit.
#ifndef FOLIO_ENGINE_SESSION_H_
#define FOLIO_ENGINE_SESSION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/batch_runner.h"
#include "engine/loaded_model.h"

namespace folio {

class Session {
 public:
  explicit Session(LoadedModel& model);
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&&) = delete;

  // Tokens whose keys and values are in the cache.
  const std::vector<TokenId>& tokens() const { return tokens_; }
  std::int64_t context() const { return model_->plan().context; }

  // Whether Append would take `tokens` now: a usage error with the numbers if the context has no
  // room or an id is outside the vocabulary.
  Status CheckTokens(std::span<const TokenId> tokens) const;

  // Computes `tokens` after the present ones, in chunks of max_batch_tokens. With `all_logits`, it
  // receives the logits of every one of them, [tokens, vocab]; else only the last token's are
  // computed (see logits()). More tokens than the context holds are a usage error with both
  // numbers, and nothing is computed.
  Status Append(std::span<const TokenId> tokens, std::vector<float>* all_logits = nullptr);

  // Logits after the last token, [vocab]; empty before the first Append.
  std::span<const float> logits() const { return logits_; }

  // A session that goes on from here by itself. It shares this one's blocks.
  Session Fork() const;

 private:
  Status Compute(std::span<const TokenId> tokens, bool last, float* all_logits);

  LoadedModel* model_;
  BatchRunner runner_;
  SequenceBlocks blocks_;
  TokenChain no_names_;  // empty: nothing of a session is ever shared
  std::vector<TokenId> tokens_;
  std::vector<float> logits_;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_SESSION_H_
