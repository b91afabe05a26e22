#include "formats/gguf_tensor_table.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/checked.h"
#include "formats/gguf_metadata.h"
#include "formats/metadata_value.h"

namespace folio {
namespace {

constexpr std::size_t kSmallestEntry = 8 + 1 + 4 + 8 + 4 + 8;  // one-letter name, one dimension

// Names of type ids that exist in GGUF but not in Folio, for a helpful refusal.
std::string_view UnsupportedTypeName(std::uint32_t id) {
  constexpr std::pair<std::uint32_t, std::string_view> kNames[] = {
      {9, "Q8_1"},   {15, "Q8_K"},  {16, "IQ2_XXS"}, {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},
      {21, "IQ3_S"}, {22, "IQ2_S"}, {24, "I8"},      {25, "I16"},    {26, "I32"},     {27, "I64"},
      {28, "F64"},   {29, "IQ1_M"}, {34, "TQ1_0"},   {35, "TQ2_0"},  {40, "NVFP4"},   {41, "Q1_0"},
  };
  for (const auto& [known, name] : kNames) {
    if (known == id) return name;
  }
  return "";
}

class TensorReader {
 public:
  TensorReader(const std::string& path, ByteCursor& cursor) : path_(path), cursor_(cursor) {}

  // One entry; `offset` is still relative to the data section.
  Result<ModelTensor> Read(std::uint64_t index) {
    where_ = "tensors[" + std::to_string(index) + "]";
    ModelTensor tensor;
    for (const auto step : {&TensorReader::ReadName, &TensorReader::ReadDims,
                            &TensorReader::ReadType, &TensorReader::ReadOffset}) {
      if (Status read = (this->*step)(tensor); !read) {
        return std::unexpected(std::move(read.error()));
      }
    }
    return tensor;
  }

 private:
  std::unexpected<Error> Fail(std::string why) const {
    return InputError(path_, where_, std::move(why));
  }
  std::unexpected<Error> Truncated(std::string_view field) const {
    return Fail("the file ends in its " + std::string(field) + " at byte " +
                std::to_string(cursor_.position()));
  }

  Status ReadName(ModelTensor& tensor) {
    const Result<std::string_view> name = ReadGgufString(path_, where_ + ".name", cursor_);
    if (!name) return std::unexpected(name.error());
    if (name->size() > kMaxGgufTensorNameBytes) {
      return Fail("the name is " + std::to_string(name->size()) + " bytes long, more than the " +
                  std::to_string(kMaxGgufTensorNameBytes) + " allowed");
    }
    if (!IsGgufName(*name)) {
      return Fail("the name " + QuotedExcerpt(*name) + " is not printable ASCII text");
    }
    tensor.name = *name;
    where_ = "tensor " + std::string(*name);
    return {};
  }

  Status ReadDims(ModelTensor& tensor) {
    const auto count = cursor_.Read<std::uint32_t>();
    if (!count) return Truncated("number of dimensions");
    if (*count < 1 || *count > kMaxGgufDims) {
      return Fail(std::to_string(*count) + " dimensions; 1 to 4 are allowed");
    }
    tensor.elements = 1;
    for (std::uint32_t i = 0; i < *count; ++i) {
      const auto dim = cursor_.Read<std::uint64_t>();
      if (!dim) return Truncated("dimensions");
      const bool in_range =
          *dim >= 1 && *dim <= std::uint64_t{std::numeric_limits<std::int64_t>::max()};
      const std::optional<std::int64_t> elements =
          in_range ? CheckedMul(tensor.elements, static_cast<std::int64_t>(*dim)) : std::nullopt;
      if (!elements) {
        return Fail("dimension " + std::to_string(i) + " is " + std::to_string(*dim) +
                    (*dim == 0 ? "" : ": too many elements"));
      }
      tensor.elements = *elements;
      tensor.dims.push_back(static_cast<std::int64_t>(*dim));
    }
    return {};
  }

  Status ReadType(ModelTensor& tensor) {
    const auto id = cursor_.Read<std::uint32_t>();
    if (!id) return Truncated("type");
    const std::optional<GgmlType> type = GgmlTypeFromId(*id);
    if (!type) {
      const std::string_view name = UnsupportedTypeName(*id);
      return Fail("type " + std::to_string(*id) +
                  (name.empty() ? "" : " (" + std::string(name) + ")") +
                  " is not one that Folio reads");
    }
    tensor.type = *type;
    const GgmlTypeInfo& info = TypeInfo(*type);
    if (tensor.dims[0] % info.block_elements != 0) {
      return Fail("row length " + std::to_string(tensor.dims[0]) + " is not a multiple of " +
                  std::string(info.name) + "'s block of " + std::to_string(info.block_elements));
    }
    const auto bytes = CheckedMul(tensor.elements / info.block_elements, info.block_bytes);
    if (!bytes) {
      return Fail(std::to_string(tensor.elements) + " elements of " + std::string(info.name) +
                  " are too many bytes");
    }
    tensor.bytes = static_cast<std::size_t>(*bytes);
    return {};
  }

