// Grammars over a model's tokens: which token may come next. llguidance behind bridge/.
#ifndef FOLIO_TEXT_GRAMMAR_H_
#define FOLIO_TEXT_GRAMMAR_H_

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "folio/reply_grammar.h"
#include "text/bridge.h"
#include "text/tokenizer.h"

namespace folio {

// Where one reply stands in its grammar. After an error only errors follow.
class GrammarMatcher {
 public:
  // One at the same place that shares nothing: what one draws can't change what another may.
  Result<GrammarMatcher> Copy() const;

  // The tokens that may come next: token t is bit t % 32 of word t / 32, for every token of the
  // vocabulary. End tokens are among them exactly where the reply may end. Valid until the next
  // call.
  Result<std::span<const std::uint32_t>> Allowed();
  // Takes the token that came, no end token.
  Status Take(TokenId token);
  // Nothing may follow.
  bool complete() const { return complete_; }

 private:
  friend class GrammarCompiler;
  GrammarMatcher(BridgeMatcher matcher, std::size_t words)
      : matcher_(std::move(matcher)), allowed_(words) {}

  BridgeMatcher matcher_;
  std::vector<std::uint32_t> allowed_;
  bool complete_ = false;
};

// Compiles grammars for one tokenizer. The first one takes longer, up to a second for a large
// vocabulary, and from then on about 450 bytes a token are kept.
class GrammarCompiler {
 public:
  // `tokenizer` must outlive it and stay where it is.
  explicit GrammarCompiler(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  // A matcher at the beginning of `grammar`, of any kind but kNone. A usage error says what can't
  // be used of it: too large, too deep, a keyword that isn't known, no reply that would fit.
  // Bounded in time (a second was the longest seen) and thread safe.
  Result<GrammarMatcher> Compile(const ReplyGrammar& grammar) const;

 private:
  Result<const FolioGrammarFactory*> Factory() const;

  const Tokenizer* tokenizer_;
  mutable std::mutex mutex_;
  mutable BridgeGrammarFactory factory_;
};

}  // namespace folio

#endif  // FOLIO_TEXT_GRAMMAR_H_
