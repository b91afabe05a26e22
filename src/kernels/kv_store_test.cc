#include <gtest/gtest.h>

#include <string>

#include "kernels/attention_testing.h"
#include "quant/half.h"

namespace folio {
namespace {

template <typename T>
T At(const std::byte* tile, std::int64_t index) {
  T value;
  std::memcpy(&value, tile + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// The layouts of attention.h, written once more as its reader would.
float ReadKey(KvType type, const std::byte* tile, int head_dim, int t, int d) {
  switch (type) {
    case KvType::kBf16:
      return Bf16ToFloat(At<std::uint16_t>(tile, d / 2 * 32 + t * 2 + d % 2));
    case KvType::kF16:
      return HalfToFloat(At<std::uint16_t>(tile, d * 16 + t));
    case KvType::kF32:
      return At<float>(tile, d * 16 + t);
    case KvType::kQ8_0:
      break;
  }
  const int scales = head_dim / 32 * 16 * 2;
  return HalfToFloat(At<std::uint16_t>(tile, d / 32 * 16 + t)) *
         static_cast<float>(At<std::int8_t>(tile, scales + d * 16 + t));
}

float ReadValue(KvType type, const std::byte* tile, int head_dim, int t, int d) {
  switch (type) {
    case KvType::kBf16:
      return Bf16ToFloat(At<std::uint16_t>(tile, t / 2 * head_dim * 2 + d * 2 + t % 2));
    case KvType::kF16:
      return HalfToFloat(At<std::uint16_t>(tile, t * head_dim + d));
    case KvType::kF32:
      return At<float>(tile, t * head_dim + d);
    case KvType::kQ8_0:
      break;
  }
  const int scales = 16 * (head_dim / 32) * 2;
  return HalfToFloat(At<std::uint16_t>(tile, t * (head_dim / 32) + d / 32)) *
         static_cast<float>(At<std::int8_t>(tile, scales + t * head_dim + d));
}

float LargestOfGroup(const float* row, int d) {
  float largest = 0.0F;
  for (int i = d / 32 * 32; i < d / 32 * 32 + 32; ++i)
    largest = std::max(largest, std::fabs(row[i]));
  return largest;
}

// Half a unit of the type at x; q8_0 also rounds its scale to 11 bits.
float ErrorBound(KvType type, float x, float largest) {
  switch (type) {
    case KvType::kBf16:
      return std::fabs(x) * 0x1p-8F;
    case KvType::kF16:
      return std::fabs(x) * 0x1p-11F + 0x1p-25F;
    case KvType::kF32:
      return 0.0F;
    case KvType::kQ8_0:
      break;
  }
  return largest * (0.5F / 127.0F + 0x1p-10F);
}

class KvStoreTest : public testing::TestWithParam<KvType> {};

TEST_P(KvStoreTest, PutsEachElementWhereTheLayoutSays) {
  const AttentionShape shape{
      .type = GetParam(), .head_dim = 96, .kv_heads = 3, .block_size = 32, .length = 53};
  ThreadPool pool(2);
  TestCache cache(shape, 1);
  cache.StoreRows(Isa::kScalar, 0, 20, pool);
  cache.StoreRows(Isa::kScalar, 20, 33, pool);
  const auto bytes = static_cast<std::int64_t>(KvTileBytes(shape.type, shape.head_dim));
  for (int position = 0; position < shape.length; ++position) {
    for (int head = 0; head < shape.kv_heads; ++head) {
      const std::byte* k_tile = cache.block(static_cast<std::size_t>(position / 32)) +
                                cache.view().layer_offset + head * cache.view().head_stride +
                                position % 32 / 16 * bytes;
      const std::byte* v_tile = k_tile + cache.view().v_offset;
      const std::int64_t row = position * cache.kv_width() + head * shape.head_dim;
      const float* k = cache.k().data() + row;
      const float* v = cache.v().data() + row;
      for (int d = 0; d < shape.head_dim; ++d) {
        const float key = ReadKey(shape.type, k_tile, shape.head_dim, position % 16, d);
        const float value = ReadValue(shape.type, v_tile, shape.head_dim, position % 16, d);
        ASSERT_LE(std::fabs(key - k[d]), ErrorBound(shape.type, k[d], LargestOfGroup(k, d)));
        ASSERT_LE(std::fabs(value - v[d]), ErrorBound(shape.type, v[d], LargestOfGroup(v, d)));
      }
    }
  }
}

TEST_P(KvStoreTest, TheFirstTokenOfAValueTileClearsTheRestOfIt) {
  const AttentionShape shape{.type = GetParam(), .head_dim = 64, .kv_heads = 1, .length = 16};
  ThreadPool pool(1);
  for (const std::int64_t rows : {1, 5, 15}) {
    TestCache cache(shape, 2);
    cache.StoreRows(Isa::kScalar, 0, rows, pool);
    const std::byte* v_tile = cache.block(0) + cache.view().layer_offset + cache.view().v_offset;
    for (auto t = static_cast<int>(rows); t < 16; ++t) {
      for (int d = 0; d < shape.head_dim; ++d) {
        ASSERT_EQ(ReadValue(shape.type, v_tile, shape.head_dim, t, d), 0.0F) << t << " " << d;
      }
    }
  }
}

TEST_P(KvStoreTest, BytesDependNeitherOnChunksNorOnThreadsOrIsa) {
  const AttentionShape shape{.type = GetParam(), .head_dim = 64, .kv_heads = 2, .length = 300};
  ThreadPool one(1);
  ThreadPool two(2);
  TestCache whole(shape, 3);
  whole.StoreRows(Isa::kScalar, 0, shape.length, one);
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    for (const std::int64_t chunk : {1, 7, 16, 100, 300}) {
      TestCache chunked(shape, 3);
      for (std::int64_t first = 0; first < shape.length; first += chunk) {
        chunked.StoreRows(isa, first, std::min(chunk, shape.length - first), two);
      }
      ASSERT_EQ(whole.arena(), chunked.arena()) << IsaName(isa) << " in chunks of " << chunk;
    }
  }
}

TEST(KvStoreQ8Test, ExtremeGroupsStayFinite) {
  const AttentionShape shape{
      .type = KvType::kQ8_0, .head_dim = 32, .kv_heads = 1, .group = 1, .length = 3};
  ThreadPool pool(1);
  TestCache cache(shape, 4);
  std::vector<float> rows(3 * 32, 0.0F);  // a row of zeros, one of tiny and one of huge numbers
  for (std::size_t i = 32; i < 64; ++i) rows[i] = 1e-12F;
  for (std::size_t i = 64; i < 96; ++i) rows[i] = 1e30F;
  const AttentionSequence sequence = cache.Sequence(0, 3);
  StoreKv(Isa::kScalar, cache.view(), {&sequence, 1}, rows.data(), rows.data(), pool);
  const std::byte* k_tile = cache.block(0) + cache.view().layer_offset;
  for (int d = 0; d < 32; ++d) {
    EXPECT_EQ(ReadKey(KvType::kQ8_0, k_tile, 32, 0, d), 0.0F);
    EXPECT_EQ(ReadKey(KvType::kQ8_0, k_tile, 32, 1, d), 0.0F);
    EXPECT_EQ(ReadKey(KvType::kQ8_0, k_tile, 32, 2, d), 127.0F * 65504.0F);
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, KvStoreTest,
                         testing::Values(KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0),
                         [](const auto& kv_type) {
                           return std::string(KvTypeName(kv_type.param));
                         });

}  // namespace
}  // namespace folio
