#include "formats/gguf_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_header.h"
#include "formats/gguf_test_writer.h"

namespace folio {
namespace {

using ::folio::testing::TestGguf;
using ::testing::HasSubstr;
using Type = GgufValueType;

TEST(GgufSplitPathTest, ThePartsOfAName) {
  const auto split = ParseGgufSplitPath("dir/model-q4-00002-of-00011.gguf");
  ASSERT_TRUE(split.has_value());
  EXPECT_EQ(split->prefix, "dir/model-q4");
  EXPECT_EQ(split->number, 2U);
  EXPECT_EQ(split->count, 11U);
  EXPECT_EQ(split->Path(11), "dir/model-q4-00011-of-00011.gguf");
}

TEST(GgufSplitPathTest, OtherNamesAreNotSplit) {
  for (const std::string_view path :
       {"model.gguf", "", "m-00000-of-00002.gguf", "m-00003-of-00002.gguf", "m-0001-of-00002.gguf",
        "m-00001-of-00002.bin", "m-00001-of-0000x.gguf", "m_00001-of-00002.gguf",
        "m-+0001-of-00002.gguf"}) {
    EXPECT_FALSE(ParseGgufSplitPath(path).has_value()) << path;
  }
}

// Three files in a folder of their own; each test may change one before it is written.
class GgufSplitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ =
        std::filesystem::path(::testing::TempDir()) / ("folio_split_" + std::string(test->name()));
    std::filesystem::create_directories(folder_);
    parts_.resize(3);
    parts_[0].AddString("general.architecture", "llama");
    for (std::uint16_t i = 0; i < 3; ++i) AddSplitKeys(parts_[i], i);
    parts_[0].AddF32("a", {8});
    parts_[1].AddF32("b", {8});
    parts_[1].AddF32("c", {16});
    parts_[2].AddF32("d", {8});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static void AddSplitKeys(TestGguf& part, std::uint16_t index) {
    part.Add("split.no", Type::kUint16, index);
    part.Add("split.count", Type::kUint16, std::uint16_t{3});
    part.Add("split.tensors.count", Type::kInt32, std::int32_t{4});
  }

  std::string Path(std::uint32_t number) const {
    return GgufSplitPath{(folder_ / "m").string(), 1, 3}.Path(number);
  }

