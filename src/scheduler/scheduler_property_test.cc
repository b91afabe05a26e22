// Random workloads: whatever is shared, forked, preempted or cancelled, every sequence gets the
// tokens it would get alone, and the pool stays whole.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/scheduler_testing.h"

namespace folio {
namespace {

struct Wish {
  std::vector<std::int32_t> prompt;
  std::int64_t generate = 0;
};

std::vector<std::int32_t> AnyPrompt(std::int64_t longest) {
  // A few stems, so that prefixes are shared; tails of their own.
  const auto stem = SchedulerRig::Tokens(*rc::gen::inRange<std::int64_t>(0, longest),
                                         *rc::gen::inRange(0, 3) * 100);
  auto prompt = stem;
  const auto tail = *rc::gen::inRange<std::int64_t>(0, std::max<std::int64_t>(1, longest / 4));
  for (std::int64_t i = 0; i < tail; ++i) prompt.push_back(*rc::gen::inRange(0, 50));
  if (prompt.empty()) prompt.push_back(1);
  prompt.resize(std::min(prompt.size(), static_cast<std::size_t>(longest)));
  return prompt;
}

RC_GTEST_PROP(SchedulerProperty, EverySequenceGetsWhatItWouldGetAlone, ()) {
  TestPool pool;
  pool.block_size = *rc::gen::inRange(1, 6);
  pool.num_blocks = *rc::gen::inRange<std::int64_t>(8, 80);
  pool.caching = *rc::gen::inRange(0, 4) != 0;
  if (*rc::gen::arbitrary<bool>()) {
    pool.groups.push_back({.window = *rc::gen::inRange<std::int64_t>(1, 20)});
  }
  SchedulerRig rig(pool, {.max_batch_tokens = *rc::gen::inRange<std::int64_t>(1, 24),
                          .max_running = *rc::gen::inRange<std::int64_t>(1, 10)});
  if (*rc::gen::arbitrary<bool>()) {
    rig.drafts = [](const Sequence&) {
      return SchedulerRig::Draft{.right = *rc::gen::inRange<std::int64_t>(0, 9),
                                 .wrong = *rc::gen::inRange<std::int64_t>(0, 5)};
    };
  }
  const std::int64_t longest = rig.scheduler.LongestSequence();
  RC_PRE(longest >= 4);

  std::map<SequenceId, Wish> wishes;
  std::vector<SequenceId> cancelled;
  const int events = *rc::gen::inRange(1, 40);
  for (int i = 0; i < events; ++i) {
    const int what = *rc::gen::inRange(0, 10);
    if (what < 4) {
      Wish wish{.prompt = AnyPrompt(longest - 2), .generate = 0};
      const auto room = longest - static_cast<std::int64_t>(wish.prompt.size());
      wish.generate = *rc::gen::inRange<std::int64_t>(1, std::max<std::int64_t>(2, room));
      const SequenceId id = rig.Add(wish.prompt, wish.generate, *rc::gen::inRange(-1, 2));
      RC_ASSERT(id != 0U);
      wishes[id] = wish;
    } else if (what == 4 && !wishes.empty()) {
      const auto victim = std::next(
          wishes.begin(),
          *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(wishes.size())));
      rig.Cancel(victim->first);
      cancelled.push_back(victim->first);
    } else {
      rig.Run();
    }
    RC_ASSERT(rig.Check() == "");
  }
  RC_ASSERT(rig.RunAll(20000));
  RC_ASSERT(rig.rows_add_up);
  RC_ASSERT(rig.trace.totals(EventType::kChunk).b == rig.rows_computed);
  RC_ASSERT(rig.Check() == "");
  RC_ASSERT(rig.cache.pool().num_free() == pool.num_blocks);
  for (const auto& [id, wish] : wishes) {
    if (!rig.finished.contains(id)) {
      RC_ASSERT(std::ranges::count(cancelled, id) > 0);
      continue;
    }
    auto alone = wish.prompt;
    for (std::int64_t i = 0; i < wish.generate; ++i) alone.push_back(NextToken(alone));
    RC_ASSERT(rig.finished[id] == alone);
  }
}

}  // namespace
}  // namespace folio
