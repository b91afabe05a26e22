#include "folio/jsonl_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace folio {
namespace {

class JsonlReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ =
        (std::filesystem::path(::testing::TempDir()) /
         (std::string("jsonl_") + ::testing::UnitTest::GetInstance()->current_test_info()->name()))
            .string();
  }
  void TearDown() override { std::filesystem::remove(path_); }

  struct Seen {
    std::string text;
    std::int64_t number;
    std::uint64_t start;
    std::uint64_t bytes;
    bool terminated;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> ReadAll(const std::string& content, std::size_t most_bytes) {
    std::ofstream(path_, std::ios::binary) << content;
    auto reader = JsonlReader::Open(path_, most_bytes);
    EXPECT_TRUE(reader.has_value());
    std::vector<Seen> all;
    while (true) {
      const auto line = reader->Next();
      EXPECT_TRUE(line.has_value());
      if (!line || !*line) return all;
      all.push_back({std::string((*line)->text), (*line)->number, (*line)->start, (*line)->bytes,
                     (*line)->terminated});
    }
  }

  std::string path_;
};

TEST_F(JsonlReaderTest, LinesHaveTheirPlaces) {
  const std::vector<Seen> expected = {
      {"ab", 1, 0, 2, true}, {"", 2, 3, 0, true}, {"c", 3, 4, 1, false}};
  EXPECT_EQ(ReadAll("ab\n\nc", 10), expected);
  EXPECT_TRUE(ReadAll("", 10).empty());
}

TEST_F(JsonlReaderTest, ALongLineIsCutAndTheNextOneIsWhole) {
  const std::string longer(3 << 20, 'x');  // over several reads
  const auto lines = ReadAll("a\n" + longer + "\nb\n", 5);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], (Seen{"xxxxx", 2, 2, longer.size(), true}));
  EXPECT_EQ(lines[2], (Seen{"b", 3, 3 + longer.size(), 1, true}));
}

TEST_F(JsonlReaderTest, LinesAcrossReadsAreWhole) {
  std::string content;
  for (int i = 0; i < 20000; ++i)
    content += std::string(static_cast<std::size_t>(i % 97), 'y') + "\n";
  const auto lines = ReadAll(content, 1000);
  ASSERT_EQ(lines.size(), 20000U);
  for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i].text.size(), i % 97);
}

TEST_F(JsonlReaderTest, OnlyARegularFileIsRead) {
  EXPECT_EQ(JsonlReader::Open(path_ + "_none", 10).error().kind, ErrorKind::kInput);
  EXPECT_EQ(JsonlReader::Open(::testing::TempDir(), 10).error().why, "is no regular file");
}

}  // namespace
}  // namespace folio
