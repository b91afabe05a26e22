// Text to token ids and back. Built from a model file's metadata or from a Hugging Face
// tokenizer.json; byte-level encoders and tokenizer.json are Hugging Face's `tokenizers` behind
// bridge/, SentencePiece's merging by scores is Folio's own and gives the same ids.
#ifndef FOLIO_TEXT_TOKENIZER_H_
#define FOLIO_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/model_file.h"

namespace folio {

using TokenId = std::int32_t;

// The longest text that Encode takes: room for a million tokens and an answer in seconds.
inline constexpr std::size_t kMostPromptBytes = std::size_t{4} << 20;

// Whether spellings of control tokens in the text (<|im_end|>) become those tokens or stay plain
// text.
enum class SpecialTokens { kAsText, kParse };

class Tokenizer {
 public:
  // From tokenizer.ggml.*, or, where a model lacks those, tokenizer.huggingface.*.
  static Result<Tokenizer> FromModel(const ModelFile& file);
  // From a Hugging Face tokenizer.json's text.
  static Result<Tokenizer> FromJson(std::string_view json, const std::string& name);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Ids of `text` (UTF-8; other bytes are an error that names the offset; at most
  // kMostPromptBytes), without BOS or EOS. User-defined tokens are matched either way, as Hugging
  // Face does, unless they are spelled like control tokens. Thread safe.
  Result<std::vector<TokenId>> Encode(std::string_view text, SpecialTokens special) const;
  // The same after BOS, where the model wants it: what a plain prompt starts with.
  Result<std::vector<TokenId>> EncodePrompt(std::string_view text, SpecialTokens special) const;

  // The bytes a token stands for when it is generated: UTF-8 fragments, "" for control tokens and
  // for ids outside the vocabulary, a leading space where the vocabulary has one. Valid while the
  // tokenizer lives, as are TokenPiece's.
  std::string_view TokenBytes(TokenId id) const;
  // The token as the vocabulary spells it ("Ġthe", "<|im_end|>").
  std::string_view TokenPiece(TokenId id) const;
  bool IsControl(TokenId id) const;
  // Bytes of a whole sequence, not always whole UTF-8 characters. Drops the space that Encode put
  // before the text, in families that do.
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
  // All control tokens, in the order of their ids.
  std::vector<TokenId> control_tokens() const;
  // Whether Encode puts a space before the text and Decode drops it (SentencePiece families).
  bool adds_leading_space() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  static Result<Tokenizer> FromFolder(const ModelFile& file);
  std::unique_ptr<Impl> impl_;
};

// Turns a stream of token bytes into text that never ends inside a UTF-8 character.
// Invalid bytes become U+FFFD, one for each maximal part of an ill-formed sequence (the Unicode
// Standard, 3.9, and what Python's errors="replace" gives).
class IncrementalDecoder {
 public:
  // `at_start`: whether the stream begins a text of its own, as a reply does, so that the leading
  // space of SentencePiece families is dropped; false where it goes on with text already shown.
  explicit IncrementalDecoder(const Tokenizer& tokenizer, bool at_start = true)
      : tokenizer_(&tokenizer), at_start_(at_start) {}
  // The text that became complete with this token, possibly empty.
  std::string Push(TokenId id);
  // What is left at the end; an unfinished character becomes U+FFFD.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  std::string pending_;
  bool at_start_;
};

}  // namespace folio

#endif  // FOLIO_TEXT_TOKENIZER_H_
