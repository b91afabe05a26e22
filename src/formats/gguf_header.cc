#include "formats/gguf_header.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf_assembly.h"
#include "formats/gguf_file.h"

namespace folio {
namespace {

using Bytes = std::shared_ptr<std::vector<std::byte>>;

constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20;
constexpr std::array<std::string_view, 3> kSmallTensors = {
    "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"};
constexpr std::size_t kMostSmallTensorBytes = std::size_t{1} << 16;

struct Header {
  GgufFile file;
  Bytes bytes;  // that it has views of
};

// Reads more of the file until the header is whole. What was read is kept, and walked over again.
Result<Header> ReadHeader(const std::string& path, const ByteSource& source) {
  const auto bytes = std::make_shared<std::vector<std::byte>>();
  for (std::uint64_t wanted = kFirstBytes;; wanted *= 2) {
    const std::uint64_t most = std::min({wanted, source.size(), kMostGgufHeaderBytes});
    const std::size_t had = bytes->size();
    bytes->resize(static_cast<std::size_t>(most));
    if (Status read = source.Read(had, std::span(*bytes).subspan(had)); !read)
      return std::unexpected(read.error());
    bool ran_out = false;
    Result<GgufFile> file =
        ReadGgufPrefix(path, {.bytes = *bytes, .file_bytes = source.size()}, ran_out);
    if (file) return Header{.file = *std::move(file), .bytes = bytes};
    if (!ran_out || most == source.size()) return std::unexpected(file.error());
    if (most == kMostGgufHeaderBytes) {
      return InputError(path, "header",
                        "is longer than the " + std::to_string(most) + " bytes that are read");
    }
  }
}

// The few small tensors that a model's configuration depends on.
Status ReadSmallTensors(const ByteSource& source, std::vector<ModelTensor>& tensors,
                        std::vector<Bytes>& kept) {
  for (ModelTensor& tensor : tensors) {
    const bool wanted = std::ranges::find(kSmallTensors, tensor.name) != kSmallTensors.end();
    if (!wanted || !tensor.data.empty() || tensor.bytes > kMostSmallTensorBytes) continue;
    const auto data = std::make_shared<std::vector<std::byte>>(tensor.bytes);
    if (Status read = source.Read(tensor.offset, *data); !read) return read;
    tensor.data = *data;
    kept.push_back(data);
  }
  return {};
}

}  // namespace

Result<ModelFile> OpenGgufHeader(const std::string& path, const OpenBytes& open) {
  GgufAssembly assembly;
  std::vector<Bytes> kept;
  const auto add = [&](const std::string& one, std::uint32_t index) -> Status {
    const Result<std::unique_ptr<ByteSource>> source = open(one);
    if (!source) return std::unexpected(source.error());
    Result<Header> header = ReadHeader(one, **source);
    if (!header) return std::unexpected(header.error());
    for (ModelTensor& tensor : header->file.tensors) tensor.data = {};
    kept.push_back(header->bytes);
    if (Status read = ReadSmallTensors(**source, header->file.tensors, kept); !read) return read;
    const std::uint64_t bytes = (*source)->size();
    return index == 0 ? assembly.AddFirst(one, std::move(header->file), bytes)
                      : assembly.AddPart(one, std::move(header->file), bytes, index);
  };
  Status added = add(path, 0);
  if (added) added = assembly.AddOthers(path, add);
  if (!added) return std::unexpected(added.error());
  ModelFile model(std::move(assembly.parts()));
  for (Bytes& bytes : kept) model.Keep(std::move(bytes));
  return model;
}

}  // namespace folio
