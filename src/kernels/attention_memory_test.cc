// What attention may touch: buffers end at unreadable pages here, and unstored slots hold NaN.
#include <gtest/gtest.h>

#include <string>

#include "kernels/attention_testing.h"
#include "kernels/guarded_floats_testing.h"

namespace folio {
namespace {

class AttentionMemoryTest : public testing::TestWithParam<KvType> {};

TEST_P(AttentionMemoryTest, NothingPastAnyBufferIsTouched) {
  const AttentionShape shape{
      .type = GetParam(), .head_dim = 96, .kv_heads = 2, .group = 3, .length = 560};
  ThreadPool pool(2);
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    TestCache cache(shape, 1);
    // The cache ends with its last block's last head.
    std::vector<float> floats(cache.arena().size() / sizeof(float));
    std::memcpy(floats.data(), cache.arena().data(), cache.arena().size());
    const KvView& view = cache.view();
    const std::int64_t blocks = static_cast<std::int64_t>(cache.table().size()) + 1;
    const std::int64_t end =
        (blocks - 1) * view.block_stride + view.layer_offset + view.kv_heads * view.head_stride;
    floats.resize(static_cast<std::size_t>(end) / sizeof(float));
    GuardedFloats arena(floats);
    KvView guarded = view;
    guarded.base = reinterpret_cast<std::byte*>(arena.data());
    const AttentionSequence all = cache.Sequence(0, shape.length);
    GuardedFloats k(cache.k());
    GuardedFloats v(cache.v());
    StoreKv(isa, guarded, {&all, 1}, k.data(), v.data(), pool);

    cache.StoreRows(isa, 0, shape.length, pool);
    for (const std::int64_t rows : {1, 3, 40}) {
      const std::int64_t first = shape.length - rows;
      const AttentionSequence sequence = cache.Sequence(first, rows);
      const AttentionParams params = cache.params();
      GuardedFloats q(std::span(cache.q()).last(static_cast<std::size_t>(rows * cache.q_width())));
      GuardedFloats out(std::vector<float>(static_cast<std::size_t>(rows * cache.q_width()), NAN));
      const std::size_t bytes =
          AttentionWorkspaceBytes(guarded, params, {&sequence, 1}, pool.size());
      GuardedFloats workspace(std::vector<float>(bytes / sizeof(float), NAN));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(workspace.data()) % 64, 0U);
      Attention(isa, guarded, params, {&sequence, 1}, q.data(), out.data(),
                {reinterpret_cast<std::byte*>(workspace.data()), bytes}, pool);
      EXPECT_TRUE(SameBits(cache.Attend(isa, first, rows, pool), out.copy()))
          << IsaName(isa) << " rows " << rows;
    }
  }
}

// TestCache fills everything with NaN patterns before it stores; a NaN that were read would show.
TEST_P(AttentionMemoryTest, UnstoredSlotsNeverReachTheResult) {
  ThreadPool pool(1);
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    for (const int block_size : {16, 32, 64}) {
      const AttentionShape shape{
          .type = GetParam(), .head_dim = 64, .block_size = block_size, .length = 70};
      TestCache cache(shape, 2);
      for (const float value : cache.Forward(isa, {1, 2, 15, 17, 30, 5}, pool)) {
        ASSERT_TRUE(std::isfinite(value)) << IsaName(isa) << " block size " << block_size;
      }
    }
  }
}

TEST_P(AttentionMemoryTest, AWorkspaceForTheLongestCallServesAllShorterOnes) {
  for (const std::int64_t window : {0, 300}) {
    AttentionShape shape{.type = GetParam(), .window = window, .length = 64};
    TestCache cache(shape, 3);
    const auto bytes = [&](std::int64_t first, std::int64_t rows) {
      const AttentionSequence sequence = cache.Sequence(first, rows);
      return AttentionWorkspaceBytes(cache.view(), cache.params(), {&sequence, 1}, 2);
    };
    for (const std::int64_t most : {1, 2, 20, 64, 500, 20000}) {
      const std::size_t longest = bytes(20000 - most, most);
      for (std::int64_t rows = 1; rows <= most; rows += 1 + rows / 8) {
        for (std::int64_t position = 0; position + rows <= 20000; position += 333) {
          ASSERT_LE(bytes(position, rows), longest) << rows << " of " << most << " at " << position;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, AttentionMemoryTest,
                         testing::Values(KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0),
                         [](const auto& kv_type) {
                           return std::string(KvTypeName(kv_type.param));
                         });

}  // namespace
}  // namespace folio
