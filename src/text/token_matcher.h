// Cuts text at the spellings of whole tokens that are matched before any merging: user-defined
// ones, and control tokens where the caller asks for them. Leftmost first, then longest, as Hugging
// Face's added tokens match.
#ifndef FOLIO_TEXT_TOKEN_MATCHER_H_
#define FOLIO_TEXT_TOKEN_MATCHER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/token_index.h"

namespace folio {

class TokenMatcher {
 public:
  struct Match {
    std::size_t begin;
    std::size_t end;
    TokenId id;
  };

  // `spellings` must outlive the matcher and stay where it is; empty ones are ignored.
  TokenMatcher(const Spellings& spellings, const std::vector<TokenId>& ids);

  // The first match at or after `from`.
  std::optional<Match> Next(std::string_view text, std::size_t from) const;

 private:
  TokenIndex index_;
  // Lengths of the spellings that begin with each byte, longest first.
  std::array<std::vector<std::uint32_t>, 256> lengths_;
};

}  // namespace folio

#endif  // FOLIO_TEXT_TOKEN_MATCHER_H_
