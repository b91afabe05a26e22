#include "sampling/ngram_index.h"

#include <algorithm>
#include <bit>

namespace folio {
namespace {

constexpr int kMostPlaces = 32;  // that one search looks at

std::size_t Places(std::int64_t most_tokens) {
  const auto window = std::clamp<std::int64_t>(most_tokens, 16, NgramIndex::kMostWindow);
  return std::bit_ceil(static_cast<std::size_t>(window));
}

// Tokens that agree going back from the ends of both.
int CommonSuffix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const auto most =
      std::min({a.size(), b.size(), static_cast<std::size_t>(NgramIndex::kMostLength)});
  std::size_t length = 0;
  while (length < most && a[a.size() - 1 - length] == b[b.size() - 1 - length]) ++length;
  return static_cast<int>(length);
}

}  // namespace

NgramIndex::NgramIndex(std::int64_t most_tokens)
    : latest_(Places(most_tokens)),
      previous_(Places(most_tokens)),
      bucket_mask_(latest_.size() - 1),
      place_mask_(previous_.size() - 1) {}

std::size_t NgramIndex::Bytes(std::int64_t most_tokens) {
  return 2 * Places(most_tokens) * sizeof(std::uint32_t);
}

std::size_t NgramIndex::Bucket(const std::int32_t* gram) const {
  std::uint64_t hash = 0;
  for (int i = 0; i < kGram; ++i) {
    hash = (hash ^ static_cast<std::uint32_t>(gram[i])) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return hash & bucket_mask_;
}

void NgramIndex::Update(std::span<const std::int32_t> tokens) {
  const auto size = static_cast<std::int64_t>(tokens.size());
  for (std::int64_t place = std::max<std::int64_t>(size_ + 1, kGram); place <= size; ++place) {
    std::uint32_t& latest = latest_[Bucket(tokens.data() + place - kGram)];
    previous_[static_cast<std::size_t>(place) & place_mask_] = latest;
    latest = static_cast<std::uint32_t>(place);
  }
  size_ = size;
}

NgramMatch NgramIndex::Find(std::span<const std::int32_t> tokens) const {
  NgramMatch best;
  if (size_ < kGram) return best;
  const auto window = static_cast<std::int64_t>(previous_.size());
  // The text's own last gram heads its bucket.
  std::int64_t place = previous_[static_cast<std::size_t>(size_) & place_mask_];
  for (int looked = 0; looked < kMostPlaces && place > size_ - window && place > 0; ++looked) {
    const int length = CommonSuffix(tokens, tokens.first(static_cast<std::size_t>(place)));
    if (length >= kGram && length > best.length) best = {.next = place, .length = length};
    if (best.length == kMostLength) break;
    place = previous_[static_cast<std::size_t>(place) & place_mask_];
  }
  return best;
}

void CopyDraft(std::span<const std::int32_t> tokens, const NgramMatch& match, std::int64_t count,
               std::vector<std::int32_t>& draft) {
  draft.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>(match.next + i);
    draft.push_back(from < tokens.size() ? tokens[from] : draft[from - tokens.size()]);
  }
}

}  // namespace folio
