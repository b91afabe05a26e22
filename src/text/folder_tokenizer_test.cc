// Tokenizers of Hugging Face's folders: tokenizer.json, with what the files beside it say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/model_file.h"
#include "text/tokenizer.h"

namespace folio {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Tokens 4 to 6 are added ones: special, ordinary, and ordinary but spelled like a control token.
constexpr std::string_view kJson = R"({
  "version": "1.0",
  "added_tokens": [
    {"id": 4, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true},
    {"id": 5, "content": "[tool]", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": false},
    {"id": 6, "content": "<|fim|>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                    "use_regex": false},
  "post_processor": null,
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
              "use_regex": true},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<": 3, "</s>": 4, "[tool]": 5,
            "<|fim|>": 6, "|": 7, "f": 8,
            "i": 9, "m": 10, ">": 11}, "merges": [["a", "b"]]}})";

class FolderTokenizer : public ::testing::Test {
 protected:
  void Set(const std::string& key, MetadataValue value) {
    parts_.metadata.insert_or_assign("tokenizer." + key, std::move(value));
  }
  Result<Tokenizer> Load() {
    parts_.path = "folder";
    Set("huggingface.json", kJson);
    return Tokenizer::FromModel(ModelFile(parts_));
  }
  static std::vector<TokenId> Encode(const Tokenizer& tokenizer, std::string_view text,
                                     SpecialTokens special) {
    return tokenizer.Encode(text, special).value_or(std::vector<TokenId>{-1});
  }

  ModelFileParts parts_;
};

TEST_F(FolderTokenizer, SpellingsGoBeforeIds) {
  Set("huggingface.eos_token", std::string_view("</s>"));
  Set("ggml.eos_token_id", std::uint64_t{2});
  Set("ggml.bos_token_id", std::uint64_t{5});
  const auto tokenizer = Load();
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_EQ(tokenizer->eos(), 4);
  EXPECT_EQ(tokenizer->bos(), 5);
  EXPECT_FALSE(tokenizer->add_bos());  // the post-processor adds none
  EXPECT_TRUE(tokenizer->IsControl(5));
}

TEST_F(FolderTokenizer, EveryEndThatTheFilesNameEndsAReply) {
  Set("ggml.eos_token_id", std::uint64_t{4});
  Set("huggingface.end_token_ids", std::vector<std::uint64_t>{4, 2});
  const auto tokenizer = Load();
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_THAT(tokenizer->end_tokens(), UnorderedElementsAre(4, 2));
}

TEST_F(FolderTokenizer, TokensSpelledLikeControlTokensAreNotFormedFromText) {
  const auto tokenizer = Load();
  ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().Message();
  EXPECT_TRUE(tokenizer->IsControl(6));
  EXPECT_THAT(Encode(*tokenizer, "ab<|fim|>", SpecialTokens::kAsText),
              ElementsAre(2, 3, 7, 8, 9, 10, 7, 11));
  EXPECT_THAT(Encode(*tokenizer, "ab<|fim|>", SpecialTokens::kParse), ElementsAre(2, 6));
  EXPECT_THAT(Encode(*tokenizer, "ab[tool]", SpecialTokens::kAsText), ElementsAre(2, 5));
}

TEST_F(FolderTokenizer, NamesAndIdsOutsideTheVocabularyAreRefused) {
  Set("huggingface.bos_token", std::string_view("<nobody>"));
  EXPECT_THAT(Load().error().Message(), HasSubstr("\"<nobody>\" is no token of tokenizer.json"));
  Set("huggingface.bos_token", std::string_view("</s>"));
  Set("huggingface.end_token_ids", std::vector<std::uint64_t>{12});
  EXPECT_THAT(Load().error().Message(), HasSubstr("12 is outside the vocabulary of 12 tokens"));
  Set("huggingface.end_token_ids", std::vector<std::uint64_t>{});
  Set("ggml.eos_token_id", std::uint64_t{99});
  EXPECT_THAT(Load().error().Message(), HasSubstr("99 is outside the vocabulary"));
}

TEST_F(FolderTokenizer, OtherModelsThanBytePairsAreRefusedByName) {
  constexpr std::string_view kWords = R"({"version": "1.0", "added_tokens": [], "normalizer": null,
    "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}})";
  EXPECT_THAT(Tokenizer::FromJson(kWords, "tokenizer.json").error().Message(),
              HasSubstr("its type is not BPE"));
}

}  // namespace
}  // namespace folio
