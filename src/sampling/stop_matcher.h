// Stop strings in streamed text. A stop string may begin in one token's text and end in another's,
// so text that could be its beginning is held back until it is known. The output does not depend on
// how the text is cut into pieces.
//
// The stop string whose match ends first ends the text (of two that end together, the longer); the
// output is what stands before it. One Knuth-Morris-Pratt automaton a stop string: time O(bytes x
// stop strings), and never more held back than the longest stop string less one byte.
#ifndef FOLIO_SAMPLING_STOP_MATCHER_H_
#define FOLIO_SAMPLING_STOP_MATCHER_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace folio {

class StopMatcher {
 public:
  // Empty stop strings match nothing.
  explicit StopMatcher(std::span<const std::string> stops);

  // The text that can be shown after `piece` arrived. Empty once stopped.
  std::string Push(std::string_view piece);
  // What is still held back when the text ends without a stop string. What is pushed afterwards is
  // another text.
  std::string Finish();

  bool stopped() const { return !matched_.empty(); }
  // The stop string that ended the text; empty if none did.
  const std::string& matched() const { return matched_; }
  // How many bytes are held back.
  std::size_t held() const { return pending_.size(); }

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> border;  // border[i]: longest proper prefix of text[0, i] that ends it
    std::size_t state = 0;            // how many bytes of `text` the input ends with
  };

  static void Advance(Pattern& pattern, char byte);

  std::vector<Pattern> patterns_;
  std::string matched_;
  std::string pending_;
};

}  // namespace folio

#endif  // FOLIO_SAMPLING_STOP_MATCHER_H_
