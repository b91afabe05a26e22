// Writes GGUF bytes for tests: every field can be given a value that no good writer would.
#ifndef FOLIO_FORMATS_GGUF_TEST_WRITER_H_
#define FOLIO_FORMATS_GGUF_TEST_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "formats/gguf_value.h"

namespace folio::testing {

// Little-endian bytes, appended.
class ByteWriter {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  ByteWriter& Put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    return *this;
  }
  ByteWriter& Raw(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  ByteWriter& String(std::string_view text) {
    return Put(static_cast<std::uint64_t>(text.size())).Raw(text);
  }
  ByteWriter& Type(GgufValueType type) { return Put(static_cast<std::uint32_t>(type)); }
  void Append(const std::vector<std::byte>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct TestTensor {
  std::string name;
  std::vector<std::uint64_t> dims;
  std::uint32_t type = 0;  // F32
  std::uint64_t offset = 0;
};

struct TestGguf {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  std::uint64_t data_bytes = 0;
  std::vector<TestTensor> tensors;
  std::optional<std::uint64_t> tensor_count;  // where the header should lie
  std::optional<std::uint64_t> pair_count;

  // A pair whose value (type included) is in `value`.
  void Add(std::string_view key, ByteWriter value) {
    pairs_.String(key).Append(value.bytes());
    ++pairs_written_;
  }
  template <typename T>
  void Add(std::string_view key, GgufValueType type, T value) {
    Add(key, ByteWriter().Type(type).Put(value));
  }
  void AddString(std::string_view key, std::string_view value) {
    Add(key, ByteWriter().Type(GgufValueType::kString).String(value));
  }
  void AddStrings(std::string_view key, const std::vector<std::string>& values) {
    ByteWriter writer = ArrayHead(GgufValueType::kString, values.size());
    for (const std::string& value : values) writer.String(value);
    Add(key, std::move(writer));
  }
  template <typename T>
  void AddArray(std::string_view key, GgufValueType type, const std::vector<T>& values) {
    ByteWriter writer = ArrayHead(type, values.size());
    for (const T value : values) writer.Put(value);
    Add(key, std::move(writer));
  }
  static ByteWriter ArrayHead(GgufValueType type, std::uint64_t count) {
    return ByteWriter().Type(GgufValueType::kArray).Type(type).Put(count);
  }

  // Adds an F32 tensor behind those there are.
  void AddF32(std::string_view name, std::vector<std::uint64_t> dims) {
    std::uint64_t bytes = 4;
    for (const std::uint64_t dim : dims) bytes *= dim;
    tensors.push_back({std::string(name), std::move(dims), 0, data_bytes});
    data_bytes += (bytes + alignment - 1) / alignment * alignment;
  }

  std::vector<std::byte> Bytes() {
    ByteWriter out;
    out.Raw(magic).Put(version);
    out.Put(tensor_count.value_or(tensors.size())).Put(pair_count.value_or(pairs_written_));
    out.Append(pairs_.bytes());
    for (const TestTensor& tensor : tensors) {
      out.String(tensor.name).Put(static_cast<std::uint32_t>(tensor.dims.size()));
      for (const std::uint64_t dim : tensor.dims) out.Put(dim);
      out.Put(tensor.type).Put(tensor.offset);
    }
    table_end = out.bytes().size();
    while (out.bytes().size() % alignment != 0) out.Put(std::uint8_t{0});
    data_start = out.bytes().size();
    for (std::uint64_t i = 0; i < data_bytes; ++i) out.Put(static_cast<std::uint8_t>(i));
    return std::move(out.bytes());
  }

  // Set by Bytes().
  std::size_t table_end = 0;
  std::size_t data_start = 0;

 private:
  ByteWriter pairs_;
  std::uint64_t pairs_written_ = 0;
};

}  // namespace folio::testing

#endif  // FOLIO_FORMATS_GGUF_TEST_WRITER_H_
