#include "kernels/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "kernels/activations.h"
#include "kernels/product_slice.h"
#include "kernels/product_testing.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

constexpr Isa kIsas[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512};

bool IsFloat(GgmlType type) { return TypeInfo(type).block_elements == 1; }

std::vector<float> RandomActivations(test::Random& random, std::int64_t rows, std::int64_t k) {
  std::vector<float> x(static_cast<std::size_t>(rows * k));
  test::FillActivations(random, x);
  return x;
}

// The lengths of k to try: whole blocks, odd numbers of them, more than a slab of the kernels.
std::vector<std::int64_t> Lengths(GgmlType type) {
  if (IsFloat(type)) return {1, 15, 64, 576};
  if (TypeInfo(type).block_elements == 32) return {32, 64, 96, 256, 576};
  return {256, 512, 768};
}

// |y - exact| <= sum |w| (step / 2) for the rounding of activations, and one rounding of the
// running sum for each of its steps.
double Tolerance(const std::vector<double>& weights, std::span<const float> x, bool integers,
                 double limit) {
  double rounding = 0;
  double magnitude = 0;
  for (std::size_t block = 0; block < weights.size(); block += 32) {
    double largest = 0;
    double sum = 0;
    for (std::size_t k = block; k < std::min(block + 32, weights.size()); ++k) {
      largest = std::max(largest, std::abs(static_cast<double>(x[k])));
      sum += std::abs(weights[k]);
    }
    rounding += sum * largest / limit * 0.51;
    magnitude += sum * largest;
  }
  const double steps = static_cast<double>(weights.size()) / (integers ? 4 : 1) + 8;
  // Minimum types subtract two sums of the size of the largest weight times the activations.
  return (integers ? rounding : 0) + magnitude * 8 * steps * 6e-8;
}

TEST(Product, ScalarAgreesWithDoublePrecision) {
  test::Random random(10);
  ThreadPool pool(1);
  const std::int64_t rows = 3;
  const std::int64_t n = 17;
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    for (const std::int64_t k : Lengths(info.type)) {
      const test::TestMatrix matrix(random, info.type, n, k);
      std::vector<float> weights(static_cast<std::size_t>(n * k));
      Dequantize(info.type, matrix.file(), n * k, weights.data());
      const std::vector<float> x = RandomActivations(random, rows, k);
      for (const Numerics numerics : {Numerics::kInt8, Numerics::kInt16}) {
        const std::vector<float> y =
            test::Product(Isa::kScalar, numerics, matrix.packed(), x, rows, pool);
        for (std::int64_t at = 0; at < rows * n; ++at) {
          const std::span<const float> row(x.data() + at / n * k, static_cast<std::size_t>(k));
          const std::vector<double> w(weights.begin() + at % n * k,
                                      weights.begin() + (at % n + 1) * k);
          double exact = 0;
          for (std::size_t i = 0; i < w.size(); ++i) exact += w[i] * static_cast<double>(row[i]);
          const double limit = numerics == Numerics::kInt8 ? kInt8Limit : kInt16Limit;
          ASSERT_NEAR(y[static_cast<std::size_t>(at)], exact,
                      Tolerance(w, row, !IsFloat(info.type), limit))
              << test::CaseName(info.type, rows, n, k);
        }
      }
    }
  }
}

TEST(Product, EveryIsaGivesTheScalarBits) {
  test::Random random(11);
  ThreadPool pool(1);
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const std::vector<std::int64_t> lengths = Lengths(info.type);
    for (std::int64_t rows = 1; rows <= 33; ++rows) {
      // Every row count, with lengths and widths in turn; all widths where kernels change.
      const std::int64_t k = lengths[static_cast<std::size_t>(rows) % lengths.size()];
      for (const std::int64_t n : {1, 15, 16, 17, 33}) {
        if (rows > 5 && n != 1 && n != 33) continue;
        const test::TestMatrix matrix(random, info.type, n, k);
        const std::vector<float> x = RandomActivations(random, rows, k);
        const Numerics numerics = rows % 4 == 3 ? Numerics::kInt8 : Numerics::kInt16;
        const std::vector<float> expected =
            test::Product(Isa::kScalar, numerics, matrix.packed(), x, rows, pool);
        for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
          if (!CpuHas(isa)) continue;
          const std::vector<float> y = test::Product(isa, numerics, matrix.packed(), x, rows, pool);
          ASSERT_TRUE(test::SameBits(y, expected))
              << IsaName(isa) << " " << test::CaseName(info.type, rows, n, k);
        }
      }
    }
  }
}

TEST(Product, EveryLengthAndNumericsGivesTheScalarBits) {
  test::Random random(12);
  ThreadPool pool(1);
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    for (const std::int64_t k : Lengths(info.type)) {
      const test::TestMatrix matrix(random, info.type, 33, k);
      for (const std::int64_t rows : {1, 3, 10}) {
        const std::vector<float> x = RandomActivations(random, rows, k);
        for (const Numerics numerics : {Numerics::kInt8, Numerics::kInt16}) {
          const std::vector<float> expected =
              test::Product(Isa::kScalar, numerics, matrix.packed(), x, rows, pool);
          for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
            if (!CpuHas(isa)) continue;
            ASSERT_TRUE(test::SameBits(test::Product(isa, numerics, matrix.packed(), x, rows, pool),
                                       expected))
                << IsaName(isa) << " " << test::CaseName(info.type, rows, 33, k);
          }
        }
      }
    }
  }
}

