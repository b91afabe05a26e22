// Finds marks in text that comes byte by byte. Holds what may be the start of one, never more.
#ifndef FOLIO_API_REPLY_PARSER_MARK_MATCHER_H_
#define FOLIO_API_REPLY_PARSER_MARK_MATCHER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace folio {

class MarkMatcher {
 public:
  // None is empty or begins with another.
  explicit MarkMatcher(std::vector<std::string_view> marks);

  // The mark that `c` completes, or empty. What is now known to be none is appended to `released`,
  // in order: it stood in front of the mark, or of what is held.
  std::string_view Take(char c, std::string& released);
  // What is held will not become a mark.
  void Release(std::string& released);
  bool holds() const { return !held_.empty(); }

 private:
  enum class Fit : std::uint8_t { kNone, kStart, kWhole };
  Fit FitOf(std::string_view text, std::string_view& mark) const;

  std::vector<std::string_view> marks_;
  std::string first_;  // bytes of marks
  std::string held_;
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_MARK_MATCHER_H_
