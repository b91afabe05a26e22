// Broken files are refused, each with the field and the value in the error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_metadata.h"
#include "formats/gguf_tensor_table.h"
#include "formats/gguf_test_writer.h"

namespace folio {
namespace {

using ::folio::testing::ByteWriter;
using ::folio::testing::TestGguf;
using ::testing::HasSubstr;
using ::testing::Not;
using Type = GgufValueType;

constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();

std::string Refusal(std::span<const std::byte> bytes) {
  const auto gguf = ParseGguf("m.gguf", bytes);
  if (gguf.has_value()) return "accepted";
  EXPECT_EQ(gguf.error().kind, ErrorKind::kInput);
  EXPECT_EQ(gguf.error().what, "m.gguf");
  return gguf.error().where + ": " + gguf.error().why;
}

TestGguf TwoTensors() {
  TestGguf file;
  file.AddString("general.architecture", "llama");
  file.AddF32("a", {8});
  file.AddF32("b", {8, 4});
  return file;
}

// The refusal of a good file after `change`.
std::string RefusalOf(const std::function<void(TestGguf&)>& change) {
  TestGguf file = TwoTensors();
  change(file);
  return Refusal(file.Bytes());
}

TEST(GgufRefusalTest, TheUnchangedFileIsAccepted) {
  EXPECT_EQ(RefusalOf([](TestGguf&) {}), "accepted");
}

TEST(GgufRefusalTest, EveryTruncationIsRefused) {
  TestGguf file = TwoTensors();
  const std::vector<std::byte> bytes = file.Bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // An exact copy, so that the address sanitizer sees a read past the end.
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(Refusal(cut), Not("accepted")) << size << " bytes";
  }
}

TEST(GgufRefusalTest, OtherKindsOfFileAreNamed) {
  EXPECT_EQ(Refusal({}), "header: the file has 0 bytes, fewer than the 24 of a GGUF header");
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.magic = "abcd"; }),
              HasSubstr("magic: the file begins with \"abcd\""));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.magic = "vers"; }), HasSubstr("Git LFS"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.magic = "PK\3\4"; }), HasSubstr("ZIP"));
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.version = 1; }),
            "version: 1; Folio reads versions 2 and 3");
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.version = 4; }),
            "version: 4; Folio reads versions 2 and 3");
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.version = 0x03000000; }),
              HasSubstr("a big-endian file (version 3)"));
}

TEST(GgufRefusalTest, AbsurdCountsAreRefusedBeforeAllocation) {
  for (const std::uint64_t count : {kHuge, std::uint64_t{1} << 60, std::uint64_t{1} << 32}) {
    const std::string number = std::to_string(count);
    EXPECT_THAT(RefusalOf([=](TestGguf& f) { f.tensor_count = count; }),
                HasSubstr("tensor count: " + number));
    EXPECT_THAT(RefusalOf([=](TestGguf& f) { f.pair_count = count; }),
                HasSubstr("metadata count: " + number));
    EXPECT_THAT(
        RefusalOf([=](TestGguf& f) { f.Add("list", TestGguf::ArrayHead(Type::kUint64, count)); }),
        HasSubstr("list: an array of " + number));
  }
}

TEST(GgufRefusalTest, CountsThatDisagreeWithTheFileAreRefused) {
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.pair_count = 0; }), Not("accepted"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.pair_count = 2; }), Not("accepted"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.tensor_count = 3; }), Not("accepted"));
}

TEST(GgufRefusalTest, ArraysArePricedByTheirElementsBeforeTheyAreRead) {
  for (const auto& [type, bytes] : {std::pair{Type::kUint8, 1},
                                    {Type::kInt16, 2},
                                    {Type::kFloat32, 4},
                                    {Type::kFloat64, 8},
                                    {Type::kBool, 1},
                                    {Type::kString, 8}}) {
    EXPECT_THAT(RefusalOf([element = type](TestGguf& f) {
                  f.Add("list", TestGguf::ArrayHead(element, 1'000'000));
                }),
                HasSubstr("list: an array of 1000000 elements"))
        << bytes;
  }
}

TEST(GgufRefusalTest, AllArraysTogetherAreBounded) {
  TestGguf file;
  const std::vector<std::uint8_t> half(kMaxGgufArrayElements / 2 + 1);
  file.AddArray("one", Type::kUint8, half);
  EXPECT_EQ(Refusal(file.Bytes()), "accepted");
  file.AddArray("two", Type::kUint8, half);
  EXPECT_THAT(Refusal(file.Bytes()), HasSubstr("two: an array of 8388609 elements"));
}

TEST(GgufRefusalTest, StringsThatRunPastTheEndAreRefused) {
  for (const std::uint64_t length : {kHuge, kHuge - 7, std::uint64_t{1} << 40}) {
    EXPECT_THAT(RefusalOf([=](TestGguf& f) {
                  f.Add("text", ByteWriter().Type(Type::kString).Put(length));
                }),
                HasSubstr("text: a string of " + std::to_string(length)));
    EXPECT_THAT(RefusalOf([=](TestGguf& f) {
                  ByteWriter list = TestGguf::ArrayHead(Type::kString, 2);
                  f.Add("list", list.String("x").Put(length));
                }),
                HasSubstr("list: [1]: a string of " + std::to_string(length)));
  }
}

TEST(GgufRefusalTest, TextThatIsNotUtf8IsRefused) {
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.AddString("text", "ab\xff"); }),
            "text: the string is not UTF-8 at its byte 2");
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.AddStrings("list", {"ok", "\xc3"}); }),
            "list: [1]: the string is not UTF-8 at its byte 0");
}

