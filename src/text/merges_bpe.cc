// Byte-pair encoding by a list of merges (Sennrich, Haddow and Birch 2016), on bytes spelled as
// printable characters (GPT-2) or on characters with byte fallback (Gemma 4), by Hugging Face's
// crate behind the bridge.
#include <string>
#include <utility>

#include "text/bridge.h"
#include "text/pre_tokenizers.h"
#include "text/stretch_encoder.h"

namespace folio {
namespace {

constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kGemma4Splits[] = {R"(\n+)"};

class MergesEncoder final : public StretchEncoder {
 public:
  MergesEncoder(BridgeTokenizer tokenizer, bool mark_spaces)
      : tokenizer_(std::move(tokenizer)), mark_spaces_(mark_spaces) {}

  Status Encode(std::string_view text, std::vector<TokenId>& ids) const override {
    std::string marked;
    if (mark_spaces_) {
      for (const char c : text) c == ' ' ? marked += "\u2581" : marked += c;
      text = marked;
    }
    BridgeIds encoded;
    BridgeBuffer error;
    if (folio_tokenizer_encode(tokenizer_.get(), ToBridge(text), 0, 0, encoded.get(),
                               error.get()) != 0) {
      return RuntimeError("tokenizer", "", error.str());
    }
    ids.insert(ids.end(), encoded.ids().begin(), encoded.ids().end());
    return {};
  }

 private:
  BridgeTokenizer tokenizer_;
  bool mark_spaces_;
};

// Control tokens are left out: no text forms them.
std::vector<FolioBytes> TextTokens(const Vocabulary& vocabulary) {
  std::vector<FolioBytes> tokens;
  tokens.reserve(vocabulary.spellings.size());
  for (std::size_t id = 0; id < vocabulary.spellings.size(); ++id) {
    const bool absent = vocabulary.kinds[id] == TokenKind::kControl;
    tokens.push_back(absent ? FolioBytes{nullptr, 0} : ToBridge(vocabulary.spellings[id]));
  }
  return tokens;
}

Result<const PreTokenizer*> LoadPreTokenizer(const ModelFile& file) {
  constexpr std::string_view kKey = "tokenizer.ggml.pre";
  auto name = file.GetStringOr(kKey, "default");
  if (!name) return std::unexpected(name.error());
  const PreTokenizer* found = FindPreTokenizer(*name);
  if (found == nullptr) {
    return InputError(file.path(), std::string(kKey),
                      "'" + std::string(*name) +
                          "' is not a pre-tokenizer that Folio knows; guessing one would cut words "
                          "wrongly");
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<StretchEncoder>> MakeMergesEncoder(const ModelFile& file,
                                                          const Vocabulary& vocabulary,
                                                          std::string_view model) {
  const bool byte_level = model != "gemma4";
  auto merges = file.GetStrings(kMergesKey);
  if (!merges) return std::unexpected(merges.error());
  const std::vector<FolioBytes> tokens = TextTokens(vocabulary);
  std::vector<FolioBytes> rules;
  rules.reserve(merges->size());
  for (const std::string_view merge : *merges) rules.push_back(ToBridge(merge));
  std::vector<FolioBytes> splits;
  FolioBpeSpec spec{};
  if (byte_level) {
    auto pre_tokenizer = LoadPreTokenizer(file);
    if (!pre_tokenizer) return std::unexpected(pre_tokenizer.error());
    for (const std::string_view split : (*pre_tokenizer)->splits) splits.push_back(ToBridge(split));
    spec.ignore_merges = (*pre_tokenizer)->ignore_merges;
    spec.compose = (*pre_tokenizer)->compose;
  } else {
    for (const std::string_view split : kGemma4Splits) splits.push_back(ToBridge(split));
  }
  spec.tokens = tokens.data();
  spec.token_count = tokens.size();
  spec.merges = rules.data();
  spec.merge_count = rules.size();
  spec.splits = splits.data();
  spec.split_count = splits.size();
  spec.byte_level = byte_level;
  spec.byte_fallback = !byte_level;
  spec.unknown_id = -1;
  BridgeBuffer error;
  BridgeTokenizer made(folio_tokenizer_from_bpe(&spec, error.get()));
  if (made == nullptr) return InputError(file.path(), std::string(kMergesKey), error.str());
  return std::make_unique<MergesEncoder>(std::move(made), !byte_level);
}

}  // namespace folio
