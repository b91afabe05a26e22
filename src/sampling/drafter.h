// Proposes how one reply goes on, from its prompt and itself. What is proposed is verified as rows
// of the reply's next step: since a row's bits do not depend on the rows beside it, the reply is
// that of plain decoding, and a draft can only cost or save time.
#ifndef FOLIO_SAMPLING_DRAFTER_H_
#define FOLIO_SAMPLING_DRAFTER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/draft_length.h"
#include "sampling/ngram_index.h"

namespace folio {

class Drafter {
 public:
  // For a text of at most so many tokens.
  explicit Drafter(std::int64_t most_tokens) : index_(most_tokens) {}

  static std::size_t Bytes(std::int64_t most_tokens) { return NgramIndex::Bytes(most_tokens); }

  // Fills `draft` with the tokens that may follow `tokens`, at most `most` of them and none where
  // none pays. `row_cost` as in DraftLength.
  void Propose(std::span<const std::int32_t> tokens, double row_cost, std::int64_t most,
               std::vector<std::int32_t>& draft);

  // Of the last draft, the first `proposed` tokens were verified and `accepted` of them right.
  void Note(std::int64_t proposed, std::int64_t accepted);

 private:
  NgramIndex index_;
  DraftLength length_;
  int match_ = 0;  // of the last draft
};

}  // namespace folio

#endif  // FOLIO_SAMPLING_DRAFTER_H_
