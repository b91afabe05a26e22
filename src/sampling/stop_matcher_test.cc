#include "sampling/stop_matcher.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

using Stops = std::vector<std::string>;

// What a reader sees in the end, for the definition: the earliest end of a match, then the longest.
std::string TextBeforeStop(const std::string& text, const Stops& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::size_t longest = 0;
    for (const std::string& stop : stops) {
      if (!stop.empty() && text.substr(0, end).ends_with(stop)) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

std::string PushAll(StopMatcher& matcher, const std::vector<std::string>& pieces) {
  std::string shown;
  for (const std::string& piece : pieces) shown += matcher.Push(piece);
  return shown + matcher.Finish();
}

// A small alphabet makes matches, near matches and overlaps common.
rc::Gen<std::string> SmallText() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string("aab")));
}

RC_GTEST_PROP(StopMatcherTest, AnyCutOfTheTextGivesTheSameOutput, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(SmallText());
  const auto stops = *rc::gen::container<Stops>(SmallText());
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  StopMatcher matcher(stops);
  RC_ASSERT(PushAll(matcher, pieces) == TextBeforeStop(text, stops));
  RC_ASSERT(matcher.stopped() == !matcher.matched().empty());
}

RC_GTEST_PROP(StopMatcherTest, NothingIsHeldThatCannotBeginAStop, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(SmallText());
  const Stops stops = *rc::gen::container<Stops>(SmallText());
  StopMatcher matcher(stops);
  std::string text;
  std::string shown;
  for (const std::string& piece : pieces) {
    text += piece;
    shown += matcher.Push(piece);
    if (matcher.stopped()) break;
    const std::string held = text.substr(shown.size());
    RC_ASSERT(held.size() == matcher.held());
    bool begins_a_stop = held.empty();
    for (const std::string& stop : stops) begins_a_stop |= stop.starts_with(held);
    RC_ASSERT(begins_a_stop);
  }
}

TEST(StopMatcherTest, AStopAcrossPiecesIsNeverShown) {
  const Stops stops = {"\nUser:"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.Push("Hello.\nUs"), "Hello.");
  EXPECT_EQ(matcher.held(), 3U);
  EXPECT_EQ(matcher.Push("er: hi"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.matched(), "\nUser:");
  EXPECT_EQ(matcher.Push("more"), "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcherTest, AFalseBeginningIsShownLater) {
  const Stops stops = {"<end>"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.Push("a<en"), "a");
  EXPECT_EQ(matcher.Push("try>"), "<entry>");
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopMatcherTest, WithoutStopsNothingIsHeld) {
  StopMatcher matcher(Stops{});
  EXPECT_EQ(matcher.Push("as it comes"), "as it comes");
  EXPECT_EQ(matcher.held(), 0U);
}

TEST(StopMatcherTest, TheEndShowsWhatWasHeld) {
  const Stops stops = {"STOP"};
  StopMatcher matcher(stops);
  EXPECT_EQ(matcher.Push("ST"), "");
  EXPECT_EQ(matcher.Finish(), "ST");
}

}  // namespace
}  // namespace folio
