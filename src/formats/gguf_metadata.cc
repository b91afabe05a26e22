#include "formats/gguf_metadata.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "formats/gguf_value.h"
#include "formats/metadata_value.h"
#include "formats/utf8.h"

namespace folio {
namespace {

constexpr std::size_t kSmallestPair = 8 + 1 + 4 + 1;  // key length, key, type, value

// Bytes of a number of a GGUF type; 0 for what is none.
constexpr std::size_t GgufNumberBytes(std::uint32_t type) {
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
      return 2;
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kFloat32:
      return 4;
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
    case GgufValueType::kFloat64:
      return 8;
    default:
      return 0;
  }
}

class MetadataReader {
 public:
  MetadataReader(const std::string& path, GgufArrays arrays, ByteCursor& cursor)
      : path_(path), arrays_(arrays), cursor_(cursor) {}

  Status ReadPair(std::uint64_t index, Metadata& metadata) {
    Result<std::string_view> key = ReadKey(index);
    if (!key) return std::unexpected(std::move(key.error()));
    const auto [pair, is_new] = metadata.try_emplace(std::string(*key));
    key_ = pair->first;
    if (!is_new) return Fail("the key appears twice");
    Result<MetadataValue> value = ReadTypedValue();
    if (!value) return std::unexpected(std::move(value.error()));
    pair->second = *std::move(value);
    if (skipped_) left_out_.push_back(key_);
    return {};
  }

  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  std::unexpected<Error> Fail(std::string why) const {
    return InputError(path_, key_, std::move(why));
  }
  std::unexpected<Error> Truncated(std::string_view what) const {
    return Fail(std::string(what) + " at byte " + std::to_string(cursor_.position()) +
                " runs past the end of the file (" + std::to_string(cursor_.remaining()) +
                " bytes are left)");
  }

  Result<std::string_view> ReadKey(std::uint64_t index) {
    const std::string where = "metadata[" + std::to_string(index) + "].key";
    Result<std::string_view> key = ReadGgufString(path_, where, cursor_);
    if (!key) return key;
    if (key->size() > kMaxGgufKeyBytes) {
      return InputError(path_, where,
                        "is " + std::to_string(key->size()) + " bytes long, more than the " +
                            std::to_string(kMaxGgufKeyBytes) + " allowed");
    }
    if (!IsGgufName(*key)) {
      return InputError(path_, where, QuotedExcerpt(*key) + " is not printable ASCII text");
    }
    return key;
  }

  Result<MetadataValue> ReadTypedValue() {
    skipped_ = false;
    const auto type = cursor_.Read<std::uint32_t>();
    if (!type) return Truncated("the value's type");
    return static_cast<GgufValueType>(*type) == GgufValueType::kArray ? ReadArray()
                                                                      : ReadScalar(*type);
  }

  // A scalar of file type T as the variant's W.
  template <typename T, typename W>
  Result<MetadataValue> Widen() {
    const auto value = cursor_.Read<T>();
    if (!value) return Truncated("the value");
    return MetadataValue(static_cast<W>(*value));
  }

  Result<MetadataValue> ReadScalar(std::uint32_t type) {
    switch (static_cast<GgufValueType>(type)) {
      case GgufValueType::kUint8:
        return Widen<std::uint8_t, std::uint64_t>();
      case GgufValueType::kInt8:
        return Widen<std::int8_t, std::int64_t>();
      case GgufValueType::kUint16:
        return Widen<std::uint16_t, std::uint64_t>();
      case GgufValueType::kInt16:
        return Widen<std::int16_t, std::int64_t>();
      case GgufValueType::kUint32:
        return Widen<std::uint32_t, std::uint64_t>();
      case GgufValueType::kInt32:
        return Widen<std::int32_t, std::int64_t>();
      case GgufValueType::kUint64:
        return Widen<std::uint64_t, std::uint64_t>();
      case GgufValueType::kInt64:
        return Widen<std::int64_t, std::int64_t>();
      case GgufValueType::kFloat32:
        return Widen<float, double>();
      case GgufValueType::kFloat64:
        return Widen<double, double>();
      case GgufValueType::kBool:
        return ReadBool();
      case GgufValueType::kString:
        return ReadText();
      case GgufValueType::kArray:
        break;
    }
    return Fail("value type " + std::to_string(type) + " is none of GGUF's");
  }

