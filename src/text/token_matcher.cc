#include "text/token_matcher.h"

#include <algorithm>
#include <functional>

namespace folio {

TokenMatcher::TokenMatcher(const Spellings& spellings, const std::vector<TokenId>& ids)
    : index_(spellings, ids.size()) {
  for (const TokenId id : ids) {
    const std::string_view spelling = spellings[static_cast<std::size_t>(id)];
    if (spelling.empty()) continue;
    index_.Add(id);
    lengths_[static_cast<unsigned char>(spelling[0])].push_back(
        static_cast<std::uint32_t>(spelling.size()));
  }
  for (auto& lengths : lengths_) {
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    lengths.shrink_to_fit();
  }
}

std::optional<TokenMatcher::Match> TokenMatcher::Next(std::string_view text,
                                                      std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    for (const std::uint32_t length : lengths_[static_cast<unsigned char>(text[begin])]) {
      if (length > text.size() - begin) continue;
      const TokenId id = index_.Find(text.substr(begin, length));
      if (id >= 0) return Match{begin, begin + length, id};
    }
  }
  return std::nullopt;
}

}  // namespace folio
