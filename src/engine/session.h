// One sequence on a loaded model: its tokens, its KV blocks, and the logits that follow its last
// token.
#ifndef FOLIO_ENGINE_SESSION_H_
#define FOLIO_ENGINE_SESSION_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/loaded_model.h"
#include "kvcache/block_pool.h"

namespace folio {

class Session {
 public:
  explicit Session(LoadedModel& model);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Tokens whose keys and values are in the cache.
  const std::vector<TokenId>& tokens() const { return tokens_; }
  std::int64_t context() const { return model_->plan().context; }
  const Tokenizer& tokenizer() const { return model_->tokenizer(); }

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

  // Forgets everything after the first `keep` tokens. Logits are then empty until the next Append.
  void Truncate(std::int64_t keep);

  // Makes the sequence exactly `prompt`, computing only what follows the longest common prefix with
  // the present tokens (at least the last token, for its logits). Returns how many tokens were
  // already there.
  Result<std::int64_t> SetPrompt(std::span<const TokenId> prompt);

 private:
  Status Compute(std::span<const TokenId> tokens, bool last, float* all_logits);

  LoadedModel* model_;
  std::vector<TokenId> tokens_;
  BlockTable block_table_;
  std::vector<float> logits_;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_SESSION_H_
