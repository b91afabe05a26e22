#include "text/tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "formats/utf8.h"
#include "text/bridge.h"
#include "text/json_tokenizer.h"
#include "text/pre_tokenizers.h"
#include "text/stretch_encoder.h"
#include "text/token_bytes.h"
#include "text/token_matcher.h"
#include "text/vocabulary.h"

namespace folio {
namespace {

constexpr std::string_view kJsonKey = "tokenizer.huggingface.json";

}  // namespace

// Tokens that are matched whole are cut out first, the stretches between go to the family's
// encoder. A tokenizer.json brings its own cutting.
struct Tokenizer::Impl {
  Vocabulary vocabulary;
  Spellings bytes;
  bool add_bos = false;
  bool add_eos = false;
  bool adds_leading_space = false;
  std::optional<TokenMatcher> control;       // control tokens alone
  std::optional<TokenMatcher> user_defined;  // matched in every text
  std::optional<TokenMatcher> both;
  std::unique_ptr<StretchEncoder> encoder;
  std::unique_ptr<JsonTokenizer> json;  // instead of `encoder`

  Status EncodeStretches(std::string_view text, const TokenMatcher& matcher,
                         std::vector<TokenId>& ids) const;
  void MakeMatchers();
};

namespace {

std::vector<TokenId> IdsOfKind(const Vocabulary& vocabulary, TokenKind kind) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.kinds[static_cast<std::size_t>(id)] == kind) ids.push_back(id);
  }
  return ids;
}

// SentencePiece's own numbers, for files that leave them out.
void SetSentencePieceDefaults(Vocabulary& vocabulary) {
  const std::pair<TokenId*, TokenId> defaults[] = {
      {&vocabulary.unknown, 0}, {&vocabulary.bos, 1}, {&vocabulary.eos, 2}};
  for (const auto& [id, fallback] : defaults) {
    if (*id < 0 && fallback < vocabulary.size()) *id = fallback;
  }
}

struct Flags {
  bool add_bos;
  bool add_eos;
  bool add_space_prefix;
};

Result<Flags> LoadFlags(const ModelFile& file, bool bos_by_default, bool space_by_default) {
  auto bos = file.GetBoolOr("tokenizer.ggml.add_bos_token", bos_by_default);
  if (!bos) return std::unexpected(bos.error());
  auto eos = file.GetBoolOr("tokenizer.ggml.add_eos_token", false);
  if (!eos) return std::unexpected(eos.error());
  auto space = file.GetBoolOr("tokenizer.ggml.add_space_prefix", space_by_default);
  if (!space) return std::unexpected(space.error());
  return Flags{*bos, *eos, *space};
}

// What a byte-level family does where the file doesn't say. An unknown family is refused when the
// encoder is made.
Result<bool> AddsBosByDefault(const ModelFile& file, std::string_view model) {
  if (model != "gpt2") return true;
  auto name = file.GetStringOr("tokenizer.ggml.pre", "default");
  if (!name) return std::unexpected(name.error());
  const PreTokenizer* family = FindPreTokenizer(*name);
  return family != nullptr && family->add_bos;
}

}  // namespace

void Tokenizer::Impl::MakeMatchers() {
  std::vector<TokenId> control_ids = IdsOfKind(vocabulary, TokenKind::kControl);
  std::vector<TokenId> user_ids = IdsOfKind(vocabulary, TokenKind::kUserDefined);
  control.emplace(vocabulary.spellings, control_ids);
  user_defined.emplace(vocabulary.spellings, user_ids);
  control_ids.insert(control_ids.end(), user_ids.begin(), user_ids.end());
  both.emplace(vocabulary.spellings, control_ids);
}

Status Tokenizer::Impl::EncodeStretches(std::string_view text, const TokenMatcher& matcher,
                                        std::vector<TokenId>& ids) const {
  for (std::size_t from = 0; from < text.size();) {
    const auto match = matcher.Next(text, from);
    const std::size_t end = match ? match->begin : text.size();
    if (end > from) {
      if (auto ok = encoder->Encode(text.substr(from, end - from), ids); !ok) return ok;
    }
    if (!match) break;
    ids.push_back(match->id);
    from = match->end;
  }
  return {};
}

Result<Tokenizer> Tokenizer::FromModel(const ModelFile& file) {
  if (file.Find("tokenizer.ggml.model") == nullptr && file.Find(kJsonKey) != nullptr)
    return FromFolder(file);
  auto model = file.GetString("tokenizer.ggml.model");
  if (!model) return std::unexpected(model.error());
  const bool sentence_piece = *model == "llama";
  if (!sentence_piece && *model != "gpt2" && *model != "gemma4") {
    return InputError(file.path(), "tokenizer.ggml.model",
                      "'" + std::string(*model) + "' is not one of llama, gpt2, gemma4");
  }
  auto vocabulary = LoadVocabulary(file, /*needs_scores=*/sentence_piece);
  if (!vocabulary) return std::unexpected(vocabulary.error());
  auto bos_by_default = AddsBosByDefault(file, *model);
  if (!bos_by_default) return std::unexpected(bos_by_default.error());
  auto flags = LoadFlags(file, *bos_by_default, /*space_by_default=*/sentence_piece);
  if (!flags) return std::unexpected(flags.error());

  auto impl = std::make_unique<Impl>();
  impl->vocabulary = *std::move(vocabulary);
  if (sentence_piece) {
    SetSentencePieceDefaults(impl->vocabulary);
    FindEndTokens({}, impl->vocabulary);
  }
  auto bytes = MakeTokenBytes(
      impl->vocabulary,
      *model == "gpt2" ? TokenSpelling::kByteLevel : TokenSpelling::kSentencePiece, file.path());
  if (!bytes) return std::unexpected(bytes.error());
  impl->bytes = *std::move(bytes);
  impl->add_bos = flags->add_bos && impl->vocabulary.bos >= 0;
  impl->add_eos = flags->add_eos && impl->vocabulary.eos >= 0;
  impl->adds_leading_space = sentence_piece && flags->add_space_prefix;
  impl->MakeMatchers();
  if (sentence_piece) {
    impl->encoder = MakeSentencePieceEncoder(impl->vocabulary, impl->adds_leading_space);
  } else {
    auto encoder = MakeMergesEncoder(file, impl->vocabulary, *model);
    if (!encoder) return std::unexpected(encoder.error());
    impl->encoder = *std::move(encoder);
  }
  return Tokenizer(std::move(impl));
}

