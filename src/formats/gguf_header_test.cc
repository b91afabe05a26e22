#include "formats/gguf_header.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "formats/gguf.h"
#include "formats/gguf_test_writer.h"

namespace folio {
namespace {

using testing::ByteWriter;
using testing::TestGguf;

// A file's first bytes, then zeros to `size`; counts what is read.
class CountedBytes final : public ByteSource {
 public:
  CountedBytes(std::vector<std::byte> bytes, std::uint64_t size, std::uint64_t& read)
      : bytes_(std::move(bytes)), size_(size), read_(read) {}
  std::uint64_t size() const override { return size_; }
  Status Read(std::uint64_t offset, std::span<std::byte> into) const override {
    EXPECT_LE(offset + into.size(), size_);
    read_ += into.size();
    std::ranges::fill(into, std::byte{0});
    if (offset >= bytes_.size()) return {};
    const auto part = std::span(bytes_).subspan(static_cast<std::size_t>(offset));
    std::ranges::copy(part.first(std::min(part.size(), into.size())), into.begin());
    return {};
  }

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t size_;
  std::uint64_t& read_;
};

struct Opened {
  Result<ModelFile> file;
  std::uint64_t read = 0;
};

Opened OpenBytesOf(std::vector<std::byte> bytes, std::uint64_t size) {
  Opened opened{.file = ModelFile()};
  opened.file = OpenGgufHeader("model.gguf", [&](const std::string&) {
    return Result<std::unique_ptr<ByteSource>>(
        std::make_unique<CountedBytes>(bytes, size, opened.read));
  });
  return opened;
}

// As a model of 60 GB has: a vocabulary and merges that dwarf what describes it.
TestGguf LargeModel(std::size_t words) {
  TestGguf gguf;
  gguf.AddString("general.architecture", "llama");
  gguf.Add("llama.block_count", GgufValueType::kUint32, std::uint32_t{80});
  gguf.AddArray("llama.attention.head_count_kv", GgufValueType::kInt32,
                std::vector<std::int32_t>(80, 8));
  std::vector<std::string> tokens(words);
  for (std::size_t i = 0; i < words; ++i) tokens[i] = "token" + std::to_string(i);
  gguf.AddStrings("tokenizer.ggml.tokens", tokens);
  gguf.AddArray("tokenizer.ggml.scores", GgufValueType::kFloat32, std::vector<float>(words, 0.5F));
  gguf.AddString("general.name", "Large");
  constexpr std::uint64_t kOf4GB = std::uint64_t{4} << 30;
  for (std::uint64_t i = 0; i < 15; ++i) {
    gguf.tensors.push_back(
        {"blk." + std::to_string(i) + ".ffn_up.weight", {32768, 32768}, 0, i * kOf4GB});
  }
  return gguf;
}

TEST(GgufHeaderTest, OfALargeFileOnlyTheHeaderIsRead) {
  TestGguf gguf = LargeModel(300'000);
  std::vector<std::byte> bytes = gguf.Bytes();
  const std::uint64_t header = gguf.table_end;
  const std::uint64_t size = gguf.data_start + (std::uint64_t{60} << 30);
  const Opened opened = OpenBytesOf(std::move(bytes), size);
  ASSERT_TRUE(opened.file.has_value()) << opened.file.error().Message();
  EXPECT_GT(header, std::uint64_t{5} << 20);
  EXPECT_LE(opened.read, 2 * header);
  EXPECT_EQ(opened.file->file_bytes(), size);
  EXPECT_EQ(opened.file->tensors().size(), 15U);
  EXPECT_EQ(opened.file->GetStringOr("general.name", "").value_or(""), "Large");
  EXPECT_EQ(opened.file->GetInts("llama.attention.head_count_kv")
                .value_or(std::vector<std::int64_t>{})
                .size(),
            80U);
  EXPECT_EQ(opened.file->Find("tokenizer.ggml.tokens"), nullptr);
  EXPECT_EQ(opened.file->Find("tokenizer.ggml.scores"), nullptr);
  for (const ModelTensor& tensor : opened.file->tensors()) EXPECT_TRUE(tensor.data.empty());
}

TEST(GgufHeaderTest, ASmallFileIsWhatTheReaderOfWholeFilesFinds) {
  TestGguf gguf;
  gguf.AddString("general.architecture", "llama");
  gguf.Add("llama.block_count", GgufValueType::kUint32, std::uint32_t{2});
  gguf.AddF32("rope_freqs.weight", {16});
  gguf.AddF32("token_embd.weight", {32, 100});
  const std::vector<std::byte> bytes = gguf.Bytes();
  const Result<ModelFile> whole = ParseGguf("model.gguf", bytes);
  ASSERT_TRUE(whole.has_value());
  const Opened opened = OpenBytesOf(bytes, bytes.size());
  ASSERT_TRUE(opened.file.has_value()) << opened.file.error().Message();
  ASSERT_EQ(opened.file->tensors().size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(opened.file->tensors()[i].name, whole->tensors()[i].name);
    EXPECT_EQ(opened.file->tensors()[i].bytes, whole->tensors()[i].bytes);
    EXPECT_EQ(opened.file->tensors()[i].offset, whole->tensors()[i].offset);
  }
  // A configuration depends on the one, on the other it doesn't.
  EXPECT_TRUE(std::ranges::equal(opened.file->tensors()[0].data, whole->tensors()[0].data));
  EXPECT_TRUE(opened.file->tensors()[1].data.empty());
}

// Cut anywhere, and with any byte changed, a header is refused or read, and nothing else.
TEST(GgufHeaderTest, ACutFileIsAnErrorThatNamesTheFile) {
  TestGguf gguf = LargeModel(50);
  gguf.tensors.clear();
  gguf.AddF32("token_embd.weight", {32, 100});
  const std::vector<std::byte> bytes = gguf.Bytes();
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const Opened opened =
        OpenBytesOf({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}, size);
    ASSERT_FALSE(opened.file.has_value()) << size;
    EXPECT_EQ(opened.file.error().what, "model.gguf");
    EXPECT_EQ(opened.file.error().kind, ErrorKind::kInput);
  }
}

TEST(GgufHeaderTest, AnArrayThatRunsPastTheFileIsRefusedWithoutReadingItAll) {
  for (const GgufValueType type : {GgufValueType::kString, GgufValueType::kFloat64}) {
    TestGguf gguf;
    gguf.Add("tokenizer.ggml.tokens", TestGguf::ArrayHead(type, 16'000'000));
    std::vector<std::byte> bytes = gguf.Bytes();
    const Opened opened = OpenBytesOf(bytes, bytes.size());
    ASSERT_FALSE(opened.file.has_value());
    EXPECT_NE(opened.file.error().Message().find("tokenizer.ggml.tokens"), std::string::npos);
  }
}

// Zeros are strings without a character: 16 million of them and no end in sight.
TEST(GgufHeaderTest, AHeaderWithoutAnEndIsGivenUp) {
  TestGguf gguf;
  for (int i = 0; i < 2000; ++i) {
    gguf.Add("key" + std::to_string(i), TestGguf::ArrayHead(GgufValueType::kString, 8000));
  }
  gguf.pair_count = 60'000;
  ByteWriter endless;
  endless.Append(gguf.Bytes());
  const Opened opened = OpenBytesOf(endless.bytes(), std::uint64_t{1} << 40);
  ASSERT_FALSE(opened.file.has_value());
  EXPECT_LE(opened.read, kMostGgufHeaderBytes);
}

TEST(GgufHeaderTest, AFolderAndAMissingFileAreRefusedByName) {
  for (const std::string& path : {std::string("/"), std::string("/no/such/file.gguf")}) {
    const Result<ModelFile> file = OpenGgufHeader(path);
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().what, path);
  }
}

}  // namespace
}  // namespace folio
