// Finds a token by its spelling: open addressing over ids, 8 bytes a token, since a vocabulary of
// 262,144 tokens is on the way to the first token of a reply. Lookups are O(1) expected.
#ifndef FOLIO_TEXT_TOKEN_INDEX_H_
#define FOLIO_TEXT_TOKEN_INDEX_H_

#include <bit>
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace folio {

class TokenIndex {
 public:
  // `spellings` must outlive the index and stay where it is.
  TokenIndex(const Spellings& spellings, std::size_t most)
      : spellings_(&spellings), slots_(std::bit_ceil(2 * most + 2), -1) {}

  // Of equal spellings the one added first stays.
  void Add(TokenId id) {
    TokenId& slot = slots_[Slot((*spellings_)[static_cast<std::size_t>(id)])];
    if (slot < 0) slot = id;
  }

  // -1 if there is none.
  TokenId Find(std::string_view spelling) const { return slots_[Slot(spelling)]; }

 private:
  std::size_t Slot(std::string_view spelling) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>{}(spelling)&mask;
    while (slots_[slot] >= 0 && (*spellings_)[static_cast<std::size_t>(slots_[slot])] != spelling) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  const Spellings* spellings_;
  std::vector<TokenId> slots_;
};

}  // namespace folio

#endif  // FOLIO_TEXT_TOKEN_INDEX_H_