// What the folder's other files say goes before what is found in tokenizer.json.
Result<Tokenizer> Tokenizer::FromFolder(const ModelFile& file) {
  auto json = file.GetString(kJsonKey);
  if (!json) return std::unexpected(json.error());
  auto tokenizer = FromJson(*json, file.path() + "/tokenizer.json");
  if (!tokenizer) return tokenizer;
  if (auto named = NameTokens(file, tokenizer->impl_->vocabulary); !named)
    return std::unexpected(named.error());
  tokenizer->impl_->MakeMatchers();
  return tokenizer;
}

Result<Tokenizer> Tokenizer::FromJson(std::string_view json, const std::string& name) {
  auto impl = std::make_unique<Impl>();
  auto loaded = JsonTokenizer::Load(json, name);
  if (!loaded) return std::unexpected(loaded.error());
  impl->json = std::make_unique<JsonTokenizer>(std::move(loaded->tokenizer));
  impl->vocabulary = std::move(loaded->vocabulary);
  FindEndTokens({}, impl->vocabulary);
  auto bytes = MakeTokenBytes(
      impl->vocabulary,
      loaded->byte_level ? TokenSpelling::kByteLevel : TokenSpelling::kSentencePiece, name);
  if (!bytes) return std::unexpected(bytes.error());
  impl->bytes = *std::move(bytes);
  impl->add_bos = impl->vocabulary.bos >= 0;
  impl->add_eos = loaded->add_eos;
  impl->adds_leading_space = loaded->adds_leading_space;
  impl->MakeMatchers();
  return Tokenizer(std::move(impl));
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Result<std::vector<TokenId>> Tokenizer::Encode(std::string_view text, SpecialTokens special) const {
  if (text.size() > kMostPromptBytes) {
    return InputError("text", "",
                      std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(kMostPromptBytes) + " are taken");
  }
  if (const std::size_t valid = ValidUtf8Prefix(text); valid != text.size()) {
    return InputError("text", "byte " + std::to_string(valid), "not UTF-8");
  }
  std::vector<TokenId> ids;
  ids.reserve(text.size() / 3);
  const bool parse = special == SpecialTokens::kParse;
  auto ok = impl_->json
                ? impl_->json->Encode(text, parse, ids)
                : impl_->EncodeStretches(text, parse ? *impl_->both : *impl_->user_defined, ids);
  if (!ok) return std::unexpected(ok.error());
  return ids;
}

Result<std::vector<TokenId>> Tokenizer::EncodePrompt(std::string_view text,
                                                     SpecialTokens special) const {
  Result<std::vector<TokenId>> tokens = Encode(text, special);
  if (tokens && add_bos() && bos() >= 0) tokens->insert(tokens->begin(), bos());
  return tokens;
}

std::string_view Tokenizer::TokenBytes(TokenId id) const {
  if (id < 0 || id >= vocab_size()) return {};
  return impl_->bytes[static_cast<std::size_t>(id)];
}

std::string_view Tokenizer::TokenPiece(TokenId id) const {
  if (id < 0 || id >= vocab_size()) return {};
  return impl_->vocabulary.spellings[static_cast<std::size_t>(id)];
}

bool Tokenizer::IsControl(TokenId id) const {
  return id >= 0 && id < vocab_size() &&
         impl_->vocabulary.kinds[static_cast<std::size_t>(id)] == TokenKind::kControl;
}

std::string Tokenizer::Decode(const std::vector<TokenId>& ids) const {
  std::string bytes;
  for (const TokenId id : ids) bytes += TokenBytes(id);
  if (impl_->adds_leading_space && bytes.starts_with(' ')) bytes.erase(0, 1);
  return bytes;
}

TokenId Tokenizer::vocab_size() const { return impl_->vocabulary.size(); }
TokenId Tokenizer::bos() const { return impl_->vocabulary.bos; }
TokenId Tokenizer::eos() const { return impl_->vocabulary.eos; }
bool Tokenizer::add_bos() const { return impl_->add_bos; }
bool Tokenizer::add_eos() const { return impl_->add_eos; }
bool Tokenizer::adds_leading_space() const { return impl_->adds_leading_space; }

const std::vector<TokenId>& Tokenizer::end_tokens() const { return impl_->vocabulary.end_tokens; }

TokenId Tokenizer::FindSpecial(std::string_view spelling) const {
  const auto match = impl_->control->Next(spelling, 0);
  return match && match->begin == 0 && match->end == spelling.size() ? match->id : -1;
}

std::vector<TokenId> Tokenizer::control_tokens() const {
  return IdsOfKind(impl_->vocabulary, TokenKind::kControl);
}

}  // namespace folio
