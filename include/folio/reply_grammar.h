// What a reply must keep to: every token of it is drawn from those that the grammar allows, so that
// a reply that ended by itself always fits.
#ifndef FOLIO_REPLY_GRAMMAR_H_
#define FOLIO_REPLY_GRAMMAR_H_

#include <cstdint>
#include <string>
#include <vector>

namespace folio {

// A text inside a reply that keeps to a grammar of its own, wherever `opening` stands outside
// another such text. The reply's grammar must allow it there, spelled as it is; it needs to say no
// more of it.
struct HeldText {
  std::string name;  // what errors call it
  std::string opening;
  // Empty: the text is the rest of a JSON string, up to its quote, with one spelling for each text:
  // only what must be escaped is, by the short form or by \u00 and two small digits. Else the text
  // stands as it is, up to a line break and this mark, which begins with < and has no other.
  std::string closing;
  bool is_regex = false;  // else Lark, without control tokens
  std::string grammar;    // as a reply's; all of a reply's together at most 64 KiB
};

struct ReplyGrammar {
  enum class Kind : std::uint8_t {
    kNone,        // any reply
    kJsonSchema,  // one JSON document that fits the schema
    kLark,        // llguidance's dialect of Lark; <|name|> and <[id]> stand for control tokens
    kRegex,       // Rust's regular expressions, of the whole reply
  };
  Kind kind = Kind::kNone;
  std::string text;  // UTF-8, at most 64 KiB
  std::vector<HeldText> held;
};

}  // namespace folio

#endif  // FOLIO_REPLY_GRAMMAR_H_
