// What a model's reply consists of, as a parser of its family's format tells it, piece by piece:
// text, reasoning, calls of tools. A dialect's writer turns pieces into events.
#ifndef FOLIO_API_REPLY_PIECE_H_
#define FOLIO_API_REPLY_PIECE_H_

#include <cstdint>
#include <string>

namespace folio {

struct ReplyPiece {
  enum class Kind : std::uint8_t {
    kText,           // more of what the user is told
    kReasoning,      // more of what the model thinks
    kCallStart,      // a call begins: `text` is the tool's name as the model wrote it
    kCallArguments,  // more of the call's arguments: all of them together are one JSON document
    kCallEnd,        // ... which is whole now
  };
  Kind kind = Kind::kText;
  std::string text;  // whole UTF-8 characters; empty for kCallEnd
  bool operator==(const ReplyPiece&) const = default;
};

// Calls follow one another: kCallStart, kCallArguments*, kCallEnd, with nothing of another kind in
// between. A call that the reply's end cut short, or whose arguments stop being JSON, has no
// kCallEnd; a piece of any kind may follow the latter.

}  // namespace folio

#endif  // FOLIO_API_REPLY_PIECE_H_