  static void Write(const std::string& path, TestGguf& part) {
    const std::vector<std::byte> bytes = part.Bytes();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  void WriteAll() {
    for (std::uint32_t i = 0; i < 3; ++i) Write(Path(i + 1), parts_[i]);
  }
  static std::string Refusal(const std::string& path) {
    const auto gguf = OpenGguf(path);
    return gguf.has_value() ? "accepted" : gguf.error().Message();
  }

  std::filesystem::path folder_;
  std::vector<TestGguf> parts_;
};

TEST_F(GgufSplitTest, AllFilesTogetherAreTheModel) {
  WriteAll();
  const auto gguf = OpenGguf(Path(1));
  ASSERT_TRUE(gguf.has_value()) << gguf.error().Message();
  EXPECT_EQ(gguf->GetString("general.architecture"), "llama");
  EXPECT_EQ(gguf->files(), (std::vector<std::string>{Path(1), Path(2), Path(3)}));
  ASSERT_EQ(gguf->tensors().size(), 4U);
  const ModelTensor* c = gguf->FindTensor("c");
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(c->file, 1);
  EXPECT_EQ(c->offset, parts_[1].data_start + 32);
  EXPECT_EQ(c->bytes, 64U);
  // The data mapped is what lies in that file at that offset.
  std::ifstream file(gguf->files()[1], std::ios::binary);
  file.seekg(static_cast<std::streamoff>(c->offset));
  for (const std::byte byte : c->data) EXPECT_EQ(file.get(), static_cast<int>(byte));
  std::uintmax_t bytes = 0;
  for (const std::string& path : gguf->files()) bytes += std::filesystem::file_size(path);
  EXPECT_EQ(gguf->file_bytes(), bytes);
}

TEST_F(GgufSplitTest, TheHeadersOfAllFilesAreTheModelWithoutData) {
  WriteAll();
  const auto header = OpenGgufHeader(Path(1));
  ASSERT_TRUE(header.has_value()) << header.error().Message();
  const auto gguf = OpenGguf(Path(1));
  ASSERT_TRUE(gguf.has_value());
  EXPECT_EQ(header->files(), gguf->files());
  EXPECT_EQ(header->file_bytes(), gguf->file_bytes());
  ASSERT_EQ(header->tensors().size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(header->tensors()[i].name, gguf->tensors()[i].name);
    EXPECT_EQ(header->tensors()[i].file, gguf->tensors()[i].file);
    EXPECT_EQ(header->tensors()[i].bytes, gguf->tensors()[i].bytes);
    EXPECT_TRUE(header->tensors()[i].data.empty());
  }
  std::filesystem::remove(Path(2));
  EXPECT_EQ(OpenGgufHeader(Path(1)).error().what, Path(2));
}

TEST_F(GgufSplitTest, AMissingFileIsNamed) {
  WriteAll();
  std::filesystem::remove(Path(3));
  EXPECT_EQ(Refusal(Path(1)), Path(3) + ": open: No such file or directory");
}

TEST_F(GgufSplitTest, ALaterFilePointsToTheFirst) {
  WriteAll();
  EXPECT_THAT(Refusal(Path(2)), HasSubstr("open the first, " + Path(1)));
}

TEST_F(GgufSplitTest, ARenamedFirstFileIsRefused) {
  WriteAll();
  const std::string renamed = (folder_ / "other.gguf").string();
  std::filesystem::rename(Path(1), renamed);
  EXPECT_THAT(Refusal(renamed), HasSubstr("split.count: is 3"));
}

TEST_F(GgufSplitTest, FilesInTheWrongOrderAreRefused) {
  WriteAll();
  Write(Path(2), parts_[2]);
  EXPECT_EQ(Refusal(Path(1)), Path(2) + ": split.no: is 2; file 2 of 3 needs 1");
}

TEST_F(GgufSplitTest, AFileOfNoSplitModelIsRefused) {
  WriteAll();
  TestGguf alone;
  alone.AddF32("b", {8});
  Write(Path(2), alone);
  EXPECT_EQ(Refusal(Path(1)), Path(2) + ": split.no: is missing; file 2 of 3 needs 1");
}

TEST_F(GgufSplitTest, ATensorInTwoFilesIsRefused) {
  parts_[2].AddF32("c", {8});
  WriteAll();
  EXPECT_EQ(Refusal(Path(1)), Path(3) + ": tensor c: is also in " + Path(2));
}

TEST_F(GgufSplitTest, TooFewTensorsAreRefused) {
  parts_[2].tensors.clear();
  WriteAll();
  EXPECT_EQ(Refusal(Path(1)), Path(1) +
                                  ": split.tensors.count: is 4, but the files have 3 tensors "
                                  "together");
}

TEST_F(GgufSplitTest, ABrokenLaterFileIsNamed) {
  WriteAll();
  std::filesystem::resize_file(Path(2), 30);
  EXPECT_THAT(Refusal(Path(1)), HasSubstr(Path(2)));
}

TEST(GgufSplitCountTest, CountsOfTheWrongKindAreRefused) {
  for (const std::int32_t count : {-1, 70'000}) {
    TestGguf file;
    file.Add("split.count", Type::kInt32, count);
    const std::vector<std::byte> bytes = file.Bytes();
    const auto gguf = ParseGguf("m.gguf", bytes);
    ASSERT_FALSE(gguf.has_value());
    EXPECT_EQ(gguf.error().where, "split.count");
    EXPECT_THAT(gguf.error().why, HasSubstr(std::to_string(count)));
  }
}

}  // namespace
}  // namespace folio
