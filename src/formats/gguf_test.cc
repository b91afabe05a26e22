#include "formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "formats/gguf_test_writer.h"

namespace folio {
namespace {

using ::folio::testing::TestGguf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Type = GgufValueType;

// A value of every type, and two tensors.
TestGguf Sample() {
  TestGguf file;
  file.AddString("general.architecture", "llama");
  file.Add("u8", Type::kUint8, std::uint8_t{200});
  file.Add("i8", Type::kInt8, std::int8_t{-5});
  file.Add("u16", Type::kUint16, std::uint16_t{40'000});
  file.Add("i16", Type::kInt16, std::int16_t{-300});
  file.Add("u32", Type::kUint32, std::uint32_t{4'000'000'000});
  file.Add("i32", Type::kInt32, std::int32_t{7});
  file.Add("f32", Type::kFloat32, 0.5F);
  file.Add("yes", Type::kBool, std::uint8_t{1});
  file.Add("u64", Type::kUint64, std::numeric_limits<std::uint64_t>::max());
  file.Add("i64", Type::kInt64, std::numeric_limits<std::int64_t>::min());
  file.Add("f64", Type::kFloat64, 0.1);
  file.AddStrings("strings", {"a", "", "\xc3\xa9"});
  file.AddArray<std::int32_t>("ints", Type::kInt32, {1, -2, 3});
  file.AddArray<std::uint16_t>("uints", Type::kUint16, {1, 65'535});
  file.AddArray<std::uint64_t>("huge_uints", Type::kUint64, {1, 1ULL << 63});
  file.AddArray<float>("floats", Type::kFloat32, {0.25F, -1.5F});
  file.AddArray<std::uint8_t>("bools", Type::kBool, {0, 1});
  file.AddArray<std::uint8_t>("empty", Type::kUint8, {});
  file.AddF32("first", {3});
  file.AddF32("second", {8, 2});
  return file;
}

TEST(GgufTest, EveryValueTypeIsRead) {
  const std::vector<std::byte> bytes = Sample().Bytes();
  const auto gguf = ParseGguf("m.gguf", bytes);
  ASSERT_TRUE(gguf.has_value()) << gguf.error().Message();
  EXPECT_EQ(gguf->gguf_version(), 3U);
  EXPECT_EQ(gguf->file_bytes(), bytes.size());
  EXPECT_EQ(gguf->metadata().size(), 19U);
  EXPECT_EQ(gguf->GetString("general.architecture"), "llama");
  EXPECT_EQ(gguf->GetUint("u8"), 200U);
  EXPECT_EQ(*gguf->Find("i8"), MetadataValue(std::int64_t{-5}));
  EXPECT_EQ(gguf->GetUint("u16"), 40'000U);
  EXPECT_EQ(*gguf->Find("i16"), MetadataValue(std::int64_t{-300}));
  EXPECT_EQ(gguf->GetUint("u32"), 4'000'000'000U);
  EXPECT_EQ(gguf->GetUint("i32"), 7U);
  EXPECT_EQ(gguf->GetFloat("f32"), 0.5);
  EXPECT_EQ(gguf->GetBool("yes"), true);
  EXPECT_EQ(gguf->GetUint("u64"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(*gguf->Find("i64"), MetadataValue(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(gguf->GetFloat("f64"), 0.1);
  EXPECT_THAT(*gguf->GetStrings("strings"), ElementsAre("a", "", "\xc3\xa9"));
  EXPECT_THAT(*gguf->GetInts("ints"), ElementsAre(1, -2, 3));
  EXPECT_THAT(*gguf->GetInts("uints"), ElementsAre(1, 65'535));
  EXPECT_THAT(*gguf->GetFloats("floats"), ElementsAre(0.25, -1.5));
  EXPECT_EQ(*gguf->Find("bools"), MetadataValue(std::vector<bool>{false, true}));
  EXPECT_TRUE(gguf->GetInts("empty")->empty());
}

TEST(GgufTest, TensorsAreWhereTheTableSays) {
  TestGguf file = Sample();
  const std::vector<std::byte> bytes = file.Bytes();
  const auto gguf = ParseGguf("m.gguf", bytes);
  ASSERT_TRUE(gguf.has_value()) << gguf.error().Message();
  ASSERT_EQ(gguf->tensors().size(), 2U);
  const ModelTensor* second = gguf->FindTensor("second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->type, GgmlType::kF32);
  EXPECT_THAT(second->dims, ElementsAre(8, 2));
  EXPECT_EQ(second->elements, 16);
  EXPECT_EQ(second->bytes, 64U);
  EXPECT_EQ(second->file, 0);
  EXPECT_EQ(second->offset, file.data_start + 32);
  EXPECT_EQ(second->data.data(), bytes.data() + second->offset);
  EXPECT_EQ(second->data.size(), 64U);
  EXPECT_EQ(gguf->FindTensor("third"), nullptr);
  EXPECT_THAT(gguf->files(), ElementsAre("m.gguf"));
}

TEST(GgufTest, VersionTwoAndOtherAlignmentsAreRead) {
  TestGguf file;
  file.version = 2;
  file.alignment = 4096;
  file.Add("general.alignment", Type::kUint32, std::uint32_t{4096});
  file.AddF32("a", {1});
  file.AddF32("b", {1});
  const std::vector<std::byte> bytes = file.Bytes();
  const auto gguf = ParseGguf("m.gguf", bytes);
  ASSERT_TRUE(gguf.has_value()) << gguf.error().Message();
  EXPECT_EQ(gguf->gguf_version(), 2U);
  EXPECT_EQ(gguf->tensors()[1].offset, 8192U);
}

TEST(GgufTest, AFileWithoutTensorsNeedsNoDataSection) {
  TestGguf file;
  file.AddString("tokenizer.ggml.model", "gpt2");
  std::vector<std::byte> bytes = file.Bytes();
  bytes.resize(file.table_end);
  const auto gguf = ParseGguf("vocab.gguf", bytes);
  ASSERT_TRUE(gguf.has_value()) << gguf.error().Message();
  EXPECT_TRUE(gguf->tensors().empty());
}

class GgufAccessTest : public ::testing::Test {
 protected:
  template <typename T>
  static std::string Why(const Result<T>& result) {
    if (result.has_value()) return "no error";
    EXPECT_EQ(result.error().kind, ErrorKind::kInput);
    EXPECT_EQ(result.error().what, "m.gguf");
    return result.error().where + ": " + result.error().why;
  }

  std::vector<std::byte> bytes_ = Sample().Bytes();
  Result<ModelFile> gguf_ = ParseGguf("m.gguf", bytes_);
};

TEST_F(GgufAccessTest, MissingKeysAreNamed) {
  EXPECT_EQ(Why(gguf_->GetUint("none")), "none: the key is missing");
  EXPECT_EQ(Why(gguf_->GetFloat("none")), "none: the key is missing");
  EXPECT_EQ(Why(gguf_->GetBool("none")), "none: the key is missing");
  EXPECT_EQ(Why(gguf_->GetString("none")), "none: the key is missing");
  EXPECT_EQ(Why(gguf_->GetStrings("none")), "none: the key is missing");
  EXPECT_EQ(Why(gguf_->GetInts("none")), "none: the key is missing");
  EXPECT_EQ(Why(gguf_->GetFloats("none")), "none: the key is missing");
}

TEST_F(GgufAccessTest, WrongTypesAreNamedWithTheValue) {
  EXPECT_EQ(Why(gguf_->GetUint("i8")), "i8: is the integer -5; an integer of at least 0 is needed");
  EXPECT_EQ(Why(gguf_->GetUint("f32")),
            "f32: is the float 0.5; an integer of at least 0 is needed");
  EXPECT_EQ(Why(gguf_->GetFloat("u8")), "u8: is the integer 200; a finite float is needed");
  EXPECT_EQ(Why(gguf_->GetBool("u8")), "u8: is the integer 200; a bool is needed");
  EXPECT_EQ(Why(gguf_->GetString("yes")), "yes: is the bool true; a string is needed");
  EXPECT_EQ(Why(gguf_->GetStrings("ints")),
            "ints: is an array of 3 integers; an array of strings is needed");
  EXPECT_EQ(Why(gguf_->GetInts("floats")),
            "floats: is an array of 2 floats; an array of integers is needed");
  EXPECT_EQ(Why(gguf_->GetInts("u8")), "u8: is the integer 200; an array of integers is needed");
  EXPECT_EQ(Why(gguf_->GetInts("huge_uints")),
            "huge_uints: [1] is 9223372036854775808, more than a signed integer holds");
  EXPECT_EQ(Why(gguf_->GetFloats("bools")),
            "bools: is an array of 2 bools; an array of floats is needed");
}

TEST_F(GgufAccessTest, FallbacksServeOnlyWhereTheKeyIsMissing) {
  EXPECT_EQ(gguf_->GetUintOr("none", 9), 9U);
  EXPECT_EQ(gguf_->GetUintOr("u8", 9), 200U);
  EXPECT_FALSE(gguf_->GetUintOr("f32", 9).has_value());
  EXPECT_EQ(gguf_->GetFloatOr("none", 2.5), 2.5);
  EXPECT_FALSE(gguf_->GetFloatOr("u8", 2.5).has_value());
  EXPECT_EQ(gguf_->GetBoolOr("none", true), true);
  EXPECT_FALSE(gguf_->GetBoolOr("u8", true).has_value());
  EXPECT_EQ(gguf_->GetStringOr("none", "x"), "x");
  EXPECT_FALSE(gguf_->GetStringOr("u8", "x").has_value());
}

TEST(GgufTest, AFloatThatIsNotFiniteIsRefusedWhenAskedFor) {
  TestGguf file;
  file.Add("rope.freq_base", Type::kFloat32, std::numeric_limits<float>::quiet_NaN());
  const std::vector<std::byte> bytes = file.Bytes();
  const auto gguf = ParseGguf("m.gguf", bytes);
  ASSERT_TRUE(gguf.has_value());
  const auto value = gguf->GetFloat("rope.freq_base");
  ASSERT_FALSE(value.has_value());
  EXPECT_THAT(value.error().why, HasSubstr("nan"));
}

}  // namespace
}  // namespace folio
