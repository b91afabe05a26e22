// Anthropic's cache_control marks of one request, in the order in which the API sees a prompt:
// tools, system, messages.
#ifndef FOLIO_API_ANTHROPIC_MARKS_H_
#define FOLIO_API_ANTHROPIC_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/api_request.h"
#include "api/fields.h"

namespace folio {

inline constexpr std::size_t kMostMarks = 4;

class AnthropicMarks {
 public:
  // The cache_control of a tool, a block or the body, if it has one. `message`: see CacheMark; a
  // mark in the midst of a message counts at its end.
  void Read(Fields& fields, std::int64_t message);
  // The body's own mark stands for one on the last block, `message`'s; nothing new if that has one
  // for as long already.
  void ReadTopLevel(Fields& body, std::int64_t message);
  // A block that was marked left no message behind: it counts with the last one there is.
  void KeepWithin(std::int64_t last_message);
  // Refuses what the API refuses: more than four, or one for longer behind one for shorter.
  void Check(Fields& body) const;

  // One a message, for the longest time that any of its marks asks for.
  std::vector<CacheMark> ByMessage() const;

 private:
  struct Mark {
    CacheMark mark;
    std::string path;
  };
  std::vector<Mark> marks_;  // the first ones: one more than are allowed
  std::size_t count_ = 0;    // of all
};

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_MARKS_H_
