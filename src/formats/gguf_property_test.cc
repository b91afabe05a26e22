// Random damage to a good file: the reader never crashes, and what it accepts lies in the file.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_test_writer.h"

namespace folio {
namespace {

using ::folio::testing::TestGguf;
using Type = GgufValueType;
using Bytes = std::vector<std::byte>;

Bytes GoodFile() {
  TestGguf file;
  file.AddString("general.architecture", "llama");
  file.Add("general.alignment", Type::kUint32, std::uint32_t{32});
  file.Add("llama.block_count", Type::kUint32, std::uint32_t{2});
  file.AddStrings("tokenizer.ggml.tokens", {"a", "b", "ab"});
  file.AddArray<float>("tokenizer.ggml.scores", Type::kFloat32, {0, -1, -2});
  file.AddArray<std::uint8_t>("flags", Type::kBool, {0, 1});
  file.AddF32("token_embd.weight", {8, 3});
  file.AddF32("output_norm.weight", {8});
  file.tensors.push_back({"blk.0.attn_q.weight", {32, 2}, 2, file.data_bytes});  // Q4_0, 36 bytes
  file.data_bytes += 36;
  return file.Bytes();
}

void Overwrite(Bytes& bytes, std::size_t at, const void* value, std::size_t size) {
  std::memcpy(bytes.data() + at, value, std::min(size, bytes.size() - at));
}

// One random change: a byte, a number that often breaks arithmetic, a cut, an insertion, or a run
// copied elsewhere.
void Damage(Bytes& bytes) {
  if (bytes.empty()) return;
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  switch (*rc::gen::inRange(0, 6)) {
    case 0: {
      bytes[at] = static_cast<std::byte>(*rc::gen::arbitrary<std::uint8_t>());
      break;
    }
    case 1: {
      const auto value = *rc::gen::element<std::uint64_t>(
          0, 1, 2, 3, 31, 32, 33, 64, 0x7fffffff, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
          0x8000000000000000, 0xffffffffffffffe0, 0xffffffffffffffff);
      Overwrite(bytes, at, &value, sizeof(value));
      break;
    }
    case 2: {
      const auto value = *rc::gen::inRange<std::uint32_t>(0, 64);
      Overwrite(bytes, at, &value, sizeof(value));
      break;
    }
    case 3: {
      bytes.resize(at);
      break;
    }
    case 4: {
      const auto count = *rc::gen::inRange<std::size_t>(1, 16);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, std::byte{0});
      break;
    }
    default: {
      const auto from = *rc::gen::inRange<std::size_t>(0, bytes.size());
      const auto size = std::min(bytes.size() - from, *rc::gen::inRange<std::size_t>(1, 64));
      const Bytes run(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                      bytes.begin() + static_cast<std::ptrdiff_t>(from + size));
      Overwrite(bytes, at, run.data(), run.size());
    }
  }
}

Bytes DamagedCopy(const Bytes& good) {
  Bytes bytes = good;
  const int changes = *rc::gen::inRange(1, 4);
  for (int i = 0; i < changes; ++i) Damage(bytes);
  return {bytes.begin(), bytes.end()};  // no spare capacity to read by mistake
}

bool IsInside(std::string_view text, const Bytes& bytes) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  return text.empty() ||
         (text.data() >= begin && text.data() + text.size() <= begin + bytes.size());
}

void CheckTensor(const ModelTensor& tensor, const Bytes& bytes) {
  RC_ASSERT(IsInside(tensor.name, bytes));
  RC_ASSERT(!tensor.dims.empty());
  std::int64_t elements = 1;
  for (const std::int64_t dim : tensor.dims) elements *= dim;
  const GgmlTypeInfo& info = TypeInfo(tensor.type);
  RC_ASSERT(tensor.elements == elements);
  RC_ASSERT(tensor.dims[0] % info.block_elements == 0);
  RC_ASSERT(tensor.bytes ==
            static_cast<std::size_t>(elements / info.block_elements * info.block_bytes));
  RC_ASSERT(tensor.data.data() == bytes.data() + tensor.offset);
  RC_ASSERT(tensor.data.size() == tensor.bytes);
  RC_ASSERT(tensor.offset <= bytes.size() && tensor.bytes <= bytes.size() - tensor.offset);
}

void CheckAccepted(const ModelFile& gguf, const Bytes& bytes) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const ModelTensor& tensor : gguf.tensors()) {
    CheckTensor(tensor, bytes);
    RC_ASSERT(gguf.FindTensor(tensor.name) == &tensor);
    ranges.emplace_back(tensor.offset, tensor.offset + tensor.bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    RC_ASSERT(ranges[i - 1].second <= ranges[i].first);
  }
  for (const auto& [key, value] : gguf.metadata()) {
    if (const auto* text = std::get_if<std::string_view>(&value)) RC_ASSERT(IsInside(*text, bytes));
    const auto* list = std::get_if<std::vector<std::string_view>>(&value);
    if (list == nullptr) continue;
    for (const std::string_view text : *list) RC_ASSERT(IsInside(text, bytes));
  }
}

void CheckRefused(const Error& error) {
  RC_ASSERT(error.kind == ErrorKind::kInput);
  RC_ASSERT(error.what == "damaged.gguf");
  RC_ASSERT(!error.where.empty());
  RC_ASSERT(!error.why.empty());
}

TEST(GgufPropertyTest, DamageIsRefusedOrHarmless) {
  const Bytes good = GoodFile();
  ASSERT_TRUE(ParseGguf("good.gguf", good).has_value());
  std::size_t accepted = 0;
  std::size_t refused = 0;
  constexpr int kFilesPerCase = 200;
  EXPECT_TRUE(rc::check("accepted files are sound", [&] {
    for (int i = 0; i < kFilesPerCase; ++i) {
      const Bytes bytes = DamagedCopy(good);
      const auto gguf = ParseGguf("damaged.gguf", bytes);
      if (gguf.has_value()) {
        ++accepted;
        CheckAccepted(*gguf, bytes);
      } else {
        ++refused;
        CheckRefused(gguf.error());
      }
    }
  }));
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace folio
