#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "formats/safetensors_test_writer.h"

namespace folio {
namespace {

using ::folio::testing::TestSafetensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TestSafetensors TwoTensors() {
  TestSafetensors file;
  file.AddMatrix("a.weight", 2, 3);
  file.Add("b", "BF16", "[4]", 8);
  return file;
}

std::string RefusalOf(const std::vector<std::byte>& bytes) {
  const auto tensors = ReadSafetensors("m.safetensors", bytes);
  if (tensors.has_value()) return "accepted";
  EXPECT_EQ(tensors.error().kind, ErrorKind::kInput);
  EXPECT_EQ(tensors.error().what, "m.safetensors");
  return tensors.error().where + ": " + tensors.error().why;
}

std::string RefusalOfHeader(std::string_view header, std::size_t data_bytes = 0) {
  TestSafetensors file;
  file.data_bytes = data_bytes;
  return RefusalOf(file.Raw(header));
}

TEST(Safetensors, TensorsHaveTheirShapeTypeAndBytes) {
  const std::vector<std::byte> bytes = TwoTensors().Bytes();
  const auto tensors = ReadSafetensors("m.safetensors", bytes);
  ASSERT_TRUE(tensors.has_value()) << tensors.error().Message();
  ASSERT_EQ(tensors->size(), 2U);
  const SafetensorsTensor& first = (*tensors)[0];
  EXPECT_EQ(first.name, "a.weight");
  EXPECT_EQ(first.type, GgmlType::kF32);
  EXPECT_THAT(first.shape, ElementsAre(2, 3));
  EXPECT_EQ(first.elements, 6);
  EXPECT_EQ(first.data.size(), 24U);
  EXPECT_EQ(first.data[1], std::byte{1});
  const SafetensorsTensor& second = (*tensors)[1];
  EXPECT_EQ(second.type, GgmlType::kBF16);
  EXPECT_EQ(second.data.data(), bytes.data() + second.offset);
  EXPECT_EQ(second.data[0], std::byte{24});
}

TEST(Safetensors, MetadataEmptyTensorsAndOtherTypesAreTaken) {
  EXPECT_EQ(RefusalOfHeader("{}"), "accepted");
  EXPECT_EQ(RefusalOfHeader(R"({"__metadata__": {"format": "pt", "k": "v"}}   )"), "accepted");
  TestSafetensors file;
  file.Add("empty", "I64", "[0, 5]", 0);
  file.Add("scalar", "U8", "[]", 1);
  const std::vector<std::byte> bytes = file.Bytes();
  const auto tensors = ReadSafetensors("m.safetensors", bytes);
  ASSERT_TRUE(tensors.has_value()) << tensors.error().Message();
  EXPECT_FALSE((*tensors)[1].type.has_value());
  EXPECT_EQ((*tensors)[1].dtype, "U8");
}

TEST(Safetensors, HeaderLengthsBeyondTheFileAreRefused) {
  EXPECT_THAT(RefusalOf({}), HasSubstr("header length: the file has only 0 bytes"));
  EXPECT_THAT(RefusalOf(std::vector<std::byte>(7)), HasSubstr("only 7 bytes"));
  TestSafetensors file = TwoTensors();
  for (const std::uint64_t length :
       {~std::uint64_t{0}, std::uint64_t{1} << 32, std::uint64_t{1} << 63, std::uint64_t{1000}}) {
    file.header_length = length;
    EXPECT_THAT(RefusalOf(file.Bytes()), HasSubstr("header length: is " + std::to_string(length)));
  }
  std::vector<std::byte> pointer;
  for (const char c : std::string("version https://git-lfs.github.com/spec/v1"))
    pointer.push_back(static_cast<std::byte>(c));
  EXPECT_THAT(RefusalOf(pointer), HasSubstr("Git LFS"));
}

TEST(Safetensors, TextThatIsNoHeaderIsRefused) {
  for (const char* header : {"", "[]", "{", "nonsense", "{\"a\":", "{\"a\": 1}", "{} {}", "\xff",
                             "{\"a\": []}", "{\"a\": {\"dtype\": 3}}", "{\"a\": null}",
                             "{\"__metadata__\": 3}", "{\"__metadata__\": {\"a\": {}}}"}) {
    EXPECT_NE(RefusalOfHeader(header), "accepted") << header;
  }
  const std::string deep = std::string(50'000, '[');
  EXPECT_NE(RefusalOfHeader(deep), "accepted");
}

TEST(Safetensors, EntriesThatAreNotWholeAreRefusedByName) {
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype": "F32", "shape": []}})"),
              HasSubstr("tensor a: lacks"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[1],"data_offsets":[0]}})"),
              HasSubstr("tensor a: data_offsets are not two"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})"),
              HasSubstr("data_offsets has more than 2"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","dtype":"F32"}})"), HasSubstr("dtype twice"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"strides": [1]}})"), HasSubstr("\"strides\""));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})"),
              HasSubstr("the number -1"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})"),
              HasSubstr("the number 1.5"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4),
              HasSubstr("\"F31\""));
  EXPECT_THAT(RefusalOfHeader("{\"a\\nb\": {}}"), HasSubstr("printable"));
  EXPECT_THAT(RefusalOfHeader("{\"" + std::string(300, 'a') + "\": {}}"), HasSubstr("256 bytes"));
}

