#include "api/encrypted_content.h"

#include <gtest/gtest.h>

#include <string>

namespace folio {
namespace {

TEST(EncryptedContentTest, GivesTheTextBack) {
  std::string text;
  for (int length = 0; length < 40; ++length) {
    const std::string content = EncryptedContent(text);
    EXPECT_FALSE(content.empty());
    EXPECT_EQ(DecryptedContent(content), text);
    text += length % 3 == 0 ? "é" : "x";
  }
}

TEST(EncryptedContentTest, IsBase64BehindAMark) {
  EXPECT_EQ(EncryptedContent("Man"), "folio1.TWFu");
  EXPECT_EQ(EncryptedContent("Ma"), "folio1.TWE");
  EXPECT_EQ(EncryptedContent(""), "folio1.");
}

TEST(EncryptedContentTest, AnotherServersOrDamagedOneIsNone) {
  EXPECT_EQ(DecryptedContent("ENC=="), std::nullopt);
  EXPECT_EQ(DecryptedContent(""), std::nullopt);
  EXPECT_EQ(DecryptedContent("folio1.TW=u"), std::nullopt);
  EXPECT_EQ(DecryptedContent("folio1.//8"), std::nullopt);  // no UTF-8
}

}  // namespace
}  // namespace folio
