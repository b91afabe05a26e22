// The vocabulary of a model file: how each token is spelled, of what kind it is, and which ids have
// a meaning. Everything here is read from untrusted metadata and checked: lengths that disagree,
// ids out of range and spellings that are not UTF-8 are errors that name the file, the key and the
// value.
#ifndef FOLIO_TEXT_VOCABULARY_H_
#define FOLIO_TEXT_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/model_file.h"
#include "text/tokenizer.h"

namespace folio {

// GGUF's token types, with `kControl` for all that only the program may put into a prompt: the
// file's control and unknown tokens, and user-defined ones spelled like control tokens
// ("<|START_OF_TURN_TOKEN|>"), since writers of model files mark many of those wrongly.
enum class TokenKind : std::uint8_t { kNormal, kControl, kUserDefined, kUnused, kByte };

// Spellings, in one piece of memory.
class Spellings {
 public:
  void Reserve(std::size_t tokens, std::size_t bytes) {
    ends_.reserve(tokens);
    bytes_.reserve(bytes);
  }
  void Add(std::string_view spelling) {
    bytes_ += spelling;
    ends_.push_back(bytes_.size());
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t id) const {
    const std::size_t begin = id == 0 ? 0 : ends_[id - 1];
    return std::string_view(bytes_).substr(begin, ends_[id] - begin);
  }

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
};

struct Vocabulary {
  Spellings spellings;
  std::vector<TokenKind> kinds;
  std::vector<float> scores;  // empty where the family has none
  TokenId bos = -1;
  TokenId eos = -1;
  TokenId unknown = -1;
  std::vector<TokenId> end_tokens;

  TokenId size() const { return static_cast<TokenId>(spellings.size()); }
};

// tokenizer.ggml.tokens, token_type, scores where `needs_scores`, and the special ids.
Result<Vocabulary> LoadVocabulary(const ModelFile& file, bool needs_scores);

// The special ids of a vocabulary from tokenizer.json, by what the folder's other files say:
// spellings under tokenizer.huggingface.*, else ids.
Status NameTokens(const ModelFile& file, Vocabulary& vocabulary);

// Whether a spelling looks like a control token's.
bool LooksLikeControl(std::string_view spelling);

// Fills end_tokens: EOS, the file's own `more`, and the well-known ends of a turn among the control
// tokens.
void FindEndTokens(const std::vector<TokenId>& more, Vocabulary& vocabulary);

}  // namespace folio

#endif  // FOLIO_TEXT_VOCABULARY_H_
