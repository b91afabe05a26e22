// One call as a JSON object, {"name": NAME, "arguments": {...}}: the form that most families share.
// Llama's "parameters" is the same as "arguments" everywhere, as models mix them up.
#ifndef FOLIO_API_REPLY_PARSER_CALL_OBJECT_H_
#define FOLIO_API_REPLY_PARSER_CALL_OBJECT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/reply_parser/argument_stream.h"
#include "api/reply_parser/call_body.h"
#include "api/reply_parser/json_scanner.h"
#include "api/tool.h"

namespace folio {

// What an object must be to be a call.
struct CallRules {
  // Only these tools' names, and no members but a call's: where nothing but the object itself says
  // that it is one. Nothing: any name.
  std::optional<std::span<const Tool>> only;
};

class CallObject {
 public:
  explicit CallObject(const CallRules& rules) : rules_(rules) {}

  // The next byte, the first being {. The members may come in any order: arguments in front of the
  // name are held. The call ends with its arguments, the object with kEnd, or kEndBefore where a
  // model left out its }.
  CallStep Take(char c, PieceWriter& out);

 private:
  enum class State : std::uint8_t {
    kOpen,
    kFirstKey,
    kKey,
    kInKey,
    kColon,
    kValue,
    kInValue,
    kNext
  };
  enum class Member : std::uint8_t { kName, kArguments, kArgumentsAsText, kOther };

  CallStep Go(State state);
  CallStep InKey(char c);
  CallStep BeginValue(char c, PieceWriter& out);
  CallStep InValue(char c, PieceWriter& out);
  JsonScanner::Step TakeValue(char c, PieceWriter& out);
  CallStep Next(char c, PieceWriter& out);
  CallStep EndMember(PieceWriter& out);
  CallStep EndName(PieceWriter& out);
  CallStep EndArguments(PieceWriter& out);
  void TellArguments(std::string_view text, PieceWriter& out);

  CallRules rules_;
  State state_ = State::kOpen;
  Member member_ = Member::kOther;
  JsonScanner scanner_;         // of a key or of a value that isn't the arguments
  ArgumentStream stream_;       // of the arguments
  std::string value_;           // of a key, a name, or arguments as text: as written
  std::string arguments_;       // that came in front of the name
  bool named_ = false;          // the call has started
  bool has_arguments_ = false;  // all of them were read
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_CALL_OBJECT_H_