TEST(Safetensors, ShapesWhoseProductOverflowsAreRefused) {
  for (const char* shape :
       {"[4294967296,4294967296]", "[9223372036854775808]", "[4611686018427387904,2]",
        "[2305843009213693952]", "[0,9223372036854775807,3]"}) {
    TestSafetensors file;
    file.Add("a", "F32", shape, 4);
    EXPECT_THAT(RefusalOf(file.Bytes()), HasSubstr("tensor a")) << shape;
  }
}

TEST(Safetensors, OffsetsMustGiveTheShapesBytesInsideTheFile) {
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor a: data_offsets are 0 and 8, but its shape has 4 bytes"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
              HasSubstr("data_offsets are 4 and 0"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7),
              HasSubstr("ends at 8, behind the data's 7 bytes"));
  EXPECT_THAT(RefusalOfHeader(R"({"a": {"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1),
              HasSubstr("whole number of bytes"));
}

TEST(Safetensors, OverlapsHolesAndDataOfNobodyAreRefused) {
  const std::string first = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)";
  EXPECT_THAT(RefusalOfHeader(first + R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})", 7),
              HasSubstr("tensor b: begins at 3, inside the one before it"));
  EXPECT_THAT(RefusalOfHeader(first + R"("b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})", 9),
              HasSubstr("tensor b: begins at 5, behind a hole"));
  EXPECT_THAT(RefusalOfHeader(first + R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 9),
              HasSubstr("data: has 9 bytes, the tensors only 8"));
  EXPECT_EQ(RefusalOfHeader(first + R"("b":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8),
            "accepted");
  EXPECT_THAT(RefusalOfHeader(first + R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 8),
              HasSubstr("tensor a: appears twice"));
}

// Any single damage is refused, or leaves every tensor inside the file.
TEST(SafetensorsProperty, DamagedFilesAreRefusedOrWhole) {
  const std::vector<std::byte> good = TwoTensors().Bytes();
  rc::check([&] {
    std::vector<std::byte> bytes = good;
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] = static_cast<std::byte>(*rc::gen::inRange(0, 256));
    bytes.resize(*rc::gen::inRange<std::size_t>(0, 2) == 0
                     ? bytes.size()
                     : *rc::gen::inRange<std::size_t>(0, bytes.size()));
    const auto tensors = ReadSafetensors("m", bytes);
    if (!tensors) {
      RC_ASSERT(tensors.error().kind == ErrorKind::kInput);
      return;
    }
    for (const SafetensorsTensor& tensor : *tensors) {
      RC_ASSERT(tensor.offset + tensor.data.size() <= bytes.size());
      RC_ASSERT(tensor.data.data() == bytes.data() + tensor.offset);
    }
  });
}

}  // namespace
}  // namespace folio
