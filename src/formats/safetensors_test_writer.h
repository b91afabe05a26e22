// Writes safetensors bytes for tests: the header is text that a test may damage.
#ifndef FOLIO_FORMATS_SAFETENSORS_TEST_WRITER_H_
#define FOLIO_FORMATS_SAFETENSORS_TEST_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace folio::testing {

struct TestSafetensors {
  std::string header;
  std::size_t data_bytes = 0;
  std::optional<std::uint64_t> header_length;  // instead of the true one

  // Adds a tensor behind those there are. `shape` is JSON's: "[2, 3]".
  void Add(std::string_view name, std::string_view dtype, std::string_view shape,
           std::size_t bytes) {
    header += header.empty() ? "{" : ",";
    header += "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) +
              "\",\"shape\":" + std::string(shape) + ",\"data_offsets\":[" +
              std::to_string(data_bytes) + "," + std::to_string(data_bytes + bytes) + "]}";
    data_bytes += bytes;
  }
  // An F32 tensor of 4 * rows * columns bytes.
  void AddMatrix(std::string_view name, std::size_t rows, std::size_t columns) {
    Add(name, "F32", "[" + std::to_string(rows) + "," + std::to_string(columns) + "]",
        4 * rows * columns);
  }
  void AddVector(std::string_view name, std::size_t size) {
    Add(name, "F32", "[" + std::to_string(size) + "]", 4 * size);
  }

  std::vector<std::byte> Bytes() const {
    const std::string text = header.empty() ? "{}" : header + (header.ends_with('}') ? "}" : "");
    return Raw(text);
  }
  // With `text` as the whole header.
  std::vector<std::byte> Raw(std::string_view text) const {
    const std::uint64_t length = header_length.value_or(text.size());
    std::vector<std::byte> bytes(8 + text.size() + data_bytes);
    std::memcpy(bytes.data(), &length, 8);
    std::memcpy(bytes.data() + 8, text.data(), text.size());
    for (std::size_t i = 0; i < data_bytes; ++i)
      bytes[8 + text.size() + i] = static_cast<std::byte>(i);
    return bytes;
  }
};

}  // namespace folio::testing

#endif  // FOLIO_FORMATS_SAFETENSORS_TEST_WRITER_H_
