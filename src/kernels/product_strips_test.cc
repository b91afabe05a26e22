// Strips that are packed when they are used give the bits of those packed before.
#include "kernels/product_strips.h"

#include <gtest/gtest.h>

#include <vector>

#include "cpu/isa.h"
#include "kernels/product_testing.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

// A matrix of which only the first strips are packed: memory behind them can't be read, nor behind
// the rows.
class HalfPacked {
 public:
  HalfPacked(const test::TestMatrix& whole, std::int64_t packed_strips, int threads,
             std::size_t scratch_bytes)
      : matrix_(whole.packed()),
        rows_(static_cast<std::size_t>(matrix_.n * FileRowBytes(matrix_.type, matrix_.k))),
        strips_(static_cast<std::size_t>(packed_strips) *
                PackedStripBytes(matrix_.type, matrix_.k)),
        scratch_(static_cast<std::size_t>(threads) * scratch_bytes) {
    std::memcpy(rows_.data(), whole.file(), rows_.size());
    std::memcpy(strips_.data(), matrix_.data, strips_.size());
    unpacked_ = {.rows = rows_.data(), .scratch = scratch_.data(), .scratch_bytes = scratch_bytes};
    matrix_.data = strips_.data();
    matrix_.unpacked = &unpacked_;
    matrix_.packed_strips = packed_strips;
  }
  HalfPacked(const HalfPacked&) = delete;
  HalfPacked& operator=(const HalfPacked&) = delete;

  const PackedMatrix& matrix() const { return matrix_; }

 private:
  PackedMatrix matrix_;
  test::Guarded<std::byte> rows_;
  test::Guarded<std::byte> strips_;
  test::Guarded<std::byte> scratch_;
  UnpackedRows unpacked_;
};

constexpr std::int64_t kOutputs = 16 * 40 + 3;
constexpr std::int64_t kStrips = 41;

TEST(ProductStrips, UnpackedAndHalfPackedMatricesGiveTheBitsOfPackedOnes) {
  test::Random random(20);
  ThreadPool two(2);
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const std::int64_t k = info.block_elements == 1 ? 64 : info.block_elements;
    const test::TestMatrix whole(random, info.type, kOutputs, k);
    // Room for two strips only, so that a task takes several turns.
    const std::size_t scratch = 2 * PackedStripBytes(info.type, k);
    for (const std::int64_t rows : {1, 5, 150}) {
      std::vector<float> x(static_cast<std::size_t>(rows * k));
      test::FillActivations(random, x);
      for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
        if (!CpuHas(isa) || (isa == Isa::kScalar && rows > 5)) continue;
        const std::vector<float> expected =
            test::Product(isa, Numerics::kInt16, whole.packed(), x, rows, two);
        for (const std::int64_t packed : {std::int64_t{0}, std::int64_t{1}, kStrips / 2, kStrips}) {
          const HalfPacked half(whole, packed, two.size(), scratch);
          EXPECT_TRUE(test::SameBits(
              test::Product(isa, Numerics::kInt16, half.matrix(), x, rows, two), expected))
              << IsaName(isa) << " " << packed << " packed, "
              << test::CaseName(info.type, rows, kOutputs, k);
        }
      }
    }
  }
}

TEST(ProductStrips, RowsOfUnpackedStripsAreTheUnpackedBits) {
  test::Random random(21);
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const std::int64_t k = 2 * (info.block_elements == 1 ? 33 : info.block_elements);
    const test::TestMatrix whole(random, info.type, 37, k);
    const HalfPacked half(whole, 1, 1, StripScratchBytes(info.type, k));
    const ScopedFlushDenormals flush;  // as on compute threads
    for (std::int64_t row = 0; row < 37; ++row) {
      std::vector<float> expected(static_cast<std::size_t>(k));
      std::vector<float> out(static_cast<std::size_t>(k));
      UnpackRow(whole.packed(), row, expected.data());
      UnpackRow(half.matrix(), row, out.data());
      EXPECT_TRUE(test::SameBits(out, expected)) << test::CaseName(info.type, row, 37, k);
    }
  }
}

// Where denormals are flushed, the two smallest scales of MXFP4 are zero.
TEST(ProductStrips, RowsWithDenormalScalesHaveTheSameBitsUnpacked) {
  const std::int64_t k = 64;
  const std::size_t row_bytes = static_cast<std::size_t>(FileRowBytes(GgmlType::kMXFP4, k));
  test::Random random(22);
  std::vector<std::byte> rows = test::RandomFileRows(random, GgmlType::kMXFP4, kStripRows, k);
  for (std::size_t row = 0; row < 4; ++row) rows[row * row_bytes] = static_cast<std::byte>(row);
  std::vector<std::byte> strip(PackedStripBytes(GgmlType::kMXFP4, k));
  PackStrip(GgmlType::kMXFP4, rows.data(), kStripRows, k, strip.data());
  const UnpackedRows unpacked{.rows = rows.data(), .scratch = nullptr, .scratch_bytes = 0};
  const PackedMatrix packed{
      .type = GgmlType::kMXFP4, .n = kStripRows, .k = k, .data = strip.data()};
  PackedMatrix fresh = packed;
  fresh.unpacked = &unpacked;
  const ScopedFlushDenormals flush;
  for (std::int64_t row = 0; row < 4; ++row) {
    std::vector<float> expected(static_cast<std::size_t>(k));
    std::vector<float> out(static_cast<std::size_t>(k));
    UnpackRow(packed, row, expected.data());
    UnpackRow(fresh, row, out.data());
    EXPECT_TRUE(test::SameBits(out, expected)) << row;
  }
}

TEST(ProductStrips, ScratchHoldsTwoStripsOfAnyLength) {
  for (const std::int64_t k : {256, 4096, 1 << 20}) {
    EXPECT_GE(StripScratchBytes(GgmlType::kF32, k), 2 * PackedStripBytes(GgmlType::kF32, k));
    EXPECT_EQ(StripScratchBytes(GgmlType::kQ4_K, k) % 64, 0U);
  }
}

}  // namespace
}  // namespace folio
