// A machine of two tiers for the attention lab: matrices lie in slow memory, arithmetic sees only
// what was loaded into fast memory, and what crosses between the two is counted, byte by byte, as
// it happens. The fast tier's size is a parameter and is enforced.
#ifndef FOLIO_APPS_FOLIO_LAB_ATTENTION_MEMORY_H_
#define FOLIO_APPS_FOLIO_LAB_ATTENTION_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace folio {

// What an element takes, in bytes. Values are kept as floats and rounded to what they stand for.
enum class Element : std::uint8_t { kByte = 1, kHalf = 2, kFloat = 4 };

struct Grid {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  Element element = Element::kHalf;
  std::vector<float> values;

  float* row(std::int64_t i) { return values.data() + i * cols; }
  const float* row(std::int64_t i) const { return values.data() + i * cols; }
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(rows * cols) * static_cast<std::uint64_t>(element);
  }
};

// A matrix in slow memory, and how much of it was moved.
struct SlowMatrix : Grid {
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

SlowMatrix MakeSlow(std::int64_t rows, std::int64_t cols, Element element);
// With these values of FP16, rows * cols of them.
SlowMatrix MakeSlow(std::int64_t rows, std::int64_t cols, const std::vector<float>& halves);

// A buffer in fast memory.
struct FastBlock : Grid {};

// Where a block stands in a slow matrix, and how large it is there.
struct Window {
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

struct Traffic {
  std::uint64_t read = 0;     // bytes from slow to fast memory
  std::uint64_t written = 0;  // bytes from fast to slow memory
  std::uint64_t total() const { return read + written; }
};

class TwoTiers {
 public:
  explicit TwoTiers(std::uint64_t fast_bytes) : fast_bytes_(fast_bytes) {}

  // A zeroed buffer in fast memory. One that finds no room is noted: ask Fits() before the work.
  FastBlock Claim(std::int64_t rows, std::int64_t cols, Element element);
  // All buffers go: another kernel begins.
  void Release() { claimed_ = 0; }
  Status Fits() const;

  // Copies a window between slow memory and the upper left corner of a buffer.
  void Load(SlowMatrix& from, const Window& window, FastBlock& to);
  void Store(const FastBlock& from, const Window& window, SlowMatrix& to);

  // `x` as FP16 has it; a finite value that becomes infinite is counted.
  float Half(float x);

  const Traffic& traffic() const { return traffic_; }
  std::uint64_t peak_bytes() const { return peak_; }
  std::int64_t overflows() const { return overflows_; }

 private:
  std::uint64_t fast_bytes_;
  std::uint64_t claimed_ = 0;
  std::uint64_t peak_ = 0;
  Traffic traffic_;
  std::int64_t overflows_ = 0;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_ATTENTION_MEMORY_H_
