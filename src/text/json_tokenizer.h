// A Hugging Face tokenizer.json, by the crate that defines it.
#ifndef FOLIO_TEXT_JSON_TOKENIZER_H_
#define FOLIO_TEXT_JSON_TOKENIZER_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/bridge.h"
#include "text/vocabulary.h"

namespace folio {

class JsonTokenizer {
 public:
  struct Loaded;
  static Result<Loaded> Load(std::string_view json, const std::string& name);

  Status Encode(std::string_view text, bool parse_special, std::vector<TokenId>& ids) const;

 private:
  explicit JsonTokenizer(BridgeTokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}
  BridgeTokenizer tokenizer_;
};

struct JsonTokenizer::Loaded {
  JsonTokenizer tokenizer;
  Vocabulary vocabulary;  // BOS and EOS are what the file's post-processor adds to a text
  bool byte_level;
  bool add_eos;
  bool adds_leading_space;
};

}  // namespace folio

#endif  // FOLIO_TEXT_JSON_TOKENIZER_H_
