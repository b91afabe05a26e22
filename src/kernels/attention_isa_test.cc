// Every ISA's attention gives the scalar reference's bits, and bits depend neither on how rows are
// chunked nor on threads: checked by equality.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "kernels/attention_testing.h"

namespace folio {
namespace {

std::vector<Isa> VectorIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (CpuHas(isa)) isas.push_back(isa);
  }
  return isas;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class AttentionIsaTest : public testing::TestWithParam<KvType> {};

TEST_P(AttentionIsaTest, EqualsScalarForEveryHeadDimAndGroup) {
  ThreadPool pool(1);
  for (const int head_dim : {32, 64, 96, 128, 160, 256, 576}) {
    for (const int group : {1, 2, 3, 4, 5, 7}) {
      const AttentionShape shape{
          .type = GetParam(), .head_dim = head_dim, .kv_heads = 2, .group = group, .length = 37};
      TestCache scalar(shape, 1);
      const std::vector<float> expected = scalar.Forward(Isa::kScalar, {30, 6, 1}, pool);
      for (const Isa isa : VectorIsas()) {
        TestCache cache(shape, 1);
        ASSERT_TRUE(SameBits(expected, cache.Forward(isa, {30, 6, 1}, pool)))
            << IsaName(isa) << " head_dim " << head_dim << " group " << group;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KvTypes, AttentionIsaTest,
                         testing::Values(KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0),
                         [](const auto& kv_type) {
                           return std::string(KvTypeName(kv_type.param));
                         });

}  // namespace
}  // namespace folio
