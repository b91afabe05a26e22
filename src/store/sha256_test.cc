#include "store/sha256.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

// FIPS 180-2, appendix B.
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256Test, GivesTheStandardsExample) {
  Sha256 hash;
  hash.Update(std::string("abc"));
  EXPECT_EQ(hash.Finish(), kAbc);
}

TEST(Sha256Test, PiecesAndReuseDoNotMatter) {
  Sha256 hash;
  hash.Update(std::string("other"));
  hash.Reset();
  hash.Update(std::string("a"));
  hash.Update(std::string());
  hash.Update(std::string("bc"));
  EXPECT_EQ(hash.Finish(), kAbc);
  hash.Update(std::string("abc"));
  EXPECT_EQ(hash.Finish(), kAbc);
}

TEST(Sha256Test, OnlySixtyFourHexDigitsAreOne) {
  EXPECT_TRUE(IsSha256Hex(kAbc));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a')));
  EXPECT_FALSE(IsSha256Hex(std::string(63, 'a') + "g"));
}

}  // namespace
}  // namespace folio