TEST(Product, ARowsBitsDoNotDependOnHowManyAreComputedWithIt) {
  test::Random random(13);
  ThreadPool pool(1);
  const std::int64_t rows = 150;  // more than one row group
  const std::int64_t n = 17;
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    const std::int64_t k = std::max<std::int64_t>(info.block_elements, 64);
    const test::TestMatrix matrix(random, info.type, n, k);
    const std::vector<float> x = RandomActivations(random, rows, k);
    for (const Isa isa : kIsas) {
      if (!CpuHas(isa)) continue;
      const std::vector<float> all =
          test::Product(isa, Numerics::kInt16, matrix.packed(), x, rows, pool);
      for (std::int64_t row = 0; row < rows; row += 7) {
        const std::vector<float> one =
            test::Product(isa, Numerics::kInt16, matrix.packed(),
                          {x.data() + row * k, static_cast<std::size_t>(k)}, 1, pool);
        ASSERT_TRUE(test::SameBits(one, {all.data() + row * n, static_cast<std::size_t>(n)}))
            << IsaName(isa) << " " << test::CaseName(info.type, row, n, k);
      }
    }
  }
}

TEST(Product, SeveralTargetsAndThreadsGiveTheBitsOfOneByOne) {
  test::Random random(14);
  ThreadPool one(1);
  ThreadPool two(2);
  const std::int64_t k = 256;
  const test::TestMatrix q(random, GgmlType::kQ4_K, 100, k);
  const test::TestMatrix key(random, GgmlType::kQ6_K, 33, k);
  const test::TestMatrix value(random, GgmlType::kF16, 16, k);
  for (const Isa isa : kIsas) {
    if (!CpuHas(isa)) continue;
    for (const std::int64_t rows : {1, 4, 40}) {
      const std::vector<float> x = RandomActivations(random, rows, k);
      std::vector<std::byte> bytes(ActivationBytes(rows, k) + 64);
      void* start = bytes.data();
      std::size_t room = bytes.size();
      auto* packed = static_cast<std::byte*>(std::align(64, ActivationBytes(rows, k), start, room));
      const Activations activations =
          ConvertActivations(isa, Numerics::kInt16, x.data(), rows, k, packed, two);
      const std::int64_t ldy = 160;  // all three in one matrix, with a gap
      std::vector<float> y(static_cast<std::size_t>(rows * ldy), -1.0F);
      const ProductTarget targets[] = {{&q.packed(), y.data(), ldy},
                                       {&key.packed(), y.data() + 100, ldy},
                                       {&value.packed(), y.data() + 133, ldy}};
      Multiply(isa, activations, targets, two);
      std::int64_t column = 0;
      for (const test::TestMatrix* matrix : {&q, &key, &value}) {
        const std::int64_t n = matrix->packed().n;
        const std::vector<float> expected =
            test::Product(isa, Numerics::kInt16, matrix->packed(), x, rows, one);
        for (std::int64_t row = 0; row < rows; ++row) {
          ASSERT_TRUE(test::SameBits({y.data() + row * ldy + column, static_cast<std::size_t>(n)},
                                     {expected.data() + row * n, static_cast<std::size_t>(n)}))
              << IsaName(isa) << " rows " << rows;
        }
        column += n;
      }
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t at = column; at < ldy; ++at)
          ASSERT_EQ(y[static_cast<std::size_t>(row * ldy + at)], -1.0F);
      }
    }
  }
}

TEST(Product, NanActivationsReachEveryOutputOfTheirRowOnly) {
  test::Random random(15);
  ThreadPool pool(1);
  const test::TestMatrix matrix(random, GgmlType::kQ4_1, 16, 64);
  std::vector<float> x = RandomActivations(random, 2, 64);
  x[3] = std::nanf("");
  for (const Isa isa : kIsas) {
    if (!CpuHas(isa)) continue;
    const std::vector<float> y = test::Product(isa, Numerics::kInt16, matrix.packed(), x, 2, pool);
    for (std::size_t n = 0; n < 16; ++n) {
      EXPECT_TRUE(std::isnan(y[n]));
      EXPECT_FALSE(std::isnan(y[16 + n]));
    }
  }
}

TEST(Product, AForcedIsaRunsItsOwnPath) {
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    EXPECT_EQ(ProductKernel(Isa::kScalar, info.type), &MultiplySliceScalar);
    EXPECT_EQ(ProductKernel(Isa::kAvx2, info.type), &MultiplySliceAvx2);
    EXPECT_EQ(ProductKernel(Isa::kAvx512, info.type), &MultiplySliceAvx512);
    for (const Isa isa : kIsas) EXPECT_TRUE(ProductHasPath(info.type, isa)) << info.name;
  }
}

}  // namespace
}  // namespace folio
