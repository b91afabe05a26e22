#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <functional>
#include <limits>
#include <string>

#include "formats/utf8.h"
#include "text/test_vocabulary.h"

namespace folio {
namespace {

using testing::ByteLevelVocabulary;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kByteType;
using testing::kEnd;
using testing::kHello;
using testing::kLetterA;
using testing::kNormalType;
using testing::kStart;
using ::testing::Not;
using testing::SentencePieceVocabulary;
using testing::TestVocabulary;

std::vector<TokenId> Encode(const Tokenizer& tokenizer, std::string_view text,
                            SpecialTokens special = SpecialTokens::kAsText) {
  auto ids = tokenizer.Encode(text, special);
  EXPECT_TRUE(ids.has_value()) << ids.error().Message();
  return ids.value_or(std::vector<TokenId>{});
}

TEST(ByteLevelTokenizer, MergesWordsByRank) {
  const auto tokenizer = ByteLevelVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_THAT(Encode(*tokenizer, "hello"), ElementsAre(kHello));
  EXPECT_THAT(Encode(*tokenizer, "hello hello"), ElementsAre(kHello, 94, kHello));
  EXPECT_EQ(tokenizer->Decode(Encode(*tokenizer, "hello,\nhello!")), "hello,\nhello!");
  EXPECT_THAT(Encode(*tokenizer, ""), IsEmpty());
}

TEST(ByteLevelTokenizer, ControlTokensAreParsedOnlyWhereAsked) {
  const auto tokenizer = ByteLevelVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_THAT(Encode(*tokenizer, "<|im_start|>hello<|im_end|>", SpecialTokens::kParse),
              ElementsAre(kStart, kHello, kEnd));
  const auto as_text = Encode(*tokenizer, "<|im_start|>hello<|im_end|>");
  EXPECT_THAT(as_text, Not(::testing::Contains(::testing::AnyOf(kStart, kEnd))));
  EXPECT_EQ(tokenizer->Decode(as_text), "<|im_start|>hello<|im_end|>");
}

TEST(ByteLevelTokenizer, UserDefinedTokensMatchAlwaysUnlessTheyLookLikeControlTokens) {
  const auto tokenizer = ByteLevelVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_THAT(Encode(*tokenizer, "hello  hello"), ElementsAre(kHello, 102, kHello));
  EXPECT_THAT(Encode(*tokenizer, "<|fim|>", SpecialTokens::kParse), ElementsAre(103));
  EXPECT_THAT(Encode(*tokenizer, "<|fim|>"), ::testing::SizeIs(7));
  EXPECT_TRUE(tokenizer->IsControl(103));
  EXPECT_FALSE(tokenizer->IsControl(102));
}

TEST(ByteLevelTokenizer, BytesOfTokensAreTheTextAndControlTokensHaveNone) {
  const auto tokenizer = ByteLevelVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_EQ(tokenizer->TokenBytes(94), " ");
  EXPECT_EQ(tokenizer->TokenBytes(95), "\n");
  EXPECT_EQ(tokenizer->TokenBytes(kEnd), "");
  EXPECT_EQ(tokenizer->TokenPiece(kEnd), "<|im_end|>");
  EXPECT_EQ(tokenizer->TokenPiece(94), "\u0120");
  EXPECT_EQ(tokenizer->TokenBytes(-1), "");
  EXPECT_EQ(tokenizer->TokenPiece(104), "");
  EXPECT_EQ(tokenizer->FindSpecial("<|im_end|>"), kEnd);
  EXPECT_EQ(tokenizer->FindSpecial("hello"), -1);
  EXPECT_EQ(tokenizer->FindSpecial("<|im_end|>x"), -1);
  EXPECT_THAT(tokenizer->end_tokens(), ElementsAre(kEnd));
}

TEST(ByteLevelTokenizer, BosIsAddedAsTheFileOrElseTheFamilySays) {
  TestVocabulary vocabulary = ByteLevelVocabulary();
  EXPECT_FALSE(vocabulary.Load()->add_bos());
  vocabulary.pre = "llama-bpe";
  EXPECT_TRUE(vocabulary.Load()->add_bos());
  vocabulary.flags = {{"add_bos_token", false}, {"add_eos_token", true}};
  EXPECT_FALSE(vocabulary.Load()->add_bos());
  EXPECT_TRUE(vocabulary.Load()->add_eos());
  vocabulary.flags = {{"add_bos_token", true}};
  vocabulary.ids = {{"eos_token_id", kEnd}};
  EXPECT_FALSE(vocabulary.Load()->add_bos());  // there is no BOS to add
  EXPECT_EQ(vocabulary.Load()->bos(), -1);
}

TEST(SentencePieceTokenizer, JoinsTheBestScoreFirst) {
  TestVocabulary vocabulary = SentencePieceVocabulary();
  vocabulary.flags = {{"add_space_prefix", false}};
  vocabulary.Add("ab", kNormalType, -2);
  vocabulary.Add("bc", kNormalType, -1);
  const TokenId ab = static_cast<TokenId>(vocabulary.tokens.size()) - 2;
  const auto tokenizer = vocabulary.Load();
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_THAT(Encode(*tokenizer, "abc"), ElementsAre(kLetterA, ab + 1));
  EXPECT_THAT(Encode(*tokenizer, "abab"), ElementsAre(ab, ab));
}

TEST(SentencePieceTokenizer, OfEqualScoresTheLongerLeftHalfThenTheLeftmostIsFirst) {
  TestVocabulary vocabulary = SentencePieceVocabulary();
  vocabulary.flags = {{"add_space_prefix", false}};
  vocabulary.Add("aa", kNormalType, -1);
  const TokenId aa = static_cast<TokenId>(vocabulary.tokens.size()) - 1;
  vocabulary.Add("aaa", kNormalType, -1);
  const auto tokenizer = vocabulary.Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_THAT(Encode(*tokenizer, "aaa"), ElementsAre(aa + 1));
  EXPECT_THAT(Encode(*tokenizer, "aaaa"), ElementsAre(aa + 1, kLetterA));
  EXPECT_THAT(Encode(*tokenizer, "aaaaa"), ElementsAre(aa + 1, aa));
}

TEST(SentencePieceTokenizer, UnknownCharactersBecomeTheirBytes) {
  const auto tokenizer = SentencePieceVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_THAT(Encode(*tokenizer, "é"), ElementsAre(259, 3 + 0xC3, 3 + 0xA9));
  EXPECT_EQ(tokenizer->Decode(Encode(*tokenizer, "né à")), "né à");
}

TEST(SentencePieceTokenizer, WithoutByteTokensRunsOfUnknownCharactersAreOneToken) {
  TestVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.Add("<unk>", testing::kUnknownType);
  vocabulary.Add("a", kNormalType);
  vocabulary.flags = {{"add_space_prefix", false}, {"add_bos_token", false}};
  const auto tokenizer = vocabulary.Load();
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_THAT(Encode(*tokenizer, "aéèa"), ElementsAre(1, 0, 1));
}

TEST(SentencePieceTokenizer, TheSpaceBeforeTheTextIsDroppedAgain) {
  const auto tokenizer = SentencePieceVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_TRUE(tokenizer->add_bos());
  EXPECT_THAT(Encode(*tokenizer, "a b"), ElementsAre(259, kLetterA, 259, kLetterA + 1));
  EXPECT_EQ(tokenizer->Decode({259, kLetterA, 259, kLetterA + 1}), "a b");
  IncrementalDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.Push(259), "");
  EXPECT_EQ(decoder.Push(kLetterA), "a");
  EXPECT_EQ(decoder.Push(259), " ");
  IncrementalDecoder continues(*tokenizer, /*at_start=*/false);
  EXPECT_EQ(continues.Push(259), " ");
}

TEST(SentencePieceTokenizer, NoTextFormsControlOrByteTokens) {
  TestVocabulary vocabulary = SentencePieceVocabulary();
  vocabulary.Add("<", kNormalType, -1);
  vocabulary.Add("s>", kNormalType, -1);
  vocabulary.Add(">", kNormalType, -1);
  const auto tokenizer = vocabulary.Load();
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_THAT(Encode(*tokenizer, "<s>"), Not(::testing::Contains(1)));
  EXPECT_THAT(Encode(*tokenizer, "<s>", SpecialTokens::kParse), ElementsAre(1));
}

TEST(Tokenizer, InvalidUtf8IsRefusedWithItsOffset) {
  const auto tokenizer = ByteLevelVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  const auto ids = tokenizer->Encode("hello\xC3(", SpecialTokens::kAsText);
  ASSERT_FALSE(ids.has_value());
  EXPECT_EQ(ids.error().kind, ErrorKind::kInput);
  EXPECT_THAT(ids.error().Message(), HasSubstr("byte 5"));
}

TEST(Tokenizer, TextOverTheCapIsRefused) {
  const auto tokenizer = ByteLevelVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  const auto ids =
      tokenizer->Encode(std::string(kMostPromptBytes + 1, 'a'), SpecialTokens::kAsText);
  ASSERT_FALSE(ids.has_value());
  EXPECT_THAT(ids.error().Message(), HasSubstr(std::to_string(kMostPromptBytes)));
}

// Every byte has a token here, as in real vocabularies, so nothing is lost.
TEST(Tokenizer, AnyTextComesBackWholeAndStreamsWithoutHalfCharacters) {
  const auto tokenizer = SentencePieceVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  constexpr std::array<std::string_view, 10> kPieces = {
      "a", "zebra", " ", "  ", "\n", "ü", "\u4F60", "\U0001F469\u200D\U0001F4BB", "<s>", "\x01"};
  rc::check("round trip", [&](const std::vector<unsigned>& choices) {
    std::string text;
    for (const unsigned choice : choices) text += kPieces[choice % kPieces.size()];
    const auto ids = tokenizer->Encode(text, SpecialTokens::kAsText);
    RC_ASSERT(ids.has_value());
    RC_ASSERT(tokenizer->Decode(*ids) == text);
    IncrementalDecoder decoder(*tokenizer);
    std::string streamed;
    for (const TokenId id : *ids) {
      const std::string more = decoder.Push(id);
      RC_ASSERT(IsValidUtf8(more));
      streamed += more;
    }
    RC_ASSERT(decoder.Finish().empty());
    RC_ASSERT(streamed == text);
  });
}

struct BadVocabulary {
  const char* name;
  std::function<void(TestVocabulary&)> damage;
  const char* where;
  const char* why;
};

void ExpectRefused(TestVocabulary vocabulary, const BadVocabulary& bad) {
  bad.damage(vocabulary);
  const auto tokenizer = vocabulary.Load();
  ASSERT_FALSE(tokenizer.has_value()) << bad.name;
  EXPECT_EQ(tokenizer.error().kind, ErrorKind::kInput) << bad.name;
  const std::string message = tokenizer.error().Message();
  EXPECT_THAT(message, HasSubstr("test.gguf")) << bad.name;
  EXPECT_THAT(message, HasSubstr(bad.where)) << bad.name;
  EXPECT_THAT(message, HasSubstr(bad.why)) << bad.name;
}

TEST(BadByteLevelVocabulary, IsRefusedByFileKeyAndValue) {
  const BadVocabulary kBad[] = {
      {"no model", [](auto& v) { v.model.clear(); }, "tokenizer.ggml.model", ""},
      {"unknown model", [](auto& v) { v.model = "magic"; }, "tokenizer.ggml.model", "'magic'"},
      {"unknown pre", [](auto& v) { v.pre = "klingon"; }, "tokenizer.ggml.pre", "'klingon'"},
      {"no tokens", [](auto& v) { v.tokens.clear(); }, "tokenizer.ggml.tokens", ""},
      {"too few types", [](auto& v) { v.types.pop_back(); }, "tokenizer.ggml.token_type",
       "103 entries for 104 tokens"},
      {"bad type", [](auto& v) { v.types[3] = 77; }, "tokenizer.ggml.token_type[3]", "77"},
      {"negative type", [](auto& v) { v.types[3] = -1; }, "tokenizer.ggml.token_type[3]", "-1"},
      {"no merges", [](auto& v) { v.merges.clear(); }, "tokenizer.ggml.merges", ""},
      {"merge without a space", [](auto& v) { v.merges[1] = "ll"; }, "tokenizer.ggml.merges",
       "merge 1"},
      {"merge of no token", [](auto& v) { v.merges[2] = "he y"; }, "tokenizer.ggml.merges",
       "merge 2: `hey` is not a token"},
      {"merge from no token", [](auto& v) { v.merges[2] = "hex o"; }, "tokenizer.ggml.merges",
       "merge 2: `hex` is not a token"},
      {"very long merge", [](auto& v) { v.merges[2] = "a " + std::string(9000, 'b'); },
       "tokenizer.ggml.merges", "merge 2"},
      {"empty merge", [](auto& v) { v.merges[0] = ""; }, "tokenizer.ggml.merges", "merge 0"},
      {"BOS outside", [](auto& v) { v.ids[0].second = 104; }, "tokenizer.ggml.bos_token_id",
       "104 is outside the vocabulary of 104 tokens"},
      {"EOS outside", [](auto& v) { v.ids[1].second = 0xFFFFFFFF; }, "tokenizer.ggml.eos_token_id",
       "4294967295"},
      {"byte token misspelled", [](auto& v) { v.types[0] = kByteType; }, "tokenizer.ggml.tokens[0]",
       "<0xXX>"},
      {"huge token", [](auto& v) { v.tokens[5] = std::string(70'000, 'x'); },
       "tokenizer.ggml.tokens[5]", "70000 bytes"},
  };
  for (const BadVocabulary& bad : kBad) ExpectRefused(ByteLevelVocabulary(), bad);
}

TEST(BadSentencePieceVocabulary, IsRefusedByFileKeyAndValue) {
  const BadVocabulary kBad[] = {
      {"no scores", [](auto& v) { v.scores.clear(); }, "tokenizer.ggml.scores", ""},
      {"too many scores", [](auto& v) { v.scores.push_back(0); }, "tokenizer.ggml.scores",
       "287 entries for 286 tokens"},
      {"score not finite", [](auto& v) { v.scores[9] = std::numeric_limits<float>::infinity(); },
       "tokenizer.ggml.scores", ""},
      {"unknown token outside", [](auto& v) { v.ids = {{"unknown_token_id", 999}}; },
       "tokenizer.ggml.unknown_token_id", "999"},
      {"byte token misspelled", [](auto& v) { v.tokens[7] = "<0xZZ>"; }, "tokenizer.ggml.tokens[7]",
       "<0xZZ>"},
  };
  for (const BadVocabulary& bad : kBad) ExpectRefused(SentencePieceVocabulary(), bad);
}

TEST(JsonTokenizer, BrokenTextIsRefusedByName) {
  for (const char* json : {"", "{", "[]", "{\"model\": {\"type\": \"Nonsense\"}}", "\xff"}) {
    const auto tokenizer = Tokenizer::FromJson(json, "tokenizer.json");
    ASSERT_FALSE(tokenizer.has_value()) << json;
    EXPECT_THAT(tokenizer.error().Message(), HasSubstr("tokenizer.json"));
  }
}

TEST(JsonTokenizer, GivesIdsKindsAndWhatItsPostProcessorAdds) {
  constexpr std::string_view kJson = R"({
    "version": "1.0",
    "added_tokens": [{"id": 4, "content": "<s>", "single_word": false, "lstrip": false,
                      "rstrip": false, "normalized": false, "special": true}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                      "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                "use_regex": true},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "<s>": 4, "<": 5, "s": 6, ">": 7},
              "merges": [["a", "b"]]}})";
  const auto tokenizer = Tokenizer::FromJson(kJson, "tokenizer.json");
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_EQ(tokenizer->vocab_size(), 8);
  EXPECT_EQ(tokenizer->bos(), 4);
  EXPECT_TRUE(tokenizer->add_bos());
  EXPECT_FALSE(tokenizer->add_eos());
  EXPECT_TRUE(tokenizer->IsControl(4));
  EXPECT_THAT(Encode(*tokenizer, "ab <s>"), ElementsAre(2, 3, 5, 6, 7));
  EXPECT_THAT(Encode(*tokenizer, "ab <s>", SpecialTokens::kParse), ElementsAre(2, 3, 4));
  EXPECT_EQ(tokenizer->Decode({4, 2, 3, 0}), "ab a");
}

}  // namespace
}  // namespace folio
