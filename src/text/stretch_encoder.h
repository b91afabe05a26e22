// Encoders of plain text: a stretch that holds no token to be matched whole. One a family.
#ifndef FOLIO_TEXT_STRETCH_ENCODER_H_
#define FOLIO_TEXT_STRETCH_ENCODER_H_

#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/vocabulary.h"

namespace folio {

class StretchEncoder {
 public:
  virtual ~StretchEncoder() = default;
  // Appends the ids of `text`, valid UTF-8 and not empty. Thread safe.
  virtual Status Encode(std::string_view text, std::vector<TokenId>& ids) const = 0;
};

// Byte-pair encoding by the file's list of merges: `model` "gpt2" (bytes as printable characters,
// cut by the pre-tokenizer that tokenizer.ggml.pre names) and "gemma4" (characters, byte fallback).
Result<std::unique_ptr<StretchEncoder>> MakeMergesEncoder(const ModelFile& file,
                                                          const Vocabulary& vocabulary,
                                                          std::string_view model);

// SentencePiece's byte-pair encoding by scores. `vocabulary` must outlive the encoder and stay
// where it is.
std::unique_ptr<StretchEncoder> MakeSentencePieceEncoder(const Vocabulary& vocabulary,
                                                         bool add_space_prefix);

}  // namespace folio

#endif  // FOLIO_TEXT_STRETCH_ENCODER_H_
