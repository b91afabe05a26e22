#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/checked.h"
#include "formats/byte_cursor.h"
#include "formats/metadata_value.h"
#include "formats/safetensors_header.h"

namespace folio {
namespace {

constexpr std::size_t kLengthBytes = 8;

struct Dtype {
  std::string_view name;
  std::int64_t bits;
  std::optional<GgmlType> type;
};

constexpr std::array<Dtype, 21> kDtypes = {{
    {"F32", 32, GgmlType::kF32},      {"F16", 16, GgmlType::kF16},
    {"BF16", 16, GgmlType::kBF16},    {"F64", 64, std::nullopt},
    {"F8_E4M3", 8, std::nullopt},     {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt},     {"F8_E4M3FNUZ", 8, std::nullopt},
    {"F8_E5M2FNUZ", 8, std::nullopt}, {"F6_E2M3", 6, std::nullopt},
    {"F6_E3M2", 6, std::nullopt},     {"F4", 4, std::nullopt},
    {"I64", 64, std::nullopt},        {"I32", 32, std::nullopt},
    {"I16", 16, std::nullopt},        {"I8", 8, std::nullopt},
    {"U64", 64, std::nullopt},        {"U32", 32, std::nullopt},
    {"U16", 16, std::nullopt},        {"U8", 8, std::nullopt},
    {"BOOL", 8, std::nullopt},
}};

// Where the header ends and the data begins.
Result<std::size_t> HeaderBytes(const std::string& path, std::span<const std::byte> file) {
  ByteCursor cursor(file);
  const auto length = cursor.Read<std::uint64_t>();
  if (!length) {
    return InputError(path, "header length",
                      "the file has only " + std::to_string(file.size()) + " bytes");
  }
  if (AsText(file.first(kLengthBytes)) == "version ")
    return InputError(path, "header length", "the file is a Git LFS pointer, not the model itself");
  if (*length > kMaxSafetensorsHeader || *length > cursor.remaining()) {
    return InputError(
        path, "header length",
        "is " + std::to_string(*length) + ", must be at most " +
            std::to_string(std::min<std::uint64_t>(kMaxSafetensorsHeader, cursor.remaining())));
  }
  return static_cast<std::size_t>(*length);
}

// The entry's tensor without its data, its shape checked.
Result<SafetensorsTensor> ToTensor(const std::string& path, SafetensorsEntry& entry) {
  const auto fail = [&](std::string why) {
    return InputError(path, "tensor " + entry.name, std::move(why));
  };
  const auto* dtype = std::ranges::find(kDtypes, entry.dtype, &Dtype::name);
  if (dtype == kDtypes.end())
    return fail("dtype " + QuotedExcerpt(entry.dtype) + " is not known to the format");
  SafetensorsTensor tensor;
  tensor.dtype = dtype->name;
  tensor.type = dtype->type;
  std::optional<std::int64_t> elements = 1;
  for (const std::uint64_t size : entry.shape) {
    if (!std::in_range<std::int64_t>(size))
      return fail("shape has a size of " + std::to_string(size));
    tensor.shape.push_back(static_cast<std::int64_t>(size));
    if (elements) elements = CheckedMul(*elements, tensor.shape.back());
  }
  const auto bits = elements ? CheckedMul(*elements, dtype->bits) : std::nullopt;
  if (!bits) return fail("the product of its shape is too large");
  if (*bits % 8 != 0) return fail("its elements are no whole number of bytes");
  const std::uint64_t begin = entry.offsets[0];
  const std::uint64_t end = entry.offsets[1];
  if (end < begin || end - begin != static_cast<std::uint64_t>(*bits / 8)) {
    return fail("data_offsets are " + std::to_string(begin) + " and " + std::to_string(end) +
                ", but its shape has " + std::to_string(*bits / 8) + " bytes");
  }
  tensor.elements = *elements;
  tensor.offset = begin;
  tensor.name = std::move(entry.name);
  return tensor;
}

Status CheckNames(const std::string& path, const std::vector<SafetensorsTensor>& tensors) {
  std::set<std::string_view> names;
  for (const SafetensorsTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second)
      return InputError(path, "tensor " + tensor.name, "appears twice");
  }
  return {};
}

// Gives each tensor its part of `data`, which begins at `start`; they must fill it one after
// another.
Status PlaceTensors(const std::string& path, std::uint64_t start, std::span<const std::byte> data,
                    std::vector<SafetensorsTensor>& tensors) {
  std::ranges::sort(tensors, {}, [](const SafetensorsTensor& tensor) {
    return std::pair(tensor.offset, tensor.elements);  // empty ones before what begins there
  });
  std::uint64_t end = 0;
  for (SafetensorsTensor& tensor : tensors) {
    const auto dtype = std::ranges::find(kDtypes, tensor.dtype, &Dtype::name);
    const auto bytes = static_cast<std::uint64_t>(tensor.elements * dtype->bits / 8);
    if (tensor.offset != end) {
      return InputError(path, "tensor " + tensor.name,
                        "begins at " + std::to_string(tensor.offset) +
                            (tensor.offset < end ? ", inside the one before it, which ends at "
                                                 : ", behind a hole that begins at ") +
                            std::to_string(end));
    }
    if (bytes > data.size() - end) {
      return InputError(path, "tensor " + tensor.name,
                        "ends at " + std::to_string(end + bytes) + ", behind the data's " +
                            std::to_string(data.size()) + " bytes: is the file cut off?");
    }
    tensor.data = data.subspan(static_cast<std::size_t>(end), static_cast<std::size_t>(bytes));
    end += bytes;
    tensor.offset += start;
  }
  if (end != data.size()) {
    return InputError(
        path, "data",
        "has " + std::to_string(data.size()) + " bytes, the tensors only " + std::to_string(end));
  }
  return {};
}

}  // namespace

Result<std::vector<SafetensorsTensor>> ReadSafetensors(const std::string& path,
                                                       std::span<const std::byte> file) {
  const Result<std::size_t> header = HeaderBytes(path, file);
  if (!header) return std::unexpected(header.error());
  Result<std::vector<SafetensorsEntry>> entries =
      ReadSafetensorsHeader(path, AsText(file.subspan(kLengthBytes, *header)));
  if (!entries) return std::unexpected(entries.error());
  std::vector<SafetensorsTensor> tensors;
  tensors.reserve(entries->size());
  for (SafetensorsEntry& entry : *entries) {
    Result<SafetensorsTensor> tensor = ToTensor(path, entry);
    if (!tensor) return std::unexpected(tensor.error());
    tensors.push_back(*std::move(tensor));
  }
  if (Status unique = CheckNames(path, tensors); !unique) return std::unexpected(unique.error());
  const std::size_t start = kLengthBytes + *header;
  if (Status placed = PlaceTensors(path, start, file.subspan(start), tensors); !placed)
    return std::unexpected(placed.error());
  return tensors;
}

}  // namespace folio
