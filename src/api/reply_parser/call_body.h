// What each family's syntax is made of: how a call opens, and what reads one that has.
#ifndef FOLIO_API_REPLY_PARSER_CALL_BODY_H_
#define FOLIO_API_REPLY_PARSER_CALL_BODY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "api/reply_parser/piece_writer.h"

namespace folio {

enum class CallStep : std::uint8_t {
  kMore,       // the byte is the call's
  kTold,       // ... and what was read so far is told; another call may follow in the same block
  kEnd,        // ... and was its last
  kEndBefore,  // the block ended in front of this byte, all of it told
  kBroken,     // this byte can't follow
};

// Reads a block of calls, from behind the mark that opened it.
class CallBody {
 public:
  virtual ~CallBody() = default;
  virtual CallStep Take(char c, PieceWriter& out) = 0;
};

struct CallFormat {
  std::vector<std::string_view> opening;  // marks: where in text a block begins
  std::vector<std::string_view> closing;  // what may stand behind a block and isn't text
  std::vector<std::string_view> inner;    // further marks of the syntax that may be control tokens
  bool bare = false;  // a reply that begins with { is a block, opened by no mark
  // The body of a block that `mark` opened; empty for a bare one.
  std::function<std::unique_ptr<CallBody>(std::string_view mark)> begin;
};

// What any body holds at most; a mark's header or a tool's name is far shorter.
inline constexpr std::size_t kLongestHeld = std::size_t{1} << 20;
inline constexpr std::size_t kLongestHeader = 512;

constexpr bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Without white space at its ends.
std::string_view Trimmed(std::string_view text);

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_CALL_BODY_H_
