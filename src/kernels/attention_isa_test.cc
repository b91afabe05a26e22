// Every ISA's attention gives the scalar reference's bits, and bits depend neither on how rows are
// chunked, batched and spread over threads nor on where blocks lie: checked by equality.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "kernels/attention_testing.h"

namespace folio {
namespace {

std::vector<Isa> AllIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (CpuHas(isa)) isas.push_back(isa);
  }
  return isas;
}

std::vector<Isa> VectorIsas() {
  std::vector<Isa> isas = AllIsas();
  isas.erase(isas.begin());
  return isas;
}

class AttentionIsaTest : public testing::TestWithParam<KvType> {};

TEST_P(AttentionIsaTest, EqualsScalarForEveryHeadDimAndGroup) {
  ThreadPool pool(1);
  for (const int head_dim : {32, 64, 96, 128, 160, 256, 576}) {
    for (const int group : {1, 2, 3, 4, 5, 7}) {
      const AttentionShape shape{.type = GetParam(),
                                 .head_dim = head_dim,
                                 .kv_heads = 2,
                                 .group = group,
                                 .length = head_dim > 128 ? 33 : 37};
      const std::vector<std::int64_t> chunks = {shape.length - 7, 6, 1};
      TestCache scalar(shape, 1);
      const std::vector<float> expected = scalar.Forward(Isa::kScalar, chunks, pool);
      for (const Isa isa : VectorIsas()) {
        TestCache cache(shape, 1);
        ASSERT_TRUE(SameBits(expected, cache.Forward(isa, chunks, pool)))
            << IsaName(isa) << " head_dim " << head_dim << " group " << group;
      }
    }
  }
}

TEST_P(AttentionIsaTest, EqualsScalarWithSoftcapAndSinks) {
  ThreadPool pool(1);
  for (const auto& [softcap, sinks] :
       {std::pair{2.0F, false}, std::pair{0.0F, true}, std::pair{30.0F, true}}) {
    for (const int group : {1, 3, 8}) {
      const AttentionShape shape{.type = GetParam(),
                                 .group = group,
                                 .window = 40,
                                 .length = 90,
                                 .softcap = softcap,
                                 .sinks = sinks};
      const std::vector<std::int64_t> chunks = {shape.length - 7, 6, 1};
      TestCache scalar(shape, 8);
      const std::vector<float> expected = scalar.Forward(Isa::kScalar, chunks, pool);
      for (const Isa isa : VectorIsas()) {
        TestCache cache(shape, 8);
        ASSERT_TRUE(SameBits(expected, cache.Forward(isa, chunks, pool)))
            << IsaName(isa) << " group " << group << " softcap " << softcap;
      }
    }
  }
}

// Read as values, latent vectors give what the same vectors stored as values give.
TEST_P(AttentionIsaTest, LatentVectorsAreKeysAndValues) {
  ThreadPool one(1);
  ThreadPool two(2);
  for (const int group : {1, 3, 16, 80}) {
    const AttentionShape shape{.type = GetParam(),
                               .head_dim = 96,
                               .kv_heads = 1,
                               .group = group,
                               .length = group > 16 ? 40 : 550,
                               .latent_dim = 64};
    const std::vector<std::int64_t> chunks = {shape.length - 9, 8, 1};
    AttentionShape apart = shape;
    apart.latent_dim = 0;
    TestCache stored(apart, 9);
    stored.SetValuesToKeys();
    const std::vector<float> wide = stored.Forward(AllIsas().back(), chunks, two);
    std::vector<float> expected;  // of every head the first latent_dim elements
    for (std::size_t head = 0; head < wide.size(); head += 96)
      expected.insert(expected.end(), wide.begin() + static_cast<std::ptrdiff_t>(head),
                      wide.begin() + static_cast<std::ptrdiff_t>(head) + 64);
    for (const Isa isa : AllIsas()) {
      TestCache cache(shape, 9);
      ASSERT_TRUE(SameBits(expected, cache.Forward(isa, chunks, isa == Isa::kScalar ? two : one)))
          << IsaName(isa) << " group " << group;
    }
  }
}

TEST_P(AttentionIsaTest, EqualsScalarForEveryLength) {
  ThreadPool pool(1);
  AttentionShape shape{
      .type = GetParam(), .head_dim = 32, .kv_heads = 1, .group = 2, .length = 100};
  TestCache longest(shape, 2);
  const std::vector<float> expected = longest.Forward(Isa::kScalar, {shape.length}, pool);
  for (shape.length = 1; shape.length <= 100; ++shape.length) {
    for (const Isa isa : AllIsas()) {
      TestCache cache(shape, 2);
      const std::vector<float> out = cache.Forward(isa, {shape.length}, pool);
      ASSERT_TRUE(SameBits(std::span(expected).first(out.size()), out))
          << IsaName(isa) << " length " << shape.length;
    }
  }
}

