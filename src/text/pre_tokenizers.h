// How each family of byte-level vocabularies cuts text into pieces before merging: regular
// expressions, facts of the models' own tokenizer.json files. A wrong one loses quality silently,
// so an unknown name is an error and never a guess.
#ifndef FOLIO_TEXT_PRE_TOKENIZERS_H_
#define FOLIO_TEXT_PRE_TOKENIZERS_H_

#include <array>
#include <span>
#include <string_view>

namespace folio {

struct PreTokenizer {
  std::string_view name;  // as tokenizer.ggml.pre has it
  // Applied in order, each to every piece the ones before left: matches and gaps become pieces.
  std::span<const std::string_view> splits;
  bool ignore_merges = false;  // a whole piece that is a token wins before any merge
  bool add_bos = false;        // where the file doesn't say
  bool compose = false;        // the family normalises text to NFC
};

// Null for an unknown name.
const PreTokenizer* FindPreTokenizer(std::string_view name);

}  // namespace folio

#endif  // FOLIO_TEXT_PRE_TOKENIZERS_H_
