// What the tests of the products share: random weights in file form, activations, and buffers that
// end at a page no one may touch.
#ifndef FOLIO_KERNELS_PRODUCT_TESTING_H_
#define FOLIO_KERNELS_PRODUCT_TESTING_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/product.h"
#include "quant/ggml_type.h"
#include "quant/half.h"

namespace folio::test {

// `count` elements that end where an unreadable page begins; another lies in front.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::size_t count) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = count * sizeof(T);
    const std::size_t room = (bytes + page - 1) / page * page;
    mapped_ = room + 2 * page;
    base_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (room != 0) mprotect(base_ + page, room, PROT_READ | PROT_WRITE);
    data_ = reinterpret_cast<T*>(base_ + page + room - bytes);
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::span<T> span() const { return {data_, count_}; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  std::size_t count_;
  std::size_t mapped_ = 0;
  std::byte* base_ = nullptr;
  T* data_ = nullptr;
};

using Random = std::mt19937;

inline float RandomFloat(Random& random, float low, float high) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

// Values of very different sizes from block to block, some zeros, a few large ones.
inline void FillActivations(Random& random, std::span<float> x) {
  std::normal_distribution<float> normal;
  float size = 1.0F;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 32 == 0) size = std::exp2(RandomFloat(random, -6.0F, 4.0F));
    const auto kind = random() % 64;
    x[i] = kind == 0 ? 0.0F : normal(random) * size * (kind == 1 ? 20.0F : 1.0F);
  }
}

// Byte offsets of the 16-bit floats in a block of the type.
inline std::vector<int> HalfOffsets(GgmlType type) {
  switch (type) {
    case GgmlType::kQ4_1:
    case GgmlType::kQ5_1:
    case GgmlType::kQ4_K:
    case GgmlType::kQ5_K:
      return {0, 2};
    case GgmlType::kQ2_K:
      return {80, 82};
    case GgmlType::kQ3_K:
      return {108};
    case GgmlType::kQ6_K:
      return {208};
    case GgmlType::kMXFP4:
      return {};
    default:
      return {0};
  }
}

inline void StoreHalf(std::byte* at, float value) {
  const std::uint16_t half = FloatToHalf(value);
  std::memcpy(at, &half, 2);
}

// Rows of a weight matrix as a file has them: random codes, scales of either sign.
inline std::vector<std::byte> RandomFileRows(Random& random, GgmlType type, std::int64_t n,
                                             std::int64_t k) {
  const GgmlTypeInfo& info = TypeInfo(type);
  const std::int64_t blocks = n * (k / info.block_elements);
  std::vector<std::byte> file(static_cast<std::size_t>(blocks * info.block_bytes));
  for (std::byte& byte : file) byte = static_cast<std::byte>(random());
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::byte* at = file.data() + block * info.block_bytes;
    if (type == GgmlType::kF32) {
      const float value = RandomFloat(random, -1.0F, 1.0F);
      std::memcpy(at, &value, 4);
    } else if (type == GgmlType::kBF16) {
      const std::uint16_t value = FloatToBf16(RandomFloat(random, -1.0F, 1.0F));
      std::memcpy(at, &value, 2);
    } else if (type == GgmlType::kMXFP4) {
      *at = static_cast<std::byte>(118 + random() % 8);
    } else {
      for (const int offset : HalfOffsets(type))
        StoreHalf(at + offset, RandomFloat(random, -0.02F, 0.02F));
    }
  }
  return file;
}

// A packed matrix in a guarded buffer.
class TestMatrix {
 public:
  TestMatrix(Random& random, GgmlType type, std::int64_t n, std::int64_t k)
      : file_(RandomFileRows(random, type, n, k)), packed_(PackedBytes(type, n, k)) {
    const GgmlTypeInfo& info = TypeInfo(type);
    const std::size_t row_bytes =
        static_cast<std::size_t>(k / info.block_elements * info.block_bytes);
    for (std::int64_t row = 0; row < n; row += kStripRows) {
      const std::int64_t rows = std::min(kStripRows, n - row);
      const std::size_t bytes = static_cast<std::size_t>(rows) * row_bytes;
      const Guarded<std::byte> source(bytes);
      std::memcpy(source.data(), file_.data() + static_cast<std::size_t>(row) * row_bytes, bytes);
      PackStrip(
          type, source.data(), rows, k,
          packed_.data() + static_cast<std::size_t>(row / kStripRows) * PackedStripBytes(type, k));
    }
    matrix_ = {type, n, k, packed_.data()};
  }

  const PackedMatrix& packed() const { return matrix_; }
  const std::byte* file() const { return file_.data(); }

 private:
  std::vector<std::byte> file_;
  Guarded<std::byte> packed_;
  PackedMatrix matrix_;
};

// y = x W^T by Multiply, every buffer guarded; y is [rows, n].
inline std::vector<float> Product(Isa isa, Numerics numerics, const PackedMatrix& matrix,
                                  std::span<const float> x, std::int64_t rows, ThreadPool& pool) {
  const Guarded<float> floats(x.size());
  std::memcpy(floats.data(), x.data(), x.size_bytes());
  const Guarded<std::byte> bytes(ActivationBytes(rows, matrix.k));
  const Activations activations =
      ConvertActivations(isa, numerics, floats.data(), rows, matrix.k, bytes.data(), pool);
  const Guarded<float> y(static_cast<std::size_t>(rows * matrix.n));
  std::memset(y.data(), 0xff, y.size() * sizeof(float));
  const ProductTarget target = {&matrix, y.data(), matrix.n};
  Multiply(isa, activations, {&target, 1}, pool);
  return {y.data(), y.data() + y.size()};
}

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline std::string CaseName(GgmlType type, std::int64_t rows, std::int64_t n, std::int64_t k) {
  return std::string(TypeInfo(type).name) + " rows " + std::to_string(rows) + " n " +
         std::to_string(n) + " k " + std::to_string(k);
}

}  // namespace folio::test

#endif  // FOLIO_KERNELS_PRODUCT_TESTING_H_