TEST(GgufRefusalTest, KeysAreCheckedText) {
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.AddString("general.architecture", "again"); }),
            "general.architecture: the key appears twice");
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.AddString("", "x"); }), HasSubstr("metadata[1].key"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.AddString("a\nb", "x"); }),
              HasSubstr("not printable ASCII"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.AddString("k\xff", "x"); }),
              HasSubstr("\"k\\xff\" is not printable ASCII"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.AddString(std::string(1025, 'k'), "x"); }),
              HasSubstr("is 1025 bytes long"));
}

TEST(GgufRefusalTest, ValueTypesOutsideTheFormatAreRefused) {
  const auto unknown = static_cast<Type>(13);
  EXPECT_EQ(RefusalOf([=](TestGguf& f) { f.Add("k", unknown, std::uint64_t{0}); }),
            "k: value type 13 is none of GGUF's");
  EXPECT_EQ(RefusalOf([=](TestGguf& f) { f.AddArray<std::uint8_t>("k", unknown, {1}); }),
            "k: array element type 13 is none of GGUF's");
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.AddArray<std::uint64_t>("k", Type::kArray, {1}); }),
            "k: an array of arrays, which Folio doesn't read");
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.Add("k", Type::kBool, std::uint8_t{2}); }),
            "k: bool byte 2 is neither 0 nor 1");
  EXPECT_EQ(RefusalOf([](TestGguf& f) { f.AddArray<std::uint8_t>("k", Type::kBool, {0, 9}); }),
            "k: [1]: bool byte 9 is neither 0 nor 1");
}

TEST(GgufRefusalTest, AlignmentsThatAreNoPowerOfTwoAreRefused) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 24U, 33U, 0xffffffffU}) {
    EXPECT_EQ(RefusalOf([=](TestGguf& f) { f.Add("general.alignment", Type::kUint32, alignment); }),
              "general.alignment: is the integer " + std::to_string(alignment) +
                  "; a power of two of at least 8 is needed");
  }
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.AddString("general.alignment", "32"); }),
              HasSubstr("general.alignment: is the string \"32\""));
}

TEST(GgufRefusalTest, AnAlignmentBeyondTheFileIsRefused) {
  EXPECT_THAT(RefusalOf([](TestGguf& f) {
                f.Add("general.alignment", Type::kUint64, std::uint64_t{1} << 63);
              }),
              HasSubstr("run past the end of the file"));
}

// The refusal after a change to tensor "b", F32 [8, 4] behind a's 32 bytes.
std::string TensorRefusal(const std::function<void(testing::TestTensor&)>& change) {
  return RefusalOf([&](TestGguf& f) { change(f.tensors[1]); });
}

TEST(GgufRefusalTest, TensorNamesAreCheckedText) {
  EXPECT_EQ(TensorRefusal([](auto& t) { t.name = "a"; }), "tensor a: the name appears twice");
  EXPECT_THAT(TensorRefusal([](auto& t) { t.name = ""; }), HasSubstr("tensors[1]"));
  EXPECT_THAT(TensorRefusal([](auto& t) { t.name = "\x1b[2J"; }), HasSubstr("not printable ASCII"));
  EXPECT_THAT(TensorRefusal([](auto& t) { t.name = std::string(257, 'n'); }),
              HasSubstr("257 bytes long"));
}

TEST(GgufRefusalTest, DimensionsAreChecked) {
  EXPECT_EQ(TensorRefusal([](auto& t) { t.dims = {}; }),
            "tensor b: 0 dimensions; 1 to 4 are allowed");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.dims = {1, 1, 1, 1, 1}; }),
            "tensor b: 5 dimensions; 1 to 4 are allowed");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.dims = {8, 0}; }), "tensor b: dimension 1 is 0");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.dims = {kHuge}; }),
            "tensor b: dimension 0 is 18446744073709551615: too many elements");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.dims = {1ULL << 32, 1ULL << 31}; }),
            "tensor b: dimension 1 is 2147483648: too many elements");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.dims = {1ULL << 61}; }),
            "tensor b: 2305843009213693952 elements of F32 are too many bytes");
}

TEST(GgufRefusalTest, TypesAreNamedWhereTheyAreNotFolios) {
  EXPECT_EQ(TensorRefusal([](auto& t) { t.type = 16; }),
            "tensor b: type 16 (IQ2_XXS) is not one that Folio reads");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.type = 1000; }),
            "tensor b: type 1000 is not one that Folio reads");
  EXPECT_EQ(TensorRefusal([](auto& t) { t.type = 12; }),
            "tensor b: row length 8 is not a multiple of Q4_K's block of 256");
}

TEST(GgufRefusalTest, DataOutsideTheFileIsRefused) {
  EXPECT_THAT(TensorRefusal([](auto& t) { t.dims = {8, 5}; }),
              HasSubstr("tensor b: 160 bytes at offset 32"));
  EXPECT_THAT(TensorRefusal([](auto& t) { t.offset = 1ULL << 40; }),
              HasSubstr("run past the end of the file"));
  EXPECT_THAT(TensorRefusal([](auto& t) { t.offset = kHuge - 31; }),
              HasSubstr("run past the end of the file"));
  EXPECT_EQ(TensorRefusal([](auto& t) { t.offset = 33; }),
            "tensor b: offset 33 is not a multiple of the alignment 32");
}

TEST(GgufRefusalTest, TensorsThatShareBytesAreRefused) {
  EXPECT_THAT(TensorRefusal([](auto& t) { t.offset = 0; }),
              HasSubstr("tensor b: its data at byte"));
  EXPECT_THAT(RefusalOf([](TestGguf& f) { f.tensors[0].dims = {9}; }),
              HasSubstr("overlaps tensor a"));
}

}  // namespace
}  // namespace folio
