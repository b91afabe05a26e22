// Why a prompt was not found in the cache as a whole.
#ifndef FOLIO_MISS_REPORT_H_
#define FOLIO_MISS_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace folio {

// Why the hits of a prompt ended where they did.
enum class MissCause : std::uint8_t {
  kFullHit,       // they didn't: at most the last token is computed
  kFirstSeen,     // no earlier prompt begins with its first token
  kDiffers,       // the nearest earlier prompt has another token there
  kGoesOn,        // it continues past the nearest earlier prompt: nothing there could be hit yet
  kEvicted,       // the nearest earlier prompt had the same blocks, but they left the cache
  kOtherContent,  // it has the same tokens, but other content: media, or rows of other numerics
  kBlockEnd,      // it matches to the end, but what is left is less than a block
  kForgotten,     // the earlier prompt that was hit is no longer in the record, or not to its end
  kOff,           // the cache is off
};
std::string_view MissCauseName(MissCause cause);  // "differs", "goes_on"

struct MissReport {
  MissCause cause = MissCause::kOff;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  // Longest common prefix with any earlier prompt. `nearest_request` is the most recent one that
  // has it; 0 if none begins with the same token.
  std::int64_t matched_tokens = 0;
  std::uint64_t nearest_request = 0;
  // What the rest is about: the first token that differs, is new, left the cache, or is in no full
  // block; -1 for a full hit. `token_there` is -1 where the nearest prompt has ended, as its part
  // is
  // "".
  std::int64_t position = -1;
  std::int32_t token_here = -1;
  std::int32_t token_there = -1;
  std::string part_here;
  std::string part_there;
  std::int64_t offset_in_part = 0;  // of `position` in part_here

  bool operator==(const MissReport&) const = default;
};

}  // namespace folio

#endif  // FOLIO_MISS_REPORT_H_
