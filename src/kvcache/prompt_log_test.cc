#include "kvcache/prompt_log.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace folio {
namespace {

constexpr int kBlockSize = 4;
constexpr std::size_t kAmple = std::size_t{64} << 20;

using Tokens = std::vector<std::int32_t>;

BlockHash Named(std::uint64_t value) {
  BlockHash hash{};
  std::memcpy(hash.data(), &value, sizeof(value));
  return hash;
}

// One prompt, as the log is given it. Its hashes are chained, though not by SHA-256.
struct Prompt {
  std::uint64_t request = 0;
  BlockHash root{};
  Tokens tokens;
  std::vector<BlockHash> hashes;
  std::vector<PromptPart> parts;

  Prompt(std::uint64_t number, Tokens content, std::vector<PromptPart> names = {},
         std::uint64_t root_name = 1, std::uint64_t other_content = 0)
      : request(number),
        root(Named(root_name)),
        tokens(std::move(content)),
        parts(std::move(names)) {
    std::uint64_t hash = root_name;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      hash =
          (hash ^ static_cast<std::uint64_t>(tokens[i]) ^ other_content) * 0x9e3779b97f4a7c15U + 1;
      if ((i + 1) % kBlockSize == 0) hashes.push_back(Named(hash));
    }
  }
};

void Record(PromptLog& log, const Prompt& prompt) {
  log.Record(prompt.request, prompt.root, prompt.tokens, prompt.hashes, prompt.parts);
}

MissReport Explain(const PromptLog& log, const Prompt& prompt, std::int64_t cached = 0) {
  return log.Explain(prompt.root, prompt.tokens, prompt.hashes, prompt.parts, cached);
}

Tokens Count(std::int32_t from, std::int32_t to) {
  Tokens tokens;
  for (; from < to; ++from) tokens.push_back(from);
  return tokens;
}

