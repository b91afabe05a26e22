#include "text/json_tokenizer.h"

#include <cstdint>
#include <string>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 22;

bool IsByteToken(std::string_view spelling) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return spelling.size() == 6 && spelling.starts_with("<0x") && spelling[5] == '>' &&
         kHex.find(spelling[3]) != kHex.npos && kHex.find(spelling[4]) != kHex.npos;
}

TokenKind KindOf(int bridge_kind, std::string_view spelling, bool byte_level) {
  switch (bridge_kind) {
    case FOLIO_TOKEN_ABSENT:
      return TokenKind::kUnused;
    case FOLIO_TOKEN_SPECIAL:
      return TokenKind::kControl;
    case FOLIO_TOKEN_ADDED:  // the bridge treats these spellings as special too
      return LooksLikeControl(spelling) ? TokenKind::kControl : TokenKind::kUserDefined;
    default:
      return !byte_level && IsByteToken(spelling) ? TokenKind::kByte : TokenKind::kNormal;
  }
}

}  // namespace

Result<JsonTokenizer::Loaded> JsonTokenizer::Load(std::string_view json, const std::string& name) {
  BridgeBuffer error;
  BridgeTokenizer handle(folio_tokenizer_from_json(ToBridge(json), error.get()));
  if (handle == nullptr) return InputError(name, "", error.str());
  const std::size_t size = folio_tokenizer_size(handle.get());
  if (size == 0 || size > kMostTokens) {
    return InputError(
        name, "model.vocab",
        std::to_string(size) + " tokens; expected 1 to " + std::to_string(kMostTokens));
  }
  const bool byte_level = folio_tokenizer_byte_level(handle.get()) != 0;
  Vocabulary vocabulary;
  for (std::size_t id = 0; id < size; ++id) {
    BridgeBuffer spelling;
    const int kind =
        folio_tokenizer_token(handle.get(), static_cast<std::uint32_t>(id), spelling.get());
    vocabulary.spellings.Add(spelling.text());
    vocabulary.kinds.push_back(KindOf(kind, spelling.text(), byte_level));
  }

  // What the post-processor puts before and after a text.
  BridgeIds with;
  BridgeIds without;
  constexpr std::string_view kProbe = "a";
  if (folio_tokenizer_encode(handle.get(), ToBridge(kProbe), 0, 1, with.get(), error.get()) != 0 ||
      folio_tokenizer_encode(handle.get(), ToBridge(kProbe), 0, 0, without.get(), error.get()) !=
          0) {
    return InputError(name, "", error.str());
  }
  bool add_eos = false;
  const auto longer = with.ids();
  const auto plain = without.ids();
  for (const std::uint32_t id : longer) {
    if (id < size) continue;
    return InputError(name, "post_processor",
                      "adds the token " + std::to_string(id) +
                          ", which is outside the vocabulary of " + std::to_string(size) +
                          " tokens");
  }
  if (longer.size() > plain.size() && !plain.empty()) {
    if (longer.front() != plain.front()) vocabulary.bos = static_cast<TokenId>(longer.front());
    add_eos = longer.back() != plain.back();
    if (add_eos) vocabulary.eos = static_cast<TokenId>(longer.back());
  }
  const bool leading_space = folio_tokenizer_strips_leading_space(handle.get()) != 0;
  return Loaded{JsonTokenizer(std::move(handle)), std::move(vocabulary), byte_level, add_eos,
                leading_space};
}

Status JsonTokenizer::Encode(std::string_view text, bool parse_special,
                             std::vector<TokenId>& ids) const {
  BridgeIds encoded;
  BridgeBuffer error;
  if (folio_tokenizer_encode(tokenizer_.get(), ToBridge(text), parse_special ? 1 : 0, 0,
                             encoded.get(), error.get()) != 0) {
    return RuntimeError("tokenizer", "", error.str());
  }
  ids.insert(ids.end(), encoded.ids().begin(), encoded.ids().end());
  return {};
}

}  // namespace folio
