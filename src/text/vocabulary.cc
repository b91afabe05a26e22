#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <utility>

#include "formats/metadata_value.h"
#include "formats/utf8.h"

namespace folio {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 22;  // sixteen times the largest known
constexpr std::size_t kLongestToken = std::size_t{1} << 16;

std::unexpected<Error> BadCount(const ModelFile& file, std::string_view key, std::size_t count,
                                std::size_t tokens) {
  return InputError(file.path(), std::string(key),
                    "has " + std::to_string(count) + " entries for " + std::to_string(tokens) +
                        " tokens (tokenizer.ggml.tokens)");
}

Result<TokenKind> ToKind(const ModelFile& file, std::size_t id, std::int64_t type,
                         std::string_view spelling) {
  switch (type) {
    case 0:  // undefined: old writers
    case 1:
      return TokenKind::kNormal;
    case 2:
    case 3:
      return TokenKind::kControl;
    case 4:
      return LooksLikeControl(spelling) ? TokenKind::kControl : TokenKind::kUserDefined;
    case 5:
      return TokenKind::kUnused;
    case 6:
      return TokenKind::kByte;
    default:
      return InputError(file.path(), "tokenizer.ggml.token_type[" + std::to_string(id) + "]",
                        std::to_string(type) + " is not a token type (1 to 6)");
  }
}

Status LoadSpellings(const ModelFile& file, Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.ggml.tokens";
  auto tokens = file.GetStrings(kKey);
  if (!tokens) return std::unexpected(tokens.error());
  if (tokens->empty() || tokens->size() > kMostTokens) {
    return InputError(
        file.path(), std::string(kKey),
        std::to_string(tokens->size()) + " tokens; expected 1 to " + std::to_string(kMostTokens));
  }
  std::size_t bytes = 0;
  for (const std::string_view token : *tokens) bytes += token.size();
  vocabulary.spellings.Reserve(tokens->size(), bytes);
  for (std::size_t id = 0; id < tokens->size(); ++id) {
    const std::string_view token = (*tokens)[id];
    if (token.size() > kLongestToken || !IsValidUtf8(token)) {
      return InputError(file.path(), std::string(kKey) + "[" + std::to_string(id) + "]",
                        token.size() > kLongestToken
                            ? std::to_string(token.size()) + " bytes long"
                            : "not UTF-8 at byte " + std::to_string(ValidUtf8Prefix(token)));
    }
    vocabulary.spellings.Add(token);
  }
  return {};
}

Status LoadKinds(const ModelFile& file, Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const std::size_t count = vocabulary.spellings.size();
  if (file.Find(kKey) == nullptr) {
    vocabulary.kinds.assign(count, TokenKind::kNormal);
    return {};
  }
  auto types = file.GetInts(kKey);
  if (!types) return std::unexpected(types.error());
  if (types->size() != count) return BadCount(file, kKey, types->size(), count);
  vocabulary.kinds.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    auto kind = ToKind(file, id, (*types)[id], vocabulary.spellings[id]);
    if (!kind) return std::unexpected(kind.error());
    vocabulary.kinds.push_back(*kind);
  }
  return {};
}

Status LoadScores(const ModelFile& file, Vocabulary& vocabulary) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  auto scores = file.GetFloats(kKey);
  if (!scores) return std::unexpected(scores.error());
  const std::size_t count = vocabulary.spellings.size();
  if (scores->size() != count) return BadCount(file, kKey, scores->size(), count);
  vocabulary.scores.reserve(count);
  for (std::size_t id = 0; id < count; ++id) {
    if (!std::isfinite((*scores)[id])) {
      return InputError(file.path(), std::string(kKey) + "[" + std::to_string(id) + "]",
                        "not a finite number");
    }
    vocabulary.scores.push_back(static_cast<float>((*scores)[id]));
  }
  return {};
}

// The id under `key`, or -1 where the file has none.
Result<TokenId> LoadId(const ModelFile& file, std::string_view key, const Vocabulary& vocabulary) {
  if (file.Find(key) == nullptr) return -1;
  auto id = file.GetUint(key);
  if (!id) return std::unexpected(id.error());
  if (*id >= vocabulary.spellings.size()) {
    return InputError(file.path(), file.SourceName(key),
                      std::to_string(*id) + " is outside the vocabulary of " +
                          std::to_string(vocabulary.spellings.size()) + " tokens");
  }
  return static_cast<TokenId>(*id);
}

void AddOnce(TokenId id, std::vector<TokenId>& ids) {
  if (id >= 0 && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

// What ends a reply or opens a prompt is the program's to write, whatever type the file gives it.
void MakeControl(std::initializer_list<TokenId> ids, Vocabulary& vocabulary) {
  for (const TokenId id : ids) {
    if (id < 0) continue;
    TokenKind& kind = vocabulary.kinds[static_cast<std::size_t>(id)];
    if (kind == TokenKind::kUserDefined) kind = TokenKind::kControl;
  }
}

// The token spelled as `key` says; without the key the id under `id_key`.
Result<TokenId> NamedToken(const ModelFile& file, std::string_view key, std::string_view id_key,
                           const Vocabulary& vocabulary) {
  if (file.Find(key) == nullptr) return LoadId(file, id_key, vocabulary);
  const auto spelling = file.GetString(key);
  if (!spelling) return std::unexpected(spelling.error());
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.spellings[static_cast<std::size_t>(id)] == *spelling) return id;
  }
  return InputError(file.path(), file.SourceName(key),
                    QuotedExcerpt(*spelling) + " is no token of tokenizer.json");
}

}  // namespace

