#include "store/file_name.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(CheckRelativeNameTest, PlainNamesPass) {
  for (const char* name : {"a.gguf", "Q4_K_M/Model-7B.Q4_K_M-00001-of-00002.gguf", "a b/ü.gguf"}) {
    EXPECT_TRUE(CheckRelativeName(name, "listing").has_value()) << name;
  }
}

TEST(CheckRelativeNameTest, NamesThatCouldEscapeAreRefused) {
  for (const std::string& name :
       {std::string("../../x.gguf"), std::string("/etc/x.gguf"), std::string("a/../b.gguf"),
        std::string("a//b.gguf"), std::string("a/"), std::string(""), std::string(".hidden.gguf"),
        std::string("a\\..\\b.gguf"), std::string("a\nb.gguf"), std::string("a\0b.gguf", 8),
        std::string("-rf.gguf"), std::string("C:x.gguf"), std::string(201, 'x'),
        std::string("a/a/a/a/a/a/a/a/b.gguf")}) {
    const Status status = CheckRelativeName(name, "listing");
    ASSERT_FALSE(status.has_value()) << name;
    EXPECT_EQ(status.error().kind, ErrorKind::kInput);
  }
}

TEST(SplitNameTest, PartsAreRecognisedAndNamed) {
  const auto split = ParseSplitName("dir/m-Q8_0-00002-of-00012.gguf");
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->stem, "dir/m-Q8_0");
  EXPECT_EQ(split->index, 2);
  EXPECT_EQ(split->count, 12);
  EXPECT_EQ(SplitFileName(*split, 1), "dir/m-Q8_0-00001-of-00012.gguf");
}

TEST(SplitNameTest, OtherNamesAreNotParts) {
  for (const char* name :
       {"m.gguf", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf", "m-0001-of-00002.gguf",
        "m-00001-of-00002.bin", "m--0001-of-00002.gguf", "-00001-of-00002.gguf"}) {
    EXPECT_FALSE(ParseSplitName(name).has_value()) << name;
  }
}

}  // namespace
}  // namespace folio
