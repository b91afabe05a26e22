// Replies drawn at random from what a grammar allows, for tests and fuzzers.
#ifndef FOLIO_TEXT_GRAMMAR_WALK_H_
#define FOLIO_TEXT_GRAMMAR_WALK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar.h"
#include "text/tokenizer.h"

namespace folio::testing {

inline bool IsSet(std::span<const std::uint32_t> mask, TokenId token) {
  const auto index = static_cast<std::size_t>(token);
  return (mask[index / 32] >> (index % 32) & 1U) != 0;
}

class GrammarWalk {
 public:
  GrammarWalk(const Tokenizer& tokenizer, std::uint64_t seed)
      : tokenizer_(&tokenizer), random_(seed) {}

  // Takes allowed tokens until the reply may end. Its bytes; nothing if it had no end after so many
  // tokens or the grammar became too complex.
  std::optional<std::string> Run(GrammarMatcher& matcher, int most_tokens) {
    std::string bytes;
    for (int i = 0; i < most_tokens; ++i) {
      if (matcher.complete()) return bytes;
      const auto mask = matcher.Allowed();
      if (!mask) return std::nullopt;
      if (IsSet(*mask, tokenizer_->end_tokens().front()) && random_() % 2 == 0) return bytes;
      const TokenId token = Choose(*mask);
      if (token < 0) return bytes;  // nothing but the end
      if (!matcher.Take(token)) return std::nullopt;
      bytes += tokenizer_->TokenBytes(token);
    }
    return std::nullopt;
  }

 private:
  bool IsEnd(TokenId token) const {
    return std::ranges::find(tokenizer_->end_tokens(), token) != tokenizer_->end_tokens().end();
  }

  // One at random, closing marks more often than others.
  TokenId Choose(std::span<const std::uint32_t> mask) {
    std::vector<TokenId> allowed;
    std::vector<TokenId> closing;
    for (TokenId id = 0; id < tokenizer_->vocab_size(); ++id) {
      if (!IsSet(mask, id) || IsEnd(id)) continue;
      allowed.push_back(id);
      const std::string_view bytes = tokenizer_->TokenBytes(id);
      if (bytes == "\"" || bytes == "]" || bytes == "}") closing.push_back(id);
    }
    if (!closing.empty() && random_() % 4 == 0) allowed = closing;
    return allowed.empty() ? -1 : allowed[random_() % allowed.size()];
  }

  const Tokenizer* tokenizer_;
  std::mt19937_64 random_;
};

}  // namespace folio::testing

#endif  // FOLIO_TEXT_GRAMMAR_WALK_H_
