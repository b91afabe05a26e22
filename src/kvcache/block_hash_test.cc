#include "kvcache/block_hash.h"

#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

std::string Hex(const BlockHash& hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const std::uint8_t byte : hash) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::vector<std::int32_t> Tokens(std::int32_t first, int count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

const BlockHashContext kContext = {.model_digest = "sha256:00ff",
                                   .block_size = 16,
                                   .positions = "yarn 4",
                                   .prompt_numerics = "bf16",
                                   .generated_numerics = "int16",
                                   .kv_type = KvType::kQ8_0,
                                   .salt = "key \xc3\xa9"};

// The vectors of docs/design/block-hash.md, made by tests/golden/block_hash.py.
TEST(BlockHashTest, GivesTheVectorsOfTheIndependentImplementation) {
  EXPECT_EQ(Hex(HashContext({})),
            "20dac57d4ee14b917c968aab1cdcd15cea49664b03627e4c2e180f6ed7b6005b");
  const BlockHash root = HashContext(kContext);
  EXPECT_EQ(Hex(root), "8116ccd70d30e6f558769b91112ef477f3dea881d373f95534baae6f065520c8");
  BlockHasher hasher;
  const BlockHash first = hasher.Hash(root, Tokens(0, 16));
  EXPECT_EQ(Hex(first), "1b049660f970dd4710546282434cc1caa1a84b450395d1550de3d8398f4513bc");
  EXPECT_EQ(Hex(hasher.Hash(first, Tokens(16, 16))),
            "497fd5eed76081e078a7f1d041d440b766ad5c22af3f60ba7ae7d9184aed56ee");
  EXPECT_EQ(Hex(hasher.Hash(first, std::vector<std::int32_t>{-1, 2147483647})),
            "28af928a7ded6c5ac797253785e72ab7a7c5c9ab6d1f442abbffdf9608ca46c5");
  const std::vector<std::string> media = {"m1", "m2"};
  const std::vector<std::uint8_t> rows = {0b10, 0b100};
  EXPECT_EQ(Hex(hasher.Hash(first, Tokens(0, 16), {.adapter = "lora-a"})),
            "99040baf96de9ae6eeb466be3d2cfbcdca3b42b5c08bf7c7bd3d82a0ab7ad64c");
  EXPECT_EQ(Hex(hasher.Hash(first, Tokens(0, 16), {.media = media})),
            "b1766e14a6996bf42df73e8d7a0275f9f9ee4b505b8397923001cbcd459be7b0");
  EXPECT_EQ(Hex(hasher.Hash(first, Tokens(0, 16), {.generated_rows = rows})),
            "462b6c8867527db8c44314cb30044cb7f4132bf52138dfc308805f78950476c1");
  EXPECT_EQ(Hex(hasher.Hash(first, Tokens(0, 16),
                            {.adapter = "lora-a", .media = media, .generated_rows = rows})),
            "66c3e595d7086347dfe14c8a8731826ea0c559f3ffbe334b41cbcc76f9c01eba");
}

TEST(BlockHashTest, EveryFieldOfTheContextSeparates) {
  std::vector<BlockHashContext> contexts(8, kContext);
  contexts[1].model_digest += "0";
  contexts[2].block_size = 32;
  contexts[3].positions = "";
  contexts[4].prompt_numerics = "int16";
  contexts[5].generated_numerics = "bf16";
  contexts[6].kv_type = KvType::kBf16;
  contexts[7].salt = "key";
  std::set<BlockHash> hashes;
  for (const BlockHashContext& context : contexts) hashes.insert(HashContext(context));
  EXPECT_EQ(hashes.size(), contexts.size());
}

TEST(BlockHashTest, BytesThatMoveFromOneStringToTheNextChangeTheHash) {
  EXPECT_NE(HashContext({.prompt_numerics = "ab", .generated_numerics = "c"}),
            HashContext({.prompt_numerics = "a", .generated_numerics = "bc"}));
  BlockHasher hasher;
  const std::vector<std::string> joined = {"ab"};
  const std::vector<std::string> split = {"a", "b"};
  const std::vector<std::string> swapped = {"b", "a"};
  const auto tokens = Tokens(0, 16);
  std::set<BlockHash> hashes = {
      hasher.Hash({}, tokens, {.media = joined}), hasher.Hash({}, tokens, {.media = split}),
      hasher.Hash({}, tokens, {.media = swapped}), hasher.Hash({}, tokens, {.adapter = "ab"}),
      hasher.Hash({}, tokens)};
  EXPECT_EQ(hashes.size(), 5U);
}

TEST(BlockHashTest, ABlockDependsOnItsParentItsTokensAndTheirOrder) {
  BlockHasher hasher;
  const BlockHash a = hasher.Hash({}, std::vector<std::int32_t>{1, 2});
  std::set<BlockHash> hashes = {a, hasher.Hash({}, std::vector<std::int32_t>{2, 1}),
                                hasher.Hash({}, std::vector<std::int32_t>{1}),
                                hasher.Hash({}, std::vector<std::int32_t>{1, 2, 0}),
                                hasher.Hash(a, std::vector<std::int32_t>{1, 2})};
  EXPECT_EQ(hashes.size(), 5U);
}

TEST(BlockHashTest, NoRowGeneratedIsTheSameAsNoKey) {
  BlockHasher hasher;
  const std::vector<std::uint8_t> none = {0, 0};
  EXPECT_EQ(hasher.Hash({}, Tokens(0, 16), {.generated_rows = none}),
            hasher.Hash({}, Tokens(0, 16)));
}

TEST(BlockHashTest, AReusedHasherForgetsWhatItHashedBefore) {
  BlockHasher used;
  used.Hash(kContext);
  used.Hash({}, Tokens(5, 100), {.adapter = "a"});
  BlockHasher moved = std::move(used);
  EXPECT_EQ(moved.Hash({}, Tokens(0, 16)), BlockHasher().Hash({}, Tokens(0, 16)));
}

}  // namespace
}  // namespace folio
