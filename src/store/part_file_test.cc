#include "store/part_file.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class PartFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "/folio-part-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    path_ = folder_ + "/sub/m.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder_;
  std::string path_;
};

TEST_F(PartFileTest, NothingIsAtThePathBeforeCommit) {
  auto part = PartFile::Open(path_);
  ASSERT_TRUE(part.has_value());
  ASSERT_TRUE(part->Restart("\"tag\"").has_value());
  ASSERT_TRUE(part->Append(std::string("abc")).has_value());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_EQ(part->FinishHash(), kAbc);
  ASSERT_TRUE(part->Commit().has_value());
  EXPECT_EQ(fs::file_size(path_), 3U);
  EXPECT_TRUE(fs::exists(path_) && !fs::exists(path_ + ".part") &&
              !fs::exists(path_ + ".part.etag"));
}

TEST_F(PartFileTest, ALaterRunGoesOnWithBytesHashAndValidator) {
  {
    auto part = PartFile::Open(path_);
    ASSERT_TRUE(part.has_value());
    ASSERT_TRUE(part->Restart("\"tag\"").has_value());
    ASSERT_TRUE(part->Append(std::string("ab")).has_value());
  }
  auto part = PartFile::Open(path_);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->size(), 2U);
  EXPECT_EQ(part->etag(), "\"tag\"");
  ASSERT_TRUE(part->Append(std::string("c")).has_value());
  EXPECT_EQ(part->FinishHash(), kAbc);
}

TEST_F(PartFileTest, RestartForgetsTheBytes) {
  auto part = PartFile::Open(path_);
  ASSERT_TRUE(part.has_value());
  ASSERT_TRUE(part->Append(std::string("other bytes")).has_value());
  ASSERT_TRUE(part->Restart("").has_value());
  ASSERT_TRUE(part->Append(std::string("abc")).has_value());
  EXPECT_EQ(part->FinishHash(), kAbc);
  ASSERT_TRUE(part->Commit().has_value());
  EXPECT_EQ(fs::file_size(path_), 3U);
}

TEST_F(PartFileTest, WeakOrStrangeValidatorsAreNotKept) {
  auto part = PartFile::Open(path_);
  ASSERT_TRUE(part.has_value());
  for (const char* etag : {"W/\"weak\"", "bare", "\"a\r\nX-Header: b\"", "\"\""}) {
    ASSERT_TRUE(part->Restart(etag).has_value());
    EXPECT_EQ(part->etag(), "") << etag;
  }
}

TEST_F(PartFileTest, OnlyOneProcessAtATime) {
  const auto first = PartFile::Open(path_);
  ASSERT_TRUE(first.has_value());
  const auto second = PartFile::Open(path_);
  ASSERT_FALSE(second.has_value());
  EXPECT_NE(second.error().Message().find("another process"), std::string::npos);
}

TEST_F(PartFileTest, TheMagicIsLookedAt) {
  auto part = PartFile::Open(path_);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->StartsAsGguf(), false);
  ASSERT_TRUE(part->Append(std::string("GGUF....")).has_value());
  EXPECT_EQ(part->StartsAsGguf(), true);
}

TEST_F(PartFileTest, AFullDiskIsForeseenWithNumbers) {
  EXPECT_TRUE(CheckFreeSpace(folder_ + "/m", 1).has_value());
  const Status full = CheckFreeSpace(folder_ + "/m", std::numeric_limits<std::uint64_t>::max());
  ASSERT_FALSE(full.has_value());
  EXPECT_NE(full.error().Message().find("18446744073709551615"), std::string::npos);
}

}  // namespace
}  // namespace folio