// The rows of one call at positions around the borders of splits, in every count from 1 to 33,
// equal those of a prefill of everything.
TEST_P(AttentionIsaTest, RowCountsAroundSplitBordersEqualOnePrefill) {
  ThreadPool one(1);
  ThreadPool two(2);
  for (const std::int64_t window : {0, 1, 16, 33, 500, 512, 600}) {
    const AttentionShape shape{.type = GetParam(),
                               .head_dim = 32,
                               .kv_heads = 1,
                               .group = 1,
                               .window = window,
                               .length = 1060};
    TestCache scalar(shape, 3);
    const std::vector<float> expected = scalar.Forward(Isa::kScalar, {shape.length}, one);
    for (const Isa isa : VectorIsas()) {
      TestCache cache(shape, 3);
      ASSERT_TRUE(SameBits(expected, cache.Forward(isa, {shape.length}, two))) << IsaName(isa);
      for (std::int64_t rows = 1; rows <= 33; ++rows) {
        for (const std::int64_t first : {511 - rows / 2, 1024 - rows, 1024 - rows / 2}) {
          const std::vector<float> out = cache.Attend(isa, first, rows, rows % 2 == 0 ? one : two);
          const auto start = static_cast<std::size_t>(first * cache.q_width());
          ASSERT_TRUE(SameBits(std::span(expected).subspan(start, out.size()), out))
              << IsaName(isa) << " window " << window << " rows " << rows << " at " << first;
        }
      }
    }
  }
}

TEST_P(AttentionIsaTest, SequencesOfABatchEqualSequencesAlone) {
  const AttentionShape shape{.type = GetParam(), .head_dim = 64, .length = 700};
  ThreadPool pool(2);
  for (const Isa isa : VectorIsas()) {
    TestCache cache(shape, 4);
    cache.StoreRows(isa, 0, shape.length, pool);
    // Three requests that share one prefix: decode rows, a chunk, and one with no row.
    std::vector<AttentionSequence> sequences = {cache.Sequence(699, 1), cache.Sequence(3, 40),
                                                cache.Sequence(600, 0), cache.Sequence(520, 9)};
    std::vector<float> q;
    std::vector<float> expected;
    std::int64_t row = 0;
    for (AttentionSequence& sequence : sequences) {
      sequence.first_row = row;
      row += sequence.rows;
      const std::int64_t first = sequence.first_position;
      q.insert(q.end(), cache.q().begin() + first * cache.q_width(),
               cache.q().begin() + (first + sequence.rows) * cache.q_width());
      const std::vector<float> alone = cache.Attend(isa, first, sequence.rows, pool);
      expected.insert(expected.end(), alone.begin(), alone.end());
    }
    const AttentionParams params = cache.params();
    std::vector<float> out(q.size());
    std::vector<float> workspace(
        AttentionWorkspaceBytes(cache.view(), params, sequences, pool.size()) / sizeof(float) + 16);
    void* aligned = workspace.data();
    std::size_t space = workspace.size() * sizeof(float);
    std::align(64, space - 64, aligned, space);
    Attention(isa, cache.view(), params, sequences, q.data(), out.data(),
              {static_cast<std::byte*>(aligned), space}, pool);
    EXPECT_TRUE(SameBits(expected, out)) << IsaName(isa);
  }
}

// A window's layer gives its old blocks back: their entries are -1 and are never read.
TEST_P(AttentionIsaTest, BlocksOutsideTheWindowAreNotRead) {
  const AttentionShape shape{
      .type = GetParam(), .head_dim = 64, .block_size = 32, .window = 70, .length = 650};
  ThreadPool pool(2);
  for (const Isa isa : AllIsas()) {
    TestCache cache(shape, 5);
    cache.StoreRows(isa, 0, shape.length, pool);
    const std::vector<float> expected = cache.Attend(isa, 600, 50, pool);
    for (std::size_t block = 0; block < (600 - 70 + 1) / 32; ++block) cache.table()[block] = -1;
    EXPECT_TRUE(SameBits(expected, cache.Attend(isa, 600, 50, pool))) << IsaName(isa);
  }
}

