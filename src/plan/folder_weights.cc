#include "plan/folder_weights.h"

#include <cstring>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "formats/safetensors.h"
#include "formats/safetensors_header.h"

namespace folio {
namespace {

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

Result<std::vector<SafetensorsEntry>> ReadEntries(const std::string& path,
                                                  const ByteSource& source) {
  std::uint64_t length = 0;
  if (source.size() < sizeof(length)) {
    return InputError(path, "header", "the file has " + std::to_string(source.size()) + " bytes");
  }
  std::vector<std::byte> bytes(sizeof(length));
  if (Status read = source.Read(0, bytes); !read) return std::unexpected(read.error());
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxSafetensorsHeader || length > source.size() - sizeof(length)) {
    return InputError(path, "header",
                      std::to_string(length) + " bytes do not fit the file's " +
                          std::to_string(source.size()) + ", or are too many");
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  if (Status read = source.Read(sizeof(length), std::as_writable_bytes(std::span(text))); !read)
    return std::unexpected(read.error());
  return ReadSafetensorsHeader(path, text);
}

}  // namespace

Status AddSafetensors(const std::string& path, const ByteSource& source, FolderWeights& sum) {
  const Result<std::vector<SafetensorsEntry>> entries = ReadEntries(path, source);
  if (!entries) return std::unexpected(entries.error());
  for (const SafetensorsEntry& entry : *entries) {
    if (entry.offsets[1] < entry.offsets[0] || entry.offsets[1] > source.size()) {
      return InputError(path, "tensor " + entry.name,
                        "data_offsets " + std::to_string(entry.offsets[0]) + " to " +
                            std::to_string(entry.offsets[1]) + " are not within the file");
    }
    const std::uint64_t bytes = entry.offsets[1] - entry.offsets[0];
    const auto all = CheckedAdd(sum.weights.all, bytes);
    if (!all) return InputError(path, "tensor " + entry.name, "all bytes do not fit 64 bits");
    sum.weights.all = *all;
    if (Contains(entry.name, ".experts.")) {
      sum.weights.experts += bytes;
    } else if (entry.name.ends_with("embed_tokens.weight")) {
      sum.embedding_bytes += bytes;
    } else if (!entry.name.ends_with("embed_tokens_per_layer.weight")) {
      sum.has_output |= entry.name.ends_with("lm_head.weight");
      sum.weights.always += bytes;
    }
  }
  return {};
}

}  // namespace folio
