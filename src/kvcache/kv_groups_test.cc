#include "kvcache/kv_groups.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace folio {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kMaxGroups = 16;

// Every `period`-th layer sees everything, the others a window, as in Gemma 3.
std::vector<LayerSize> Alternating(int layers, int period) {
  std::vector<LayerSize> sizes;
  for (int i = 1; i <= layers; ++i) {
    sizes.push_back({.window = i % period == 0 ? 0 : 512, .bytes = 64});
  }
  return sizes;
}

// {number of groups, padding in layers}
std::pair<std::size_t, std::size_t> Shape(const std::vector<LayerSize>& layers) {
  const LayerGrouping grouping = GroupLayers(layers, kMaxGroups);
  return {grouping.groups.size(), grouping.padding_bytes / 64};
}

TEST(KvGroupsTest, ThreeFullAndFifteenWindowedLayersAreSixGroupsOfThree) {
  const LayerGrouping grouping = GroupLayers(Alternating(18, 6), kMaxGroups);
  EXPECT_THAT(grouping.groups,
              ElementsAre(ElementsAre(5, 11, 17), ElementsAre(0, 1, 2), ElementsAre(3, 4, 6),
                          ElementsAre(7, 8, 9), ElementsAre(10, 12, 13), ElementsAre(14, 15, 16)));
  EXPECT_EQ(grouping.block_bytes, 3U * 64);
  EXPECT_EQ(grouping.padding_bytes, 0U);
}

TEST(KvGroupsTest, FewPaddedGroupsBeatManyWithoutPadding) {
  EXPECT_EQ(Shape(Alternating(26, 6)), std::pair(13UL, 0UL));  // 4 + 22, groups of 2
  EXPECT_EQ(Shape(Alternating(34, 6)), std::pair(7UL, 1UL));   // 5 + 29, of 5; of 1 would be 34
  EXPECT_EQ(Shape(Alternating(24, 2)), std::pair(2UL, 0UL));   // 12 + 12
}

// Of 10 full and 52 windowed layers groups of 4 would pad 2 full ones, for as long as a sequence
// is; groups of 5 pad 3 windowed ones, and groups of 2 would be 31.
TEST(KvGroupsTest, PaddingThatGrowsWithTheSequenceIsWorseThanMoreInAWindow) {
  EXPECT_EQ(Shape(Alternating(62, 6)), std::pair(13UL, 3UL));
  std::vector<LayerSize> wide = Alternating(62, 6);
  for (LayerSize& layer : wide) layer.window *= 32;  // wider than the sequence: all the same
  EXPECT_EQ(Shape(wide), std::pair(16UL, 2UL));
}

TEST(KvGroupsTest, AModelWithOneKindOfLayersIsOneGroupWhateverTheirSizes) {
  const std::vector<LayerSize> layers = {{0, 64}, {0, 192}, {0, 128}, {0, 64}};
  const LayerGrouping grouping = GroupLayers(layers, kMaxGroups);
  EXPECT_THAT(grouping.groups, ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_EQ(grouping.block_bytes, 448U);
  EXPECT_EQ(grouping.padding_bytes, 0U);
}

TEST(KvGroupsTest, KindsOfDifferentSizesMeetAtEqualBytes) {
  // Two full layers of 128 bytes are as large as four windowed ones of 64.
  const std::vector<LayerSize> layers = {{512, 64}, {512, 64}, {512, 64}, {512, 64}, {0, 128},
                                         {512, 64}, {512, 64}, {512, 64}, {512, 64}, {0, 128}};
  const LayerGrouping grouping = GroupLayers(layers, kMaxGroups);
  EXPECT_THAT(grouping.groups,
              ElementsAre(ElementsAre(4, 9), ElementsAre(0, 1, 2, 3), ElementsAre(5, 6, 7, 8)));
  EXPECT_EQ(grouping.padding_bytes, 0U);
}

TEST(KvGroupsTest, MoreWindowsThanGroupsAllowedAreOneGroupEach) {
  std::vector<LayerSize> layers;
  for (int i = 0; i < 40; ++i) layers.push_back({.window = i % 20, .bytes = 64});
  EXPECT_EQ(Shape(layers), std::pair(20UL, 0UL));
}

TEST(KvGroupsTest, EveryLayerIsInOneGroupOfItsWindowAndThePaddingIsWhatIsLeft) {
  EXPECT_TRUE(rc::check([] {
    std::vector<LayerSize> layers;
    const int count = *rc::gen::inRange(1, 70);
    for (int i = 0; i < count; ++i) {
      layers.push_back({.window = *rc::gen::inRange(0, 3),
                        .bytes = 64 * static_cast<std::size_t>(*rc::gen::inRange(1, 9))});
    }
    const LayerGrouping grouping = GroupLayers(layers, kMaxGroups);
    RC_ASSERT(grouping.groups.size() <= kMaxGroups);
    std::set<int> seen;
    std::size_t padding = 0;
    std::size_t largest = 0;
    for (const std::vector<int>& group : grouping.groups) {
      RC_ASSERT(!group.empty());
      RC_ASSERT(std::ranges::is_sorted(group));
      std::size_t bytes = 0;
      for (const int layer : group) {
        RC_ASSERT(seen.insert(layer).second);
        const LayerSize& size = layers[static_cast<std::size_t>(layer)];
        RC_ASSERT(size.window == layers[static_cast<std::size_t>(group[0])].window);
        bytes += size.bytes;
      }
      RC_ASSERT(bytes <= grouping.block_bytes);
      largest = std::max(largest, bytes);
      padding += grouping.block_bytes - bytes;
    }
    RC_ASSERT(seen.size() == layers.size());
    RC_ASSERT(largest == grouping.block_bytes);
    RC_ASSERT(padding == grouping.padding_bytes);
  }));
}

TEST(KvGroupsTest, OfEqualLayersNoOtherGroupSizeHoldsLessPaddingOrAsLittleAndIsLarger) {
  EXPECT_TRUE(rc::check([] {
    const int full = *rc::gen::inRange(1, 40);
    const int windowed = *rc::gen::inRange(1, 60);
    const int window = *rc::gen::element(9, 512, 4096, 100'000);
    std::vector<LayerSize> layers(static_cast<std::size_t>(full), {.window = 0, .bytes = 64});
    layers.insert(layers.end(), static_cast<std::size_t>(windowed),
                  {.window = window, .bytes = 64});
    const LayerGrouping grouping = GroupLayers(layers, kMaxGroups);
    const int size = static_cast<int>(grouping.block_bytes / 64);
    const auto padding = [](int count, int of) { return (count + of - 1) / of * of - count; };
    const auto held = [&](int of) {
      return padding(full, of) * 8192 + padding(windowed, of) * std::min(window, 8192);
    };
    for (int other = 1; other <= std::max(full, windowed); ++other) {
      const int groups = (full + other - 1) / other + (windowed + other - 1) / other;
      if (groups > static_cast<int>(kMaxGroups)) continue;
      RC_ASSERT(held(size) < held(other) || (held(size) == held(other) && size >= other));
    }
  }));
}

}  // namespace
}  // namespace folio
