#include "folio/npy_writer.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(NpyWriterTest, HeaderIsPaddedAndDataFollowsInOrder) {
  const std::string path = testing::TempDir() + "/folio-npy-test.npy";
  Result<NpyWriter> writer = NpyWriter::Create(path, 2, 3);
  ASSERT_TRUE(writer.has_value());
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writer->Write(std::span(values).first(3)).has_value());
  ASSERT_TRUE(writer->Write(std::span(values).last(3)).has_value());
  ASSERT_TRUE(writer->Close().has_value());
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const std::size_t start =
      10 + static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  EXPECT_EQ(start % 64, 0U);
  EXPECT_EQ(bytes[start - 1], '\n');
  EXPECT_NE(bytes.find("(2, 3)"), std::string::npos);
  ASSERT_EQ(bytes.size(), start + sizeof(float) * values.size());
  EXPECT_EQ(std::memcmp(bytes.data() + start, values.data(), sizeof(float) * values.size()), 0);
}

TEST(NpyWriterTest, AnImpossiblePathIsAnErrorThatNamesIt) {
  const Result<NpyWriter> writer = NpyWriter::Create("/nowhere/x.npy", 1, 1);
  ASSERT_FALSE(writer.has_value());
  EXPECT_NE(writer.error().Message().find("/nowhere/x.npy"), std::string::npos);
}

}  // namespace
}  // namespace folio
