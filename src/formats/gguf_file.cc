#include "formats/gguf_file.h"

#include <bit>
#include <string_view>
#include <utility>

#include "formats/byte_cursor.h"
#include "formats/metadata_value.h"

namespace folio {
namespace {

constexpr std::size_t kHeaderBytes = 4 + 4 + 8 + 8;  // magic, version, tensor count, pair count
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::uint64_t kAlignmentStep = 8;  // the specification's; keeps float data aligned

Status CheckMagic(const std::string& path, std::string_view magic) {
  if (magic == "GGUF") return {};
  std::string_view hint;
  if (magic == "vers") hint = ": a Git LFS pointer, not the model itself";
  if (magic.starts_with("PK")) hint = ": a ZIP archive (perhaps a PyTorch checkpoint)";
  if (magic == "ggml" || magic == "lmgg" || magic == "tjgg") hint = ": a format older than GGUF";
  return InputError(
      path, "magic",
      "the file begins with " + QuotedExcerpt(magic) + ", not \"GGUF\"" + std::string(hint));
}

Status CheckVersion(const std::string& path, std::uint32_t version) {
  if (version == 2 || version == 3) return {};
  const std::uint32_t swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 0xffff && version > 0xffff) {
    return InputError(path, "version",
                      std::to_string(version) + ": a big-endian file (version " +
                          std::to_string(swapped) + "), which Folio doesn't read");
  }
  return InputError(path, "version", std::to_string(version) + "; Folio reads versions 2 and 3");
}

Result<std::uint64_t> Alignment(const std::string& path, const Metadata& metadata) {
  const auto entry = metadata.find(kAlignmentKey);
  if (entry == metadata.end()) return kDefaultAlignment;
  const auto* value = std::get_if<std::uint64_t>(&entry->second);
  if (value == nullptr || !std::has_single_bit(*value) || *value % kAlignmentStep != 0) {
    return InputError(
        path, std::string(kAlignmentKey),
        "is " + DescribeMetadataValue(entry->second) + "; a power of two of at least 8 is needed");
  }
  return *value;
}

Result<GgufFile> Read(const std::string& path, const GgufBytes& bytes, GgufArrays arrays,
                      ByteCursor& cursor) {
  if (const auto magic = cursor.Take(4)) {
    if (Status good = CheckMagic(path, AsText(*magic)); !good) {
      return std::unexpected(std::move(good.error()));
    }
  }
  GgufFile file;
  const auto version = cursor.Read<std::uint32_t>();
  const auto tensor_count = cursor.Read<std::uint64_t>();
  const auto pair_count = cursor.Read<std::uint64_t>();
  if (version) {
    if (Status good = CheckVersion(path, *version); !good) {
      return std::unexpected(std::move(good.error()));
    }
  }
  if (!pair_count) {
    return InputError(path, "header",
                      "the file has " + std::to_string(bytes.file_bytes) +
                          " bytes, fewer than the " + std::to_string(kHeaderBytes) +
                          " of a GGUF header");
  }
  file.version = *version;
  Result<Metadata> metadata = ReadGgufMetadata(path, *pair_count, arrays, cursor);
  if (!metadata) return std::unexpected(std::move(metadata.error()));
  file.metadata = *std::move(metadata);
  const Result<std::uint64_t> alignment = Alignment(path, file.metadata);
  if (!alignment) return std::unexpected(alignment.error());
  Result<std::vector<ModelTensor>> tensors =
      ReadGgufTensors(path, bytes, *tensor_count, *alignment, cursor);
  if (!tensors) return std::unexpected(std::move(tensors.error()));
  file.tensors = *std::move(tensors);
  return file;
}

}  // namespace

Result<GgufFile> ReadGgufFile(const std::string& path, std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  return Read(path, {.bytes = bytes, .file_bytes = bytes.size()}, GgufArrays::kAll, cursor);
}

Result<GgufFile> ReadGgufPrefix(const std::string& path, const GgufBytes& file, bool& ran_out) {
  ByteCursor cursor(file.bytes);
  Result<GgufFile> read = Read(path, file, GgufArrays::kShortNumbers, cursor);
  ran_out = cursor.ran_out();
  return read;
}

}  // namespace folio
