#include "trace/trace.h"

#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

std::vector<std::int64_t> KeptA(const Trace& trace) {
  std::vector<std::int64_t> values;
  for (const Event& event : trace.Events()) values.push_back(event.a);
  return values;
}

TEST(TraceTest, TheRingKeepsTheLatestEventsOldestFirst) {
  Trace trace(3);
  EXPECT_TRUE(trace.Events().empty());
  trace.Emit({.a = 1});
  trace.Emit({.a = 2});
  EXPECT_EQ(KeptA(trace), (std::vector<std::int64_t>{1, 2}));
  for (std::int64_t a = 3; a <= 7; ++a) trace.Emit({.a = a});
  EXPECT_EQ(KeptA(trace), (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_EQ(trace.emitted(), 7U);
}

TEST(TraceTest, TotalsCountEveryEventWithOrWithoutARing) {
  for (const std::size_t capacity : {0, 1}) {
    Trace trace(capacity);
    trace.Emit({.a = 5, .b = 1, .type = EventType::kHit});
    trace.Emit({.a = 7, .b = 2, .type = EventType::kHit});
    trace.Emit({.a = 100, .type = EventType::kFreed});
    EXPECT_EQ(trace.totals(EventType::kHit).count, 2U);
    EXPECT_EQ(trace.totals(EventType::kHit).a, 12);
    EXPECT_EQ(trace.totals(EventType::kHit).b, 3);
    EXPECT_EQ(trace.totals(EventType::kFreed).count, 1U);
    EXPECT_EQ(trace.totals(EventType::kEvicted).count, 0U);
    EXPECT_EQ(trace.Events().size(), capacity);
  }
}

TEST(TraceTest, EventsGetTheTimeThatWasSetLast) {
  Trace trace(2);
  trace.SetTime(10);
  trace.Emit({.time_ns = 99});
  trace.SetTime(20);
  trace.Emit({});
  EXPECT_EQ(trace.Events()[0].time_ns, 10);
  EXPECT_EQ(trace.Events()[1].time_ns, 20);
}

TEST(TraceTest, NobodyWatchingIsFine) {
  Trace* none = nullptr;
  Emit(none, {.a = 1});
  Trace trace(1);
  Emit(&trace, {.a = 1});
  EXPECT_EQ(trace.emitted(), 1U);
}

TEST(TraceTest, EveryTypeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int i = 0; i < kEventTypes; ++i) names.insert(EventTypeName(static_cast<EventType>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kEventTypes));
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(EventTypeName(EventType::kScheduled), "scheduled");
  EXPECT_EQ(EventTypeName(EventType::kMissed), "missed");
}

}  // namespace
}  // namespace folio
