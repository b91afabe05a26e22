// The bytes that each token of a vocabulary stands for in generated text: the one table behind
// decoding and streaming.
#ifndef FOLIO_TEXT_TOKEN_BYTES_H_
#define FOLIO_TEXT_TOKEN_BYTES_H_

#include <string>
#include <string_view>

#include "base/error.h"
#include "text/vocabulary.h"

namespace folio {

enum class TokenSpelling {
  kByteLevel,      // GPT-2: each byte as one printable character
  kSentencePiece,  // U+2581 for a space, <0xXX> for a byte
};

// Control tokens stand for nothing. `name` is the file, for the error that a byte token is not
// spelled <0xXX>.
Result<Spellings> MakeTokenBytes(const Vocabulary& vocabulary, TokenSpelling spelling,
                                 const std::string& name);

}  // namespace folio

#endif  // FOLIO_TEXT_TOKEN_BYTES_H_