  Status ReadOffset(ModelTensor& tensor) {
    const auto offset = cursor_.Read<std::uint64_t>();
    if (!offset) return Truncated("offset");
    tensor.offset = *offset;
    return {};
  }

  const std::string& path_;
  ByteCursor& cursor_;
  std::string where_;
};

Status CheckNamesDiffer(const std::string& path, const std::vector<ModelTensor>& tensors) {
  std::unordered_set<std::string_view> names;
  names.reserve(tensors.size());
  for (const ModelTensor& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      return InputError(path, "tensor " + std::string(tensor.name), "the name appears twice");
    }
  }
  return {};
}

// Turns the offset into one from the file's start, and points `data` at the bytes.
Status PlaceTensor(const std::string& path, const GgufBytes& file, std::uint64_t data_start,
                   std::uint64_t alignment, ModelTensor& tensor) {
  const std::string where = "tensor " + std::string(tensor.name);
  if (tensor.offset % alignment != 0) {
    return InputError(path, where,
                      "offset " + std::to_string(tensor.offset) +
                          " is not a multiple of the alignment " + std::to_string(alignment));
  }
  const auto begin = CheckedAdd(data_start, tensor.offset);
  const auto end = begin ? CheckedAdd<std::uint64_t>(*begin, tensor.bytes) : std::nullopt;
  if (!end || *end > file.file_bytes) {
    return InputError(path, where,
                      std::to_string(tensor.bytes) + " bytes at offset " +
                          std::to_string(tensor.offset) + " of the data, which begins at byte " +
                          std::to_string(data_start) + ", run past the end of the file (" +
                          std::to_string(file.file_bytes) + " bytes)");
  }
  tensor.offset = *begin;
  if (*end <= file.bytes.size())
    tensor.data = file.bytes.subspan(static_cast<std::size_t>(*begin), tensor.bytes);
  return {};
}

Status CheckNoOverlap(const std::string& path, const std::vector<ModelTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&tensors](std::size_t a, std::size_t b) {
    return std::pair(tensors[a].offset, a) < std::pair(tensors[b].offset, b);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const ModelTensor& before = tensors[order[i - 1]];
    const ModelTensor& after = tensors[order[i]];
    if (before.offset + before.bytes > after.offset) {
      return InputError(path, "tensor " + std::string(after.name),
                        "its data at byte " + std::to_string(after.offset) + " overlaps tensor " +
                            std::string(before.name) + ", which ends at byte " +
                            std::to_string(before.offset + before.bytes));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<ModelTensor>> ReadGgufTensors(const std::string& path, const GgufBytes& file,
                                                 std::uint64_t count, std::uint64_t alignment,
                                                 ByteCursor& cursor) {
  if (count > kMaxGgufTensors || !cursor.Holds(count * kSmallestEntry)) {
    return InputError(path, "tensor count",
                      std::to_string(count) + " tensors don't fit in the " +
                          std::to_string(cursor.remaining()) + " bytes left (at most " +
                          std::to_string(kMaxGgufTensors) + " are allowed)");
  }
  std::vector<ModelTensor> tensors;
  tensors.reserve(static_cast<std::size_t>(count));
  TensorReader reader(path, cursor);
  for (std::uint64_t i = 0; i < count; ++i) {
    Result<ModelTensor> tensor = reader.Read(i);
    if (!tensor) return std::unexpected(std::move(tensor.error()));
    tensors.push_back(*std::move(tensor));
  }
  const auto data_start = CheckedRoundUp<std::uint64_t>(cursor.position(), alignment);
  if (!data_start) {
    return InputError(path, "general.alignment", std::to_string(alignment) + " is too large");
  }
  for (ModelTensor& tensor : tensors) {
    if (Status placed = PlaceTensor(path, file, *data_start, alignment, tensor); !placed) {
      return std::unexpected(std::move(placed.error()));
    }
  }
  for (const auto check : {CheckNamesDiffer, CheckNoOverlap}) {
    if (Status passed = check(path, tensors); !passed) {
      return std::unexpected(std::move(passed.error()));
    }
  }
  return tensors;
}

}  // namespace folio