// Keys and values after a row's position, stored or stale, don't reach its bits.
TEST_P(AttentionIsaTest, LaterTokensChangeNothing) {
  const AttentionShape shape{.type = GetParam(), .head_dim = 64, .length = 90};
  ThreadPool pool(1);
  for (const Isa isa : AllIsas()) {
    TestCache cache(shape, 6);
    cache.StoreRows(isa, 0, 37, pool);
    const std::vector<float> before = cache.Attend(isa, 20, 17, pool);
    cache.StoreRows(isa, 37, 53, pool);
    EXPECT_TRUE(SameBits(before, cache.Attend(isa, 20, 17, pool))) << IsaName(isa);
  }
}

// A token whose key or value is not finite, such as 1e30 in f16: rows that see it are no numbers on
// every ISA, and the rows before it, in its tile or not, keep their bits.
TEST_P(AttentionIsaTest, WhatIsNotFiniteReachesOnlyRowsThatSeeIt) {
  const float infinity = std::numeric_limits<float>::infinity();
  ThreadPool pool(2);
  for (const int latent_dim : {0, 64}) {
    const AttentionShape shape{.type = GetParam(),
                               .head_dim = 96,
                               .kv_heads = 1,
                               .group = 2,
                               .window = 100,
                               .length = 600,
                               .sinks = true,
                               .latent_dim = latent_dim};
    constexpr std::int64_t kBad = 505;  // one that the split's border soon follows
    for (const Isa isa : AllIsas()) {
      TestCache whole(shape, 10);
      const std::vector<float> expected = whole.Forward(isa, {shape.length}, pool);
      for (const bool of_key : {true, false}) {
        for (const float x : {infinity, -infinity, std::nanf(""), 3e38F}) {
          if (!of_key && latent_dim != 0) continue;
          if (x == 3e38F && GetParam() != KvType::kF16) continue;
          TestCache cache(shape, 10);
          of_key ? cache.SetKey(kBad, 5, x) : cache.SetValue(kBad, 5, x);
          const std::vector<float> out = cache.Forward(isa, {200, 310, 90}, pool);
          const auto first = static_cast<std::size_t>(kBad * cache.out_width());
          const std::size_t end = first + static_cast<std::size_t>(95 * cache.out_width());
          ASSERT_TRUE(SameBits(std::span(expected).first(first), std::span(out).first(first)))
              << IsaName(isa) << " " << x;
          for (std::size_t i = first; i < end; ++i) ASSERT_TRUE(std::isnan(out[i])) << IsaName(isa);
        }
      }
    }
  }
}

RC_GTEST_PROP(AttentionIsaProperty, AnyChunkingThreadsAndBlocksGiveThePrefillsBits, ()) {
  AttentionShape shape;
  shape.type = *rc::gen::element(KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0);
  shape.head_dim = *rc::gen::element(32, 64, 96);
  shape.kv_heads = *rc::gen::inRange(1, 4);
  shape.group = *rc::gen::inRange(1, 6);
  shape.window = *rc::gen::element<std::int64_t>(0, 0, 1, 20, 32, 100, 513);
  shape.length = *rc::gen::element<std::int64_t>(40, 100, 200, 530);
  shape.softcap = *rc::gen::element(0.0F, 0.0F, 3.0F);
  shape.sinks = *rc::gen::arbitrary<bool>();
  const auto seed = *rc::gen::arbitrary<unsigned>();
  ThreadPool one(1);
  TestCache whole(shape, seed);
  const Isa best = AllIsas().back();
  const std::vector<float> expected = whole.Forward(best, {shape.length}, one);

  shape.block_size = *rc::gen::element(16, 32, 64);
  std::vector<std::int64_t> chunks;
  for (std::int64_t left = shape.length; left > 0; left -= chunks.back()) {
    const std::int64_t most = *rc::gen::element<std::int64_t>(1, 7, 33, 64, 600);
    chunks.push_back(std::min(left, *rc::gen::inRange<std::int64_t>(1, most + 1)));
  }
  ThreadPool pool(*rc::gen::inRange(1, 4));
  const Isa isa =
      shape.length <= 100 ? *rc::gen::elementOf(AllIsas()) : *rc::gen::elementOf(VectorIsas());
  TestCache chunked(shape, seed);
  RC_ASSERT(SameBits(expected, chunked.Forward(isa, chunks, pool)));
}

INSTANTIATE_TEST_SUITE_P(KvTypes, AttentionIsaTest,
                         testing::Values(KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0),
                         [](const auto& kv_type) {
                           return std::string(KvTypeName(kv_type.param));
                         });

}  // namespace
}  // namespace folio
