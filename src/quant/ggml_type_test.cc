#include "quant/ggml_type.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(GgmlTypeTest, EveryTypeIsFoundByItsId) {
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    EXPECT_EQ(GgmlTypeFromId(static_cast<std::uint32_t>(info.type)), info.type);
    EXPECT_EQ(TypeInfo(info.type).name, info.name);
  }
}

TEST(GgmlTypeTest, UnknownIdsAreNotATypes) {
  EXPECT_EQ(GgmlTypeFromId(4), std::nullopt);
  EXPECT_EQ(GgmlTypeFromId(0xffffffffU), std::nullopt);
}

}  // namespace
}  // namespace folio
