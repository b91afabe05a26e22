#include "sampling/block_maxima.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

RC_GTEST_PROP(BlockMaximaTest, EveryBlockHasItsLargestLogit, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(0, 300);
  const auto values = *rc::gen::container<std::vector<int>>(size, rc::gen::inRange(-1000, 1000));
  const std::vector<float> logits(values.begin(), values.end());
  std::vector<float> maxima;
  RC_ASSERT(BlockMaxima(logits, maxima));
  RC_ASSERT(maxima.size() == (size + kLogitsInBlock - 1) / kLogitsInBlock);
  for (std::size_t block = 0; block < maxima.size(); ++block) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(block * kLogitsInBlock);
    const auto left = logits.end() - first;
    const auto last = first + std::min<std::ptrdiff_t>(left, kLogitsInBlock);
    RC_ASSERT(maxima[block] == *std::max_element(first, last));
  }
}

RC_GTEST_PROP(BlockMaximaTest, ALogitThatIsNoNumberIsSeenAnywhere, ()) {
  std::vector<float> logits(*rc::gen::inRange<std::size_t>(1, 300), 1.0F);
  const auto at = *rc::gen::inRange<std::size_t>(0, logits.size());
  std::vector<float> maxima;
  for (const float bad :
       {kInf, std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::quiet_NaN()}) {
    logits[at] = bad;
    RC_ASSERT(!BlockMaxima(logits, maxima));
  }
  logits[at] = -kInf;
  RC_ASSERT(BlockMaxima(logits, maxima));
}

TEST(BlockMaximaTest, NothingHasNoBlocks) {
  std::vector<float> maxima = {1.0F};
  EXPECT_TRUE(BlockMaxima({}, maxima));
  EXPECT_TRUE(maxima.empty());
}

}  // namespace
}  // namespace folio