Tokens operator+(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(PromptLogTest, AFirstPromptIsSaidToBeTheFirst) {
  const PromptLog log(kAmple, kBlockSize);
  const MissReport report = Explain(log, Prompt(1, Count(0, 10), {{"system", 0}}));
  EXPECT_EQ(report, (MissReport{.cause = MissCause::kFirstSeen,
                                .prompt_tokens = 10,
                                .position = 0,
                                .token_here = 0,
                                .part_here = "system"}));
}

TEST(PromptLogTest, TheFirstTokenThatDiffersIsNamedWithItsPartInBoth) {
  PromptLog log(kAmple, kBlockSize);
  Record(log,
         Prompt(7, Count(0, 20), {{"system", 0}, {"tools[0] f", 9}, {"messages[1] user", 15}}));
  const Prompt prompt(8, Count(0, 11) + Count(90, 99), {{"system", 0}, {"messages[1] user", 10}});
  EXPECT_EQ(Explain(log, prompt, 8), (MissReport{.cause = MissCause::kDiffers,
                                                 .prompt_tokens = 20,
                                                 .cached_tokens = 8,
                                                 .matched_tokens = 11,
                                                 .nearest_request = 7,
                                                 .position = 11,
                                                 .token_here = 90,
                                                 .token_there = 11,
                                                 .part_here = "messages[1] user",
                                                 .part_there = "tools[0] f",
                                                 .offset_in_part = 1}));
}

TEST(PromptLogTest, APromptThatGoesOnHasNothingToHitThere) {
  PromptLog log(kAmple, kBlockSize);
  Record(log, Prompt(1, Count(0, 9)));
  const MissReport report = Explain(log, Prompt(2, Count(0, 14), {{"a", 0}, {"b", 9}}), 8);
  EXPECT_EQ(report.cause, MissCause::kGoesOn);
  EXPECT_EQ(report.position, 9);
  EXPECT_EQ(report.token_there, -1);
  EXPECT_EQ(report.part_here, "b");
  EXPECT_EQ(report.part_there, "");
}

TEST(PromptLogTest, KnownBlocksThatWereNotHitWereEvictedOrHaveOtherContent) {
  PromptLog log(kAmple, kBlockSize);
  Record(log, Prompt(1, Count(0, 20)));
  const MissReport report = Explain(log, Prompt(2, Count(0, 18) + Count(50, 60)), 4);
  EXPECT_EQ(report.cause, MissCause::kEvicted);
  EXPECT_EQ(report.position, 4);
  EXPECT_EQ(report.matched_tokens, 18);
  EXPECT_EQ(report.token_there, 4);
  const Prompt other(3, Count(0, 20), {}, 1, /*other_content=*/5);
  EXPECT_EQ(Explain(log, other).cause, MissCause::kOtherContent);
}

TEST(PromptLogTest, FullHitsAndTailsOfLessThanABlockAreNoMystery) {
  PromptLog log(kAmple, kBlockSize);
  Record(log, Prompt(1, Count(0, 11)));
  EXPECT_EQ(Explain(log, Prompt(2, Count(0, 11)), 10).cause, MissCause::kFullHit);
  EXPECT_EQ(Explain(log, Prompt(2, Count(0, 11)), 10).position, -1);
  const MissReport report = Explain(log, Prompt(2, Count(0, 11)), 8);
  EXPECT_EQ(report.cause, MissCause::kBlockEnd);
  EXPECT_EQ(report.position, 8);
}

TEST(PromptLogTest, HitsThatTheRecordDoesNotKnowAreForgotten) {
  PromptLog log(kAmple, kBlockSize);
  EXPECT_EQ(Explain(log, Prompt(1, Count(0, 20)), 8).cause, MissCause::kForgotten);
  Record(log, Prompt(1, Count(0, 5) + Count(80, 90)));
  EXPECT_EQ(Explain(log, Prompt(2, Count(0, 20)), 8).cause, MissCause::kForgotten);
}

TEST(PromptLogTest, OfEquallyNearPromptsTheLatestIsNamed) {
  PromptLog log(kAmple, kBlockSize);
  Record(log, Prompt(1, Count(0, 6) + Tokens{70, 71}));
  Record(log, Prompt(2, Count(0, 6) + Tokens{80, 81}));
  Record(log, Prompt(3, Count(0, 3) + Tokens{90, 91}));
  const MissReport report = Explain(log, Prompt(4, Count(0, 6) + Tokens{99}), 4);
  EXPECT_EQ(report.nearest_request, 2U);
  EXPECT_EQ(report.token_there, 80);
}

TEST(PromptLogTest, PromptsOfAnotherRootAreInvisible) {
  PromptLog log(kAmple, kBlockSize);
  Record(log, Prompt(1, Count(0, 20), {}, /*root_name=*/1));
  const MissReport report = Explain(log, Prompt(2, Count(0, 20), {}, /*root_name=*/2));
  EXPECT_EQ(report.cause, MissCause::kFirstSeen);
  EXPECT_EQ(report.nearest_request, 0U);
  EXPECT_EQ(report.token_there, -1);
}

TEST(PromptLogTest, AHugePromptKeepsItsHeadAndOthersTheirPlace) {
  PromptLog log(100'000, kBlockSize);
  for (std::uint64_t i = 0; i < 10; ++i) Record(log, Prompt(i, {static_cast<int>(i), 1, 2}));
  Record(log, Prompt(99, Count(100, 1'000'000)));
  EXPECT_EQ(log.size(), 11U);
  EXPECT_LE(log.bytes(), 100'000U);
  const MissReport report = Explain(log, Prompt(100, Count(100, 100'000)));
  EXPECT_EQ(report.nearest_request, 99U);
  EXPECT_GT(report.matched_tokens, 2000);
  // To the end of what is kept nothing is known of it; before, everything.
  EXPECT_EQ(Explain(log, Prompt(100, Count(100, 100'000)), report.matched_tokens).cause,
            MissCause::kForgotten);
  EXPECT_EQ(Explain(log, Prompt(100, Count(100, 1000) + Tokens{0, 0}), 900).cause,
            MissCause::kDiffers);
}

TEST(PromptLogTest, SharedBeginningsAreStoredOnce) {
  PromptLog log(kAmple, kBlockSize);
  Record(log, Prompt(1, Count(0, 100'000), {{"system", 0}}));
  const std::size_t one = log.bytes();
  for (int i = 2; i < 102; ++i) {
    Record(log, Prompt(static_cast<std::uint64_t>(i), Count(0, 100'000) + Tokens{-i, 1, 2, 3},
                       {{"system", 0}, {"messages[1] user", 100'000}}));
  }
  EXPECT_LT(log.bytes(), one + std::size_t{100} * 1000);
}

TEST(PromptLogTest, TheOldestIsForgottenFirstAndNothingIsLeftOfIt) {
  PromptLog log(20'000, kBlockSize);
  for (int i = 0; i < 1000; ++i) {
    Record(log, Prompt(static_cast<std::uint64_t>(i), Count(0, 50) + Tokens{100 + i, i},
                       {{"part " + std::to_string(i), 0}}, 1 + static_cast<std::uint64_t>(i) % 3));
    ASSERT_LE(log.bytes(), 20'000U);
  }
  const std::size_t kept = log.size();
  EXPECT_GT(kept, 5U);
  EXPECT_EQ(Explain(log, Prompt(0, Count(0, 50) + Tokens{1099, 0}, {}, 1)).matched_tokens, 51);
  EXPECT_EQ(Explain(log, Prompt(0, Count(0, 50) + Tokens{100, 0}, {}, 1)).matched_tokens, 50);
}

TEST(PromptLogTest, ATreeAsDeepAsItsPromptsAreLongIsNoTrouble) {
  PromptLog log(std::size_t{512} << 20, kBlockSize);
  Tokens tokens;
  for (int i = 0; i < 100'000; ++i) {
    tokens.push_back(i % 7);
    if (i % 50 == 0) Record(log, Prompt(static_cast<std::uint64_t>(i) + 1, tokens));
  }
  EXPECT_EQ(Explain(log, Prompt(1, tokens + Tokens{9})).matched_tokens, 99'951);
}

TEST(PromptLogTest, TooSmallABudgetRecordsNothing) {
  PromptLog log(1000, kBlockSize);
  Record(log, Prompt(1, Count(0, 10)));
  EXPECT_EQ(log.bytes(), 0U);
  EXPECT_EQ(log.size(), 0U);
}

// ---- against a comparison with every prompt ----

Tokens AnyTokens(const std::vector<Prompt>& earlier) {
  Tokens tokens;
  if (!earlier.empty() && *rc::gen::inRange(0, 4) > 0) {
    tokens = earlier[*rc::gen::inRange<std::size_t>(0, earlier.size())].tokens;
    tokens.resize(*rc::gen::inRange<std::size_t>(0, tokens.size() + 1));
  }
  return tokens + *rc::gen::container<Tokens>(rc::gen::inRange(0, 3));
}

Prompt AnyPrompt(std::uint64_t request, const std::vector<Prompt>& earlier) {
  std::vector<PromptPart> parts;
  for (std::int64_t at = 0; at < 40; at += *rc::gen::inRange(1, 20)) {
    parts.push_back({"part " + std::to_string(*rc::gen::inRange(0, 5)), at});
  }
  return {request, AnyTokens(earlier), std::move(parts), *rc::gen::inRange<std::uint64_t>(1, 3)};
}

std::int64_t CommonPrefix(const Tokens& a, const Tokens& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

std::string PartOf(const Prompt& prompt, std::int64_t at, std::int64_t* offset = nullptr) {
  std::string label;
  for (const PromptPart& part : prompt.parts) {
    if (part.first_token > at) break;
    label = part.label;
    if (offset != nullptr) *offset = at - part.first_token;
  }
  return label;
}

// The report as its fields' comments define it.
MissReport Expected(const std::vector<Prompt>& recorded, const Prompt& prompt,
                    std::int64_t cached) {
  const auto size = static_cast<std::int64_t>(prompt.tokens.size());
  MissReport report{.prompt_tokens = size, .cached_tokens = cached};
  const Prompt* nearest = nullptr;
  for (const Prompt& each : recorded) {
    const std::int64_t common =
        each.root == prompt.root ? CommonPrefix(each.tokens, prompt.tokens) : 0;
    if (common == 0 || common < report.matched_tokens) continue;
    nearest = &each;
    report.matched_tokens = common;
    report.nearest_request = each.request;
  }
  const std::int64_t matched = report.matched_tokens;
  if (cached >= size - 1) {
    report.cause = MissCause::kFullHit;
    return report;
  }
  const auto there = nearest == nullptr ? 0 : static_cast<std::int64_t>(nearest->tokens.size());
  const bool lost_a_block = matched / kBlockSize > cached / kBlockSize;
  report.position = lost_a_block || matched == size ? cached : std::max(matched, cached);
  if (lost_a_block) {
    report.cause = MissCause::kEvicted;
  } else if (matched == size) {
    report.cause = MissCause::kBlockEnd;
  } else if (nearest == nullptr) {
    report.cause = cached == 0 ? MissCause::kFirstSeen : MissCause::kForgotten;
  } else if (there == matched) {
    report.cause = MissCause::kGoesOn;
  } else {
    report.cause = cached > matched ? MissCause::kForgotten : MissCause::kDiffers;
  }
  const auto at = static_cast<std::size_t>(report.position);
  report.token_here = prompt.tokens[at];
  report.part_here = PartOf(prompt, report.position, &report.offset_in_part);
  if (report.position <= matched && report.position < there) {
    report.token_there = nearest->tokens[at];
    report.part_there = PartOf(*nearest, report.position);
  }
  return report;
}

std::int64_t AnyHits(const Prompt& prompt) {
  const auto size = static_cast<std::int64_t>(prompt.tokens.size());
  const std::int64_t hits = *rc::gen::inRange<std::int64_t>(0, size / kBlockSize + 1) * kBlockSize;
  return std::max<std::int64_t>(0, std::min(hits, size - 1));
}

TEST(PromptLogTest, ReportsAreThoseOfAComparisonWithEveryPrompt) {
  EXPECT_TRUE(rc::check([] {
    PromptLog log(kAmple, kBlockSize);
    std::vector<Prompt> recorded;
    const int count = *rc::gen::inRange(0, 30);
    for (int i = 0; i < count; ++i) {
      const Prompt prompt = AnyPrompt(static_cast<std::uint64_t>(i) + 1, recorded);
      const std::int64_t cached = AnyHits(prompt);
      RC_ASSERT(Explain(log, prompt, cached) == Expected(recorded, prompt, cached));
      Record(log, prompt);
      recorded.push_back(prompt);
    }
  }));
}

TEST(PromptLogTest, InAnyBudgetReportsAreThoseOfTheLatestPrompts) {
  EXPECT_TRUE(rc::check([] {
    const auto max_bytes = *rc::gen::inRange<std::size_t>(0, 40'000);
    PromptLog log(max_bytes, kBlockSize);
    std::vector<Prompt> recorded;
    const int count = *rc::gen::inRange(0, 60);
    for (int i = 0; i < count; ++i) {
      const Prompt prompt = AnyPrompt(static_cast<std::uint64_t>(i) + 1, recorded);
      const std::int64_t cached = AnyHits(prompt);
      const MissReport report = Explain(log, prompt, cached);
      // What was forgotten is the oldest: empty prompts are no records.
      std::vector<Prompt> kept = recorded;
      std::erase_if(kept, [](const Prompt& each) { return each.tokens.empty(); });
      if (max_bytes > 20'000) {  // no prompt is cut then
        kept.erase(kept.begin(), kept.end() - static_cast<std::ptrdiff_t>(log.size()));
        RC_ASSERT(report == Expected(kept, prompt, cached));
      } else {
        RC_ASSERT(report.matched_tokens <= Expected(recorded, prompt, cached).matched_tokens);
      }
      Record(log, prompt);
      RC_ASSERT(log.bytes() <= max_bytes);
      recorded.push_back(prompt);
    }
  }));
}

}  // namespace
}  // namespace folio
