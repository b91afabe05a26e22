// What a reply must keep to: every token of it is drawn from those that the grammar allows, so that
// a reply that ended by itself always fits.
#ifndef FOLIO_REPLY_GRAMMAR_H_
#define FOLIO_REPLY_GRAMMAR_H_

#include <cstdint>
#include <string>

namespace folio {

struct ReplyGrammar {
  enum class Kind : std::uint8_t {
    kNone,        // any reply
    kJsonSchema,  // one JSON document that fits the schema
    kLark,        // llguidance's dialect of Lark; <|name|> and <[id]> stand for control tokens
    kRegex,       // Rust's regular expressions, of the whole reply
  };
  Kind kind = Kind::kNone;
  std::string text;  // UTF-8, at most 64 KiB
};

}  // namespace folio

#endif  // FOLIO_REPLY_GRAMMAR_H_
