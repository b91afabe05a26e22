// Text to token ids and back, by Hugging Face's `tokenizers` behind bridge/. Built from a model
// file's metadata.
#ifndef FOLIO_TEXT_TOKENIZER_H_
#define FOLIO_TEXT_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/gguf.h"

namespace folio {

using TokenId = std::int32_t;

// Whether spellings of control tokens in the text (<|im_end|>) become those tokens or stay plain
// text.
enum class SpecialTokens { kAsText, kParse };

class Tokenizer {
 public:
  static Result<Tokenizer> FromGguf(const Gguf& file);
  // From a Hugging Face tokenizer.json's text.
  static Result<Tokenizer> FromJson(std::string_view json, const std::string& name);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Ids of `text` (UTF-8; other bytes are an error that names the offset), without BOS or EOS.
  // Thread safe.
  Result<std::vector<TokenId>> Encode(std::string_view text, SpecialTokens special) const;

  // The bytes a token stands for when it is generated: UTF-8 fragments, "" for control tokens
  // (their spelling where `spell_control`), a leading space where the vocabulary has one.
  std::string_view TokenBytes(TokenId id) const;
  // The token as the vocabulary spells it ("Ġthe", "<|im_end|>").
  std::string_view TokenPiece(TokenId id) const;
  bool IsControl(TokenId id) const;
  // Bytes of a whole sequence.
  std::string Decode(const std::vector<TokenId>& ids) const;

  TokenId vocab_size() const;
  TokenId bos() const;  // -1 if the model has none
  TokenId eos() const;  // -1 if the model has none
  bool add_bos() const;
  bool add_eos() const;
  // Every token that ends a reply: EOS, and the end-of-turn tokens the family uses (<|im_end|>,
  // <|eot_id|>, <end_of_turn>).
  const std::vector<TokenId>& end_tokens() const;
  // The control token spelled so, or -1.
  TokenId FindSpecial(std::string_view spelling) const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Turns a stream of token bytes into text that never ends inside a UTF-8 character.
class IncrementalDecoder {
 public:
  explicit IncrementalDecoder(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  // The text that became complete with this token, possibly empty.
  std::string Push(TokenId id);
  // What is left at the end; an unfinished character becomes U+FFFD.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
  bool at_start_ = true;
};

}  // namespace folio

#endif  // FOLIO_TEXT_TOKENIZER_H_
