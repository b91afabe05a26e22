#include "sampling/block_maxima.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace folio {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kLanes = 4;
// The compiler's own vectors: registers on any machine, and no loop that it might not recognise.
using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Ints [[gnu::vector_size(kLanes * sizeof(float))]] = std::int32_t;

struct Block {
  float max = -kInfinity;
  bool finite = true;  // or -infinity
};

Floats Larger(Floats a, Floats b) { return a > b ? a : b; }

// A whole block. A comparison with NaN is false: it never becomes a maximum, and it is not below
// infinity.
Block ScanWhole(const float* logits) {
  const auto load = [logits](std::size_t at) {
    Floats values;
    std::memcpy(&values, logits + at, sizeof(values));
    return values;
  };
  const Floats lowest = Floats{} - kInfinity;
  // Two of each, so that one does not wait for the other.
  Floats max_a = lowest;
  Floats max_b = lowest;
  Ints below = Ints{} - 1;
  for (std::size_t i = 0; i < kLogitsInBlock; i += 2 * kLanes) {
    const Floats a = load(i);
    const Floats b = load(i + kLanes);
    max_a = Larger(a, max_a);
    max_b = Larger(b, max_b);
    below &= (a < kInfinity) & (b < kInfinity);
  }
  const Floats max = Larger(max_a, max_b);
  Block block;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    block.max = std::max(block.max, max[lane]);
    block.finite = block.finite && below[lane] != 0;
  }
  return block;
}

Block ScanPart(std::span<const float> logits) {
  Block block;
  for (const float logit : logits) {
    block.max = std::max(block.max, logit);
    block.finite = block.finite && logit < kInfinity;
  }
  return block;
}

}  // namespace

bool BlockMaxima(std::span<const float> logits, std::vector<float>& maxima) {
  maxima.clear();
  maxima.reserve((logits.size() + kLogitsInBlock - 1) / kLogitsInBlock);
  bool finite = true;
  while (!logits.empty()) {
    const bool whole = logits.size() >= kLogitsInBlock;
    const Block block = whole ? ScanWhole(logits.data()) : ScanPart(logits);
    maxima.push_back(block.max);
    finite = finite && block.finite;
    logits = logits.subspan(std::min(logits.size(), kLogitsInBlock));
  }
  return finite;
}

}  // namespace folio