  Result<MetadataValue> ReadBool() {
    const auto byte = cursor_.Read<std::uint8_t>();
    if (!byte) return Truncated("the value");
    if (*byte > 1) return Fail("bool byte " + std::to_string(*byte) + " is neither 0 nor 1");
    return MetadataValue(*byte == 1);
  }

  Result<MetadataValue> ReadText() {
    Result<std::string_view> text = ReadGgufString(path_, key_, cursor_);
    if (!text) return std::unexpected(std::move(text.error()));
    const std::size_t valid = ValidUtf8Prefix(*text);
    if (valid != text->size()) {
      return Fail("the string is not UTF-8 at its byte " + std::to_string(valid));
    }
    return MetadataValue(*text);
  }

  Result<MetadataValue> ReadArray() {
    const auto type = cursor_.Read<std::uint32_t>();
    if (!type) return Truncated("the array's element type");
    const auto count = cursor_.Read<std::uint64_t>();
    if (!count) return Truncated("the array's length");
    if (*count > kMaxGgufArrayElements - array_elements_) {
      return Fail("an array of " + std::to_string(*count) + " elements: more than the " +
                  std::to_string(kMaxGgufArrayElements) + " allowed in a file");
    }
    array_elements_ += *count;
    if (arrays_ == GgufArrays::kShortNumbers &&
        (*count > kMostShortNumbers || static_cast<GgufValueType>(*type) == GgufValueType::kString))
      return SkipArray(*type, *count);
    switch (static_cast<GgufValueType>(*type)) {
      case GgufValueType::kUint8:
        return ReadNumbers<std::uint8_t, std::uint64_t>(*count);
      case GgufValueType::kInt8:
        return ReadNumbers<std::int8_t, std::int64_t>(*count);
      case GgufValueType::kUint16:
        return ReadNumbers<std::uint16_t, std::uint64_t>(*count);
      case GgufValueType::kInt16:
        return ReadNumbers<std::int16_t, std::int64_t>(*count);
      case GgufValueType::kUint32:
        return ReadNumbers<std::uint32_t, std::uint64_t>(*count);
      case GgufValueType::kInt32:
        return ReadNumbers<std::int32_t, std::int64_t>(*count);
      case GgufValueType::kUint64:
        return ReadNumbers<std::uint64_t, std::uint64_t>(*count);
      case GgufValueType::kInt64:
        return ReadNumbers<std::int64_t, std::int64_t>(*count);
      case GgufValueType::kFloat32:
        return ReadNumbers<float, double>(*count);
      case GgufValueType::kFloat64:
        return ReadNumbers<double, double>(*count);
      case GgufValueType::kBool:
        return ReadBools(*count);
      case GgufValueType::kString:
        return ReadStrings(*count);
      case GgufValueType::kArray:
        return Fail("an array of arrays, which Folio doesn't read");
    }
    return Fail("array element type " + std::to_string(*type) + " is none of GGUF's");
  }

  // The bytes of `count` elements of `element_bytes` (at least) each. `count` is at most
  // kMaxGgufArrayElements, so the product fits.
  Status CheckFits(std::uint64_t count, std::size_t element_bytes) {
    if (cursor_.Holds(count * element_bytes)) return {};
    return Truncated("an array of " + std::to_string(count) + " elements");
  }

  // Walks over an array without building anything of it, nor looking at its text.
  Result<MetadataValue> SkipArray(std::uint32_t type, std::uint64_t count) {
    skipped_ = true;
    if (static_cast<GgufValueType>(type) != GgufValueType::kString) {
      const std::size_t bytes = GgufNumberBytes(type);
      if (bytes == 0) return Fail("array element type " + std::to_string(type) + " is not read");
      if (Status fits = CheckFits(count, bytes); !fits) return std::unexpected(fits.error());
      cursor_.Take(count * bytes);
      return MetadataValue();
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto length = cursor_.Read<std::uint64_t>();
      if (!length || !cursor_.Take(*length)) return Truncated("[" + std::to_string(i) + "]");
    }
    return MetadataValue();
  }

