// Reads a file's bytes, or the first of them, front to back without ever leaving them.
#ifndef FOLIO_FORMATS_BYTE_CURSOR_H_
#define FOLIO_FORMATS_BYTE_CURSOR_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace folio {

static_assert(std::endian::native == std::endian::little, "file formats are read as they lie");

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }
  // Whether so many bytes are left.
  bool Holds(std::uint64_t count) {
    ran_out_ |= count > remaining();
    return count <= remaining();
  }
  // Whether more was ever asked for than there was: of a file's first bytes, that more are needed.
  bool ran_out() const { return ran_out_; }

  // The next value, little-endian; nothing, and no movement, when fewer bytes are left.
  template <typename T>
    requires std::is_arithmetic_v<T>
  std::optional<T> Read() {
    if (!Holds(sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  // The next `count` bytes, as a view; nothing, and no movement, when fewer are left.
  std::optional<std::span<const std::byte>> Take(std::uint64_t count) {
    if (!Holds(count)) return std::nullopt;
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += taken.size();
    return taken;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
  bool ran_out_ = false;
};

inline std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace folio

#endif  // FOLIO_FORMATS_BYTE_CURSOR_H_
