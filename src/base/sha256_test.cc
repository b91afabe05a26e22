#include "base/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

// FIPS 180-2, appendix B.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256Test, GivesTheStandardsExample) {
  Sha256 hash;
  hash.Update("abc");
  EXPECT_EQ(hash.HexDigest(), kAbc);
}

TEST(Sha256Test, PiecesAndReuseDoNotMatter) {
  Sha256 hash;
  hash.Update("other");
  hash.Reset();
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.HexDigest(), kAbc);
  hash.Update("abc");
  EXPECT_EQ(hash.HexDigest(), kAbc);
}

TEST(Sha256Test, OnlySixtyFourHexDigitsAreOne) {
  EXPECT_TRUE(IsSha256Hex(kAbc));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a')));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a') + "g"));
}

}  // namespace
}  // namespace folio