  template <typename T, typename W>
  Result<MetadataValue> ReadNumbers(std::uint64_t count) {
    if (Status fits = CheckFits(count, sizeof(T)); !fits) {
      return std::unexpected(std::move(fits.error()));
    }
    const auto bytes = *cursor_.Take(count * sizeof(T));
    std::vector<W> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<W>(value);
    }
    return MetadataValue(std::move(values));
  }

  Result<MetadataValue> ReadBools(std::uint64_t count) {
    if (Status fits = CheckFits(count, 1); !fits) return std::unexpected(std::move(fits.error()));
    const auto bytes = *cursor_.Take(count);
    std::vector<bool> values(bytes.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(bytes[i]);
      if (byte > 1) {
        return Fail("[" + std::to_string(i) + "]: bool byte " + std::to_string(byte) +
                    " is neither 0 nor 1");
      }
      values[i] = byte == 1;
    }
    return MetadataValue(std::move(values));
  }

  Result<MetadataValue> ReadStrings(std::uint64_t count) {
    if (Status fits = CheckFits(count, sizeof(std::uint64_t)); !fits) {
      return std::unexpected(std::move(fits.error()));
    }
    std::vector<std::string_view> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto length = cursor_.Read<std::uint64_t>();
      if (!length) return Truncated("[" + std::to_string(i) + "]: the string's length");
      const auto bytes = cursor_.Take(*length);
      if (!bytes) {
        return Truncated("[" + std::to_string(i) + "]: a string of " + std::to_string(*length) +
                         " bytes");
      }
      values[i] = AsText(*bytes);
      if (!IsValidUtf8(values[i])) {
        return Fail("[" + std::to_string(i) + "]: the string is not UTF-8 at its byte " +
                    std::to_string(ValidUtf8Prefix(values[i])));
      }
    }
    return MetadataValue(std::move(values));
  }

  const std::string& path_;
  GgufArrays arrays_;
  ByteCursor& cursor_;
  std::string key_;
  bool skipped_ = false;  // the value that was just read
  std::vector<std::string> left_out_;
  std::uint64_t array_elements_ = 0;
};

}  // namespace

Result<std::string_view> ReadGgufString(const std::string& path, const std::string& where,
                                        ByteCursor& cursor) {
  const std::size_t start = cursor.position();
  const auto length = cursor.Read<std::uint64_t>();
  if (!length) {
    return InputError(path, where,
                      "the file ends in the string's length at byte " + std::to_string(start));
  }
  const auto bytes = cursor.Take(*length);
  if (!bytes) {
    return InputError(path, where,
                      "a string of " + std::to_string(*length) + " bytes at byte " +
                          std::to_string(start) + " runs past the end of the file (" +
                          std::to_string(cursor.remaining()) + " bytes are left)");
  }
  return AsText(*bytes);
}

bool IsGgufName(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

Result<Metadata> ReadGgufMetadata(const std::string& path, std::uint64_t count, GgufArrays arrays,
                                  ByteCursor& cursor) {
  if (count > kMaxGgufKeys || !cursor.Holds(count * kSmallestPair)) {
    return InputError(path, "metadata count",
                      std::to_string(count) + " pairs don't fit in the " +
                          std::to_string(cursor.remaining()) + " bytes left (at most " +
                          std::to_string(kMaxGgufKeys) + " are allowed)");
  }
  Metadata metadata;
  MetadataReader reader(path, arrays, cursor);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (Status read = reader.ReadPair(i, metadata); !read) {
      return std::unexpected(std::move(read.error()));
    }
  }
  for (const std::string& key : reader.left_out()) metadata.erase(key);
  return metadata;
}

}  // namespace folio
