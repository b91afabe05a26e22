#include "sampling/ngram_index.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

std::vector<std::int32_t> Letters(std::string_view text) { return {text.begin(), text.end()}; }

NgramMatch FindIn(std::span<const std::int32_t> tokens, std::int64_t most = 1000) {
  NgramIndex index(most);
  index.Update(tokens);
  return index.Find(tokens);
}

TEST(NgramIndexTest, FindsTheLongestEarlierMatchOfTheEnd) {
  const auto text = Letters("xabcdef.ycdefg.cdef");
  const NgramMatch match = FindIn(text);
  EXPECT_EQ(match.next, 14 - 1);  // the g: "cdef" stood twice, the later one wins
  EXPECT_EQ(match.length, 4);
  const auto longer = Letters("xabcdef.ycdefg.bcdef");
  EXPECT_EQ(FindIn(longer).next, 7);
  EXPECT_EQ(FindIn(longer).length, 5);
}

TEST(NgramIndexTest, ShorterMatchesThanAGramAreNone) {
  EXPECT_EQ(FindIn(Letters("abcxab")).length, 0);
  EXPECT_EQ(FindIn(Letters("ab")).length, 0);
  EXPECT_EQ(FindIn({}).length, 0);
  EXPECT_EQ(FindIn(Letters("abc")).length, 0);
}

TEST(NgramIndexTest, ATextThatRepeatsItselfGoesOn) {
  const auto text = Letters("abcabcabca");
  const NgramMatch match = FindIn(text);
  EXPECT_EQ(match.next, 7);
  std::vector<std::int32_t> draft;
  CopyDraft(text, match, 7, draft);
  EXPECT_EQ(draft, Letters("bcabcab"));
}

TEST(NgramIndexTest, OldPlacesAreForgottenAndNewOnesFound) {
  std::vector<std::int32_t> text = {1, 2, 3, 4};
  for (int i = 0; i < 40; ++i) text.push_back(1000 + i);
  for (const std::int32_t token : {1, 2, 3}) text.push_back(token);
  EXPECT_EQ(FindIn(text, 64).length, 3);
  EXPECT_EQ(FindIn(text, 32).length, 0);
}

// Against a search of every place.
RC_GTEST_PROP(NgramIndexProperty, AgreesWithASearchOfEveryPlace, ()) {
  const auto text = *rc::gen::container<std::vector<std::int32_t>>(rc::gen::inRange(0, 3));
  NgramIndex index(static_cast<std::int64_t>(text.size()));
  // As a reply grows.
  const auto cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  index.Update(std::span(text).first(cut));
  index.Update(text);
  const NgramMatch found = index.Find(text);
  int longest = 0;
  for (std::size_t place = 1; place < text.size(); ++place) {
    std::size_t length = 0;
    while (length < place && length < NgramIndex::kMostLength &&
           text[place - 1 - length] == text[text.size() - 1 - length]) {
      ++length;
    }
    longest = std::max(longest, static_cast<int>(length));
  }
  // Beyond the number of places that a search looks at, a shorter match is as good.
  if (text.size() < 32) RC_ASSERT(found.length == (longest < NgramIndex::kGram ? 0 : longest));
  for (int i = 1; i <= found.length; ++i) {
    RC_ASSERT(text[static_cast<std::size_t>(found.next - i)] ==
              text[text.size() - static_cast<std::size_t>(i)]);
  }
}

}  // namespace
}  // namespace folio
