// How many of a reply's tokens were reasoning: the same number however the tokens come together in
// deltas, since text is parsed token by token.
#ifndef FOLIO_SERVER_REASONING_COUNT_H_
#define FOLIO_SERVER_REASONING_COUNT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "api/reply_piece.h"

namespace folio {

// Of one choice.
class ReasoningCount {
 public:
  // One more token was drawn, of so many bytes of text; none for a control token. Its text may come
  // later than it, in whole characters.
  void AddToken(std::size_t bytes);
  // Of `most` further bytes of text, how many belong to the token that is told now: 1 to `most`.
  std::size_t UpToTokensEnd(std::size_t most) const;
  // So many further bytes were parsed, and `made` came of it.
  void Told(std::size_t bytes, std::span<const ReplyPiece> made);

  // Up to the last one that reasoning came of; its closing mark is none.
  std::int64_t tokens() const { return tokens_; }

 private:
  std::size_t drawn_ = 0;         // bytes of all tokens
  std::size_t told_ = 0;          // bytes of text that were parsed
  std::deque<std::size_t> ends_;  // of tokens whose text is not whole yet, in bytes of all text
  std::int64_t whole_ = 0;        // tokens before those
  std::size_t whole_end_ = 0;     // where their text ends
  std::int64_t tokens_ = 0;
};

// Neighbours of a kind that are texts become one.
void JoinPieces(std::vector<ReplyPiece>& pieces);

}  // namespace folio

#endif  // FOLIO_SERVER_REASONING_COUNT_H_
