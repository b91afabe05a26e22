#include "kvcache/token_chain.h"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kvcache/cache_testing.h"

namespace folio {
namespace {

constexpr RowKind kPrompt = RowKind::kPrompt;
constexpr RowKind kGenerated = RowKind::kGenerated;

struct Part {
  std::vector<std::int32_t> tokens;
  RowKind kind;
};

TokenChain Chain(int block_size, bool row_kinds_differ, const std::vector<Part>& parts) {
  TokenChain chain(std::make_shared<BlockHasher>(), HashOf(7), block_size, row_kinds_differ);
  for (const Part& part : parts) chain.Append(part.tokens, part.kind);
  return chain;
}

std::vector<BlockHash> Hashes(int block_size, bool row_kinds_differ,
                              const std::vector<Part>& parts) {
  const TokenChain chain = Chain(block_size, row_kinds_differ, parts);
  return {chain.hashes().begin(), chain.hashes().end()};
}

TEST(TokenChainTest, OnlyFullBlocksAreHashed) {
  TokenChain chain = Chain(4, false, {});
  std::vector<std::size_t> counts;
  for (std::int32_t token = 0; token < 9; ++token) {
    chain.Append(std::span(&token, 1), kPrompt);
    counts.push_back(chain.hashes().size());
  }
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 0, 0, 1, 1, 1, 1, 2, 2}));
  EXPECT_EQ(chain.size(), 9);
}

TEST(TokenChainTest, EachHashIsThatOfItsTokensAfterItsParent) {
  BlockHasher hasher;
  const BlockHash first = hasher.Hash(HashOf(7), std::vector<std::int32_t>{1, 2});
  const BlockHash second = hasher.Hash(first, std::vector<std::int32_t>{3, 4});
  EXPECT_EQ(Hashes(2, false, {{{1, 2, 3, 4, 5}, kPrompt}}),
            (std::vector<BlockHash>{first, second}));
}

TEST(TokenChainTest, GeneratedRowsCountOnlyWhereTheDefinitionsDiffer) {
  const std::vector<Part> prompt = {{{1, 2, 3, 4}, kPrompt}};
  const std::vector<Part> reply = {{{1, 2, 3}, kPrompt}, {{4}, kGenerated}};
  EXPECT_EQ(Hashes(2, false, prompt), Hashes(2, false, reply));
  EXPECT_EQ(Hashes(2, true, prompt)[0], Hashes(2, true, reply)[0]);
  EXPECT_NE(Hashes(2, true, prompt)[1], Hashes(2, true, reply)[1]);
  // The pair itself is in the root: a block of prompt rows needs no key of its own.
  EXPECT_EQ(Hashes(2, true, prompt), Hashes(2, false, prompt));
}

TEST(TokenChainTest, WhichRowsWereGeneratedIsPartOfTheName) {
  BlockHasher hasher;
  const std::vector<std::int32_t> tokens = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2};
  const std::vector<std::uint8_t> rows = {0b1000'0010, 0b0000'0101};
  const BlockHash expected = hasher.Hash(HashOf(7), tokens, {.generated_rows = rows});
  const std::vector<Part> parts = {
      {{9}, kPrompt},       {{8}, kGenerated}, {{7, 6, 5, 4, 3}, kPrompt},
      {{2, 1}, kGenerated}, {{0}, kPrompt},    {{1, 2}, kPrompt}};
  // Row 9 is a prompt row, row 10 is generated: as `rows` says.
  std::vector<Part> marked = parts;
  marked[5] = {{1}, kGenerated};
  marked.push_back({{2}, kPrompt});
  EXPECT_EQ(Hashes(12, true, marked), std::vector<BlockHash>{expected});
  EXPECT_NE(Hashes(12, true, parts), std::vector<BlockHash>{expected});
}

TEST(TokenChainTest, ARowsKindIsForgottenWithItsBlock) {
  const std::vector<Part> parts = {{{1, 2}, kGenerated}, {{3, 4}, kPrompt}};
  BlockHasher hasher;
  const BlockHash parent = Hashes(2, true, parts)[0];
  EXPECT_EQ(Hashes(2, true, parts)[1], hasher.Hash(parent, std::vector<std::int32_t>{3, 4}));
}

struct RandomChain {
  int block_size;
  bool row_kinds_differ;
  std::vector<Part> parts;
};

RandomChain AnyChain() {
  RandomChain chain{*rc::gen::inRange(1, 20), *rc::gen::arbitrary<bool>(), {}};
  const int parts = *rc::gen::inRange(0, 6);
  for (int i = 0; i < parts; ++i) {
    chain.parts.push_back({*rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 3)),
                           *rc::gen::arbitrary<bool>() ? kGenerated : kPrompt});
  }
  return chain;
}

TEST(TokenChainTest, HowTokensWereAppendedMakesNoDifference) {
  EXPECT_TRUE(rc::check([] {
    const RandomChain whole = AnyChain();
    std::vector<Part> single;
    for (const Part& part : whole.parts) {
      for (const std::int32_t token : part.tokens) single.push_back({{token}, part.kind});
    }
    RC_ASSERT(Hashes(whole.block_size, whole.row_kinds_differ, whole.parts) ==
              Hashes(whole.block_size, whole.row_kinds_differ, single));
  }));
}

TEST(TokenChainTest, AChangedTokenChangesItsBlockAndAllAfterIt) {
  EXPECT_TRUE(rc::check([] {
    const int block_size = *rc::gen::inRange(1, 9);
    auto tokens =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 100)));
    const auto before = Hashes(block_size, false, {{tokens, kPrompt}});
    const auto at = static_cast<std::size_t>(*rc::gen::inRange(0, static_cast<int>(tokens.size())));
    tokens[at] += *rc::gen::inRange(1, 5);
    const auto after = Hashes(block_size, false, {{tokens, kPrompt}});
    for (std::size_t i = 0; i < before.size(); ++i) {
      RC_ASSERT((before[i] == after[i]) == (i < at / static_cast<std::size_t>(block_size)));
    }
  }));
}

}  // namespace
}  // namespace folio
