// Small vocabularies as model files, for tests.
#ifndef FOLIO_TEXT_TEST_VOCABULARY_H_
#define FOLIO_TEXT_TEST_VOCABULARY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_test_writer.h"
#include "text/tokenizer.h"

namespace folio::testing {

// The metadata of one vocabulary; a test changes what it is about.
struct TestVocabulary {
  std::string model;
  std::string pre;
  std::vector<std::string> tokens;
  std::vector<std::int32_t> types;
  std::vector<float> scores;
  std::vector<std::string> merges;
  std::vector<std::pair<std::string, std::uint32_t>> ids;
  std::vector<std::pair<std::string, bool>> flags;
  std::string chat_template;

  std::vector<std::byte> Bytes() const {
    TestGguf file;
    if (!model.empty()) file.AddString("tokenizer.ggml.model", model);
    if (!pre.empty()) file.AddString("tokenizer.ggml.pre", pre);
    if (!tokens.empty()) file.AddStrings("tokenizer.ggml.tokens", tokens);
    if (!types.empty()) {
      file.AddArray("tokenizer.ggml.token_type", GgufValueType::kInt32, types);
    }
    if (!scores.empty()) file.AddArray("tokenizer.ggml.scores", GgufValueType::kFloat32, scores);
    if (!merges.empty()) file.AddStrings("tokenizer.ggml.merges", merges);
    for (const auto& [key, id] : ids) {
      file.Add("tokenizer.ggml." + key, GgufValueType::kUint32, id);
    }
    for (const auto& [key, flag] : flags) {
      file.Add("tokenizer.ggml." + key, GgufValueType::kBool, static_cast<std::uint8_t>(flag));
    }
    if (!chat_template.empty()) file.AddString("tokenizer.chat_template", chat_template);
    return file.Bytes();
  }

  Result<Tokenizer> Load() const {
    const std::vector<std::byte> bytes = Bytes();
    auto file = ParseGguf("test.gguf", bytes);
    if (!file) return std::unexpected(file.error());
    return Tokenizer::FromModel(*file);
  }

  void Add(const std::string& token, std::int32_t type, float score = 0) {
    tokens.push_back(token);
    types.push_back(type);
    if (model == "llama") scores.push_back(score);
  }
};

inline constexpr std::int32_t kNormalType = 1;
inline constexpr std::int32_t kUnknownType = 2;
inline constexpr std::int32_t kControlType = 3;
inline constexpr std::int32_t kUserDefinedType = 4;
inline constexpr std::int32_t kByteType = 6;

// Byte-level: ids 0 to 93 are the printable ASCII characters from "!" on, 94 is "Ġ" (the space), 95
// "Ċ" (the line break), then "he", "ll", "hell", "hello", and from 100 on the special ones.
inline constexpr TokenId kHello = 99;
inline constexpr TokenId kStart = 100;
inline constexpr TokenId kEnd = 101;
inline TestVocabulary ByteLevelVocabulary() {
  TestVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  for (char c = '!'; c <= '~'; ++c) vocabulary.Add(std::string(1, c), kNormalType);

  for (const char* token : {"\u0120", "\u010A", "he", "ll", "hell", "hello"}) {
    vocabulary.Add(token, kNormalType);
  }
  vocabulary.Add("<|im_start|>", kControlType);
  vocabulary.Add("<|im_end|>", kControlType);
  vocabulary.Add("  ", kUserDefinedType);
  vocabulary.Add("<|fim|>", kUserDefinedType);
  vocabulary.merges = {"h e", "l l", "he ll", "hell o"};
  vocabulary.ids = {{"bos_token_id", kStart}, {"eos_token_id", kEnd}};
  return vocabulary;
}

// SentencePiece: <unk> <s> </s>, the 256 byte tokens, "▁", a to z (from 260 on), then merged ones.
inline constexpr TokenId kLetterA = 260;
inline TestVocabulary SentencePieceVocabulary() {
  TestVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.Add("<unk>", kUnknownType);
  vocabulary.Add("<s>", kControlType);
  vocabulary.Add("</s>", kControlType);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    vocabulary.Add(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", kByteType);
  }
  vocabulary.Add("\u2581", kNormalType, -1000);
  for (char c = 'a'; c <= 'z'; ++c) vocabulary.Add(std::string(1, c), kNormalType, -1000);
  return vocabulary;
}

}  // namespace folio::testing

#endif  // FOLIO_TEXT_TEST_VOCABULARY_H_
