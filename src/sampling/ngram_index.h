// Where the last tokens of a text stood before in it: what a draft of its continuation is copied
// from ("prompt lookup decoding"; the search is LZ77's, with hash chains).
#ifndef FOLIO_SAMPLING_NGRAM_INDEX_H_
#define FOLIO_SAMPLING_NGRAM_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace folio {

struct NgramMatch {
  std::int64_t next = 0;  // index of the token that followed the earlier occurrence
  int length = 0;         // tokens that agree, at most NgramIndex::kMostLength; 0 = no occurrence
};

class NgramIndex {
 public:
  static constexpr int kGram = 3;         // shorter matches are not looked for
  static constexpr int kMostLength = 32;  // longer ones are not told apart
  static constexpr std::int64_t kMostWindow = std::int64_t{1} << 16;

  // For a text of at most so many tokens. Only the latest kMostWindow of them are found again.
  explicit NgramIndex(std::int64_t most_tokens);

  // Bytes that an index for such a text takes.
  static std::size_t Bytes(std::int64_t most_tokens);

  // `tokens` is the text so far: what was there at the last call, and more. O(new tokens).
  void Update(std::span<const std::int32_t> tokens);

  // The longest earlier occurrence of the text's last tokens, of equally long ones the latest.
  // `tokens` as at the last Update. Looks at a bounded number of places.
  NgramMatch Find(std::span<const std::int32_t> tokens) const;

 private:
  std::size_t Bucket(const std::int32_t* gram) const;

  std::int64_t size_ = 0;  // tokens taken
  // A place is the index of the token after a gram. 0 = none.
  std::vector<std::uint32_t> latest_;    // of each bucket
  std::vector<std::uint32_t> previous_;  // of the same bucket, by place, round and round
  std::size_t bucket_mask_;
  std::size_t place_mask_;
};

// The `count` tokens that followed the match. Where the text ends, what follows is the draft's own
// beginning: a text that repeats itself goes on repeating.
void CopyDraft(std::span<const std::int32_t> tokens, const NgramMatch& match, std::int64_t count,
               std::vector<std::int32_t>& draft);

}  // namespace folio

#endif  // FOLIO_SAMPLING_NGRAM_INDEX_H_
