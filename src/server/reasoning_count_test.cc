#include "server/reasoning_count.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/reply_parser/reply_parser.h"

namespace folio {
namespace {

// The tokens of a reply, told in deltas of so many tokens as `deltas` says, the last one of the
// rest; text comes `late` bytes after its token.
std::int64_t Count(const std::vector<std::string>& tokens, const std::vector<std::size_t>& deltas,
                   std::size_t late = 0) {
  const auto parser = MakeReplyParser({.reasoning = ReasoningSyntax::kThink}, {});
  ReasoningCount count;
  std::string drawn;
  std::size_t told = 0;
  std::size_t next = 0;
  const auto tell_to = [&](std::size_t end) {
    while (told < end) {
      const std::size_t bytes = count.UpToTokensEnd(end - told);
      std::vector<ReplyPiece> pieces;
      parser->Text(std::string_view(drawn).substr(told, bytes), pieces);
      count.Told(bytes, pieces);
      told += bytes;
    }
  };
  const auto draw = [&](std::size_t many) {
    for (; many > 0 && next < tokens.size(); --many, ++next) {
      count.AddToken(tokens[next].size());
      drawn += tokens[next];
    }
  };
  for (const std::size_t many : deltas) {
    draw(many);
    tell_to(drawn.size() - std::min(late, drawn.size()));
  }
  draw(tokens.size());
  tell_to(drawn.size());
  return count.tokens();
}

TEST(ReasoningCountTest, ReasoningIsCountedUpToItsLastToken) {
  EXPECT_EQ(Count({"<think>", "I", " see", ".", "</think>", "\n\n", "Yes", "."}, {}), 4);
  EXPECT_EQ(Count({"Yes", "."}, {}), 0);
  EXPECT_EQ(Count({"<think>", "I", " see"}, {}), 3);
  EXPECT_EQ(Count({"<think>", "", "I", "", " see", "</think>", "Yes"}, {}), 5);
}

TEST(ReasoningCountTest, HowTokensComeTogetherChangesNothing) {
  const std::vector<std::string> tokens = {"<th",    "ink>\n", "a",  " <", "b", " ", "c<",
                                           "/think", ">",      "\n", "",   "T", "h", "e"};
  const std::int64_t expected = Count(tokens, std::vector<std::size_t>(tokens.size(), 1));
  EXPECT_EQ(expected, 7);
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::size_t> deltas;
    for (int i = 0; i < 6; ++i) deltas.push_back(random() % 4);
    EXPECT_EQ(Count(tokens, deltas, random() % 5), expected);
  }
}

TEST(JoinPiecesTest, NeighboursOfAKindBecomeOne) {
  using Kind = ReplyPiece::Kind;
  std::vector<ReplyPiece> pieces = {{Kind::kReasoning, "a"},     {Kind::kReasoning, "b"},
                                    {Kind::kText, "c"},          {Kind::kCallStart, "f"},
                                    {Kind::kCallEnd, ""},        {Kind::kCallStart, "g"},
                                    {Kind::kCallArguments, "{"}, {Kind::kCallArguments, "}"}};
  JoinPieces(pieces);
  EXPECT_EQ(pieces, (std::vector<ReplyPiece>{{Kind::kReasoning, "ab"},
                                             {Kind::kText, "c"},
                                             {Kind::kCallStart, "f"},
                                             {Kind::kCallEnd, ""},
                                             {Kind::kCallStart, "g"},
                                             {Kind::kCallArguments, "{}"}}));
}

}  // namespace
}  // namespace folio