bool LooksLikeControl(std::string_view spelling) {
  // ASCII and DeepSeek's fullwidth bars.
  constexpr std::array<std::string_view, 4> kBrackets = {"<|", "|>", "<\uFF5C", "\uFF5C>"};
  return std::any_of(kBrackets.begin(), kBrackets.end(), [&](std::string_view bracket) {
    return spelling.find(bracket) != std::string_view::npos;
  });
}

void FindEndTokens(const std::vector<TokenId>& more, Vocabulary& vocabulary) {
  constexpr std::array<std::string_view, 16> kEnds = {"<|im_end|>",
                                                      "<|eot_id|>",
                                                      "<|eom_id|>",
                                                      "<end_of_turn>",
                                                      "<turn|>",
                                                      "<|endoftext|>",
                                                      "<|end_of_text|>",
                                                      "<|EOT|>",
                                                      "<EOT>",
                                                      "<|eot|>",
                                                      "<|END_OF_TURN_TOKEN|>",
                                                      "<|end_of_turn|>",
                                                      "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
                                                      "<|return|>",
                                                      "<|call|>",
                                                      "<end_of_utterance>"};
  AddOnce(vocabulary.eos, vocabulary.end_tokens);
  for (const TokenId id : more) AddOnce(id, vocabulary.end_tokens);
  TokenId end = -1;
  bool harmony = false;  // gpt-oss: <|end|> closes one message of several in a reply
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.kinds[static_cast<std::size_t>(id)] != TokenKind::kControl) continue;
    const std::string_view spelling = vocabulary.spellings[static_cast<std::size_t>(id)];
    if (std::find(kEnds.begin(), kEnds.end(), spelling) != kEnds.end()) {
      AddOnce(id, vocabulary.end_tokens);
    }
    if (spelling == "<|end|>") end = id;
    if (spelling == "<|return|>") harmony = true;
  }
  if (!harmony) AddOnce(end, vocabulary.end_tokens);
}

Status NameTokens(const ModelFile& file, Vocabulary& vocabulary) {
  const auto bos = NamedToken(file, "tokenizer.huggingface.bos_token",
                              "tokenizer.ggml.bos_token_id", vocabulary);
  if (!bos) return std::unexpected(bos.error());
  const auto eos = NamedToken(file, "tokenizer.huggingface.eos_token",
                              "tokenizer.ggml.eos_token_id", vocabulary);
  if (!eos) return std::unexpected(eos.error());
  // What tokenizer.json itself puts before a text stays.
  if (vocabulary.bos < 0) vocabulary.bos = *bos;
  if (*eos >= 0) vocabulary.eos = *eos;
  MakeControl({vocabulary.bos, vocabulary.eos}, vocabulary);
  constexpr std::string_view kEndsKey = "tokenizer.huggingface.end_token_ids";
  std::vector<TokenId> ends;
  if (file.Find(kEndsKey) != nullptr) {
    const auto ids = file.GetInts(kEndsKey);
    if (!ids) return std::unexpected(ids.error());
    for (const std::int64_t id : *ids) {
      if (id < 0 || id >= vocabulary.size()) {
        return InputError(file.path(), file.SourceName(kEndsKey),
                          std::to_string(id) + " is outside the vocabulary of " +
                              std::to_string(vocabulary.size()) + " tokens");
      }
      ends.push_back(static_cast<TokenId>(id));
    }
  }
  vocabulary.end_tokens.clear();
  FindEndTokens(ends, vocabulary);
  return {};
}

Result<Vocabulary> LoadVocabulary(const ModelFile& file, bool needs_scores) {
  Vocabulary vocabulary;
  if (auto ok = LoadSpellings(file, vocabulary); !ok) return std::unexpected(ok.error());
  if (auto ok = LoadKinds(file, vocabulary); !ok) return std::unexpected(ok.error());
  if (needs_scores) {
    if (auto ok = LoadScores(file, vocabulary); !ok) return std::unexpected(ok.error());
  }
  TokenId end_of_turn = -1;
  TokenId end_of_message = -1;
  const std::array<std::pair<std::string_view, TokenId*>, 5> ids = {{
      {"tokenizer.ggml.bos_token_id", &vocabulary.bos},
      {"tokenizer.ggml.eos_token_id", &vocabulary.eos},
      {"tokenizer.ggml.unknown_token_id", &vocabulary.unknown},
      {"tokenizer.ggml.eot_token_id", &end_of_turn},
      {"tokenizer.ggml.eom_token_id", &end_of_message},
  }};
  for (const auto& [key, target] : ids) {
    auto id = LoadId(file, key, vocabulary);
    if (!id) return std::unexpected(id.error());
    *target = *id;
  }
  MakeControl({vocabulary.bos, vocabulary.eos, end_of_turn}, vocabulary);
  FindEndTokens({end_of_turn, end_of_message}, vocabulary);
  return vocabulary;
}

}  // namespace folio
