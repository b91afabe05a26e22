#include <gtest/gtest.h>

#include <vector>

#include "kernels/pack_strip.h"
#include "kernels/packed_layout.h"
#include "kernels/product.h"
#include "kernels/product_testing.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

TEST(PackedLayout, UnitsAreAsLargeAsTheFilesBlocks) {
  int formats = 0;
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const PackedFormat* format = FindPackedFormat(info.type);
    if (format == nullptr) {
      EXPECT_EQ(info.block_elements, 1) << info.name;
      continue;
    }
    ++formats;
    EXPECT_EQ(UnitBytes(*format), kLanes * info.block_bytes) << info.name;
    EXPECT_EQ(format->unit_blocks * kBlockElements, info.block_elements) << info.name;
  }
  EXPECT_EQ(formats, 13);
}

TEST(PackedLayout, BodiesAreAligned) {
  for (const PackedFormat& format : kPackedFormats) {
    if (format.type == GgmlType::kMXFP4) continue;  // 8-bit scales: 16-byte alignment
    for (std::int64_t unit = 0; unit < 6; ++unit)
      EXPECT_EQ(BodyOffset(format, unit) % 64, 0) << TypeInfo(format.type).name << unit;
  }
}

TEST(Pack, UnpackedRowsAreTheDequantisedRows) {
  test::Random random(1);
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    for (const std::int64_t k :
         {info.block_elements, 3 * info.block_elements, 18 * info.block_elements}) {
      for (const std::int64_t n : {1, 15, 16, 17, 33}) {
        const test::TestMatrix matrix(random, info.type, n, k);
        std::vector<float> expected(static_cast<std::size_t>(n * k));
        Dequantize(info.type, matrix.file(), n * k, expected.data());
        for (std::int64_t row = 0; row < n; ++row) {
          const test::Guarded<float> out(static_cast<std::size_t>(k));
          UnpackRow(matrix.packed(), row, out.data());
          const std::span<const float> wanted(expected.data() + row * k,
                                              static_cast<std::size_t>(k));
          ASSERT_TRUE(test::SameBits(out.span(), wanted)) << test::CaseName(info.type, row, n, k);
        }
      }
    }
  }
}

TEST(Pack, VectorPackingGivesThePlainBytes) {
  if (!CpuHas(Isa::kAvx2)) return;
  test::Random random(3);
  for (const PackedFormat& format : kPackedFormats) {
    const GgmlTypeInfo& info = TypeInfo(format.type);
    for (const std::int64_t units : {1, 2, 5}) {
      const std::int64_t k = units * info.block_elements;
      const std::vector<std::byte> rows = test::RandomFileRows(random, format.type, kLanes, k);
      const test::Guarded<std::byte> source(rows.size());
      std::memcpy(source.data(), rows.data(), rows.size());
      const test::Guarded<std::byte> plain(PackedStripBytes(format.type, k));
      const test::Guarded<std::byte> fast(PackedStripBytes(format.type, k));
      PackStripScalar(format.type, source.data(), kLanes, units, plain.data());
      PackWholeStripAvx2(format.type, source.data(), units, info.block_bytes, fast.data());
      const auto used = static_cast<std::size_t>(units * UnitBytes(format));
      EXPECT_EQ(std::memcmp(plain.data(), fast.data(), used), 0) << info.name << " " << units;
    }
  }
}

TEST(Pack, RowsMissingFromTheLastStripAreZero) {
  test::Random random(2);
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const std::int64_t k = 2 * info.block_elements;
    const test::TestMatrix matrix(random, info.type, 3, k);
    PackedMatrix whole = matrix.packed();
    whole.n = kStripRows;
    std::vector<float> out(static_cast<std::size_t>(k), 1.0F);
    for (std::int64_t row = 3; row < kStripRows; ++row) {
      UnpackRow(whole, row, out.data());
      for (const float value : out) ASSERT_NEAR(value, 0.0F, 1e-37F) << info.name;
    }
  }
}

}  // namespace
}  // namespace folio
