#include "trace/trace.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <vector>

namespace folio {
namespace {

Event Made(EventType type, std::int64_t a, std::int64_t b = 0) {
  return {.request = static_cast<std::uint64_t>(a), .a = a, .b = b, .type = type};
}

std::vector<std::int64_t> KeptA(const Trace& trace) {
  std::vector<std::int64_t> kept;
  for (const Event& event : trace.Events()) kept.push_back(event.a);
  return kept;
}

TEST(TraceTest, TheRingOverwritesItsOldestEvents) {
  Trace trace(3);
  for (int a = 1; a <= 2; ++a) trace.Emit(Made(EventType::kChunk, a));
  EXPECT_EQ(KeptA(trace), (std::vector<std::int64_t>{1, 2}));
  for (int a = 3; a <= 7; ++a) trace.Emit(Made(EventType::kChunk, a));
  EXPECT_EQ(KeptA(trace), (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_EQ(trace.emitted(), 7U);
}

TEST(TraceTest, WithoutARingOnlyTheTotalsAreKept) {
  Trace trace;
  trace.Emit(Made(EventType::kHit, 4, 5));
  EXPECT_TRUE(trace.Events().empty());
  EXPECT_EQ(trace.totals(EventType::kHit).count, 1U);
  EXPECT_EQ(trace.emitted(), 1U);
}

TEST(TraceTest, EventsGetTheTimeThatWasSetAndKeepTheRest) {
  Trace trace(2);
  trace.SetTime(17);
  trace.Emit({.time_ns = 99,
              .request = 5,
              .a = -1,
              .b = 2,
              .block = 3,
              .group = 1,
              .type = EventType::kCopied});
  trace.SetTime(18);
  trace.Emit(Made(EventType::kFreed, 0));
  const std::vector<Event> events = trace.Events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].time_ns, 17);
  EXPECT_EQ(events[0].request, 5U);
  EXPECT_EQ(events[0].a, -1);
  EXPECT_EQ(events[0].b, 2);
  EXPECT_EQ(events[0].block, 3);
  EXPECT_EQ(events[0].group, 1);
  EXPECT_EQ(events[0].type, EventType::kCopied);
  EXPECT_EQ(events[1].time_ns, 18);
}

TEST(TraceTest, NobodyWatchingIsFine) {
  Emit(nullptr, Made(EventType::kEvicted, 1));
  Trace trace;
  Emit(&trace, Made(EventType::kEvicted, 1));
  EXPECT_EQ(trace.totals(EventType::kEvicted).count, 1U);
}

TEST(TraceTest, EveryTypeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int type = 0; type < kEventTypes; ++type) {
    names.insert(EventTypeName(static_cast<EventType>(type)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kEventTypes));
  EXPECT_EQ(names.count(""), 0U);
  EXPECT_EQ(EventTypeName(EventType::kSharedInFlight), "shared_in_flight");
  EXPECT_EQ(EventTypeName(EventType::kMissed), "missed");
}

TEST(TraceTest, TotalsAreTheSumsOfAllEventsAndTheRingHoldsTheLatest) {
  EXPECT_TRUE(rc::check([] {
    const auto capacity = *rc::gen::inRange<std::size_t>(0, 20);
    const auto values = *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000));
    Trace trace(capacity);
    std::array<EventTotals, kEventTypes> sums{};
    std::vector<std::int64_t> all;
    for (const int value : values) {
      const auto type = static_cast<std::size_t>(value + 1000) % kEventTypes;
      trace.Emit(Made(static_cast<EventType>(type), value, 2 * value));
      ++sums[type].count;
      sums[type].a += value;
      sums[type].b += 2 * value;
      all.push_back(value);
    }
    for (int type = 0; type < kEventTypes; ++type) {
      const EventTotals& totals = trace.totals(static_cast<EventType>(type));
      RC_ASSERT(totals.count == sums[static_cast<std::size_t>(type)].count);
      RC_ASSERT(totals.a == sums[static_cast<std::size_t>(type)].a);
      RC_ASSERT(totals.b == sums[static_cast<std::size_t>(type)].b);
    }
    const std::size_t kept = std::min(capacity, all.size());
    RC_ASSERT(KeptA(trace) ==
              std::vector<std::int64_t>(all.end() - static_cast<std::ptrdiff_t>(kept), all.end()));
    RC_ASSERT(trace.emitted() == all.size());
  }));
}

}  // namespace
}  // namespace folio
