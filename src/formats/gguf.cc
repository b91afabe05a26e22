#include "formats/gguf.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "formats/gguf_assembly.h"
#include "formats/gguf_file.h"
#include "formats/mapped_file.h"

namespace folio {

Result<ModelFile> ParseGguf(const std::string& name, std::span<const std::byte> bytes) {
  Result<GgufFile> file = ReadGgufFile(name, bytes);
  if (!file) return std::unexpected(std::move(file.error()));
  GgufAssembly assembly;
  if (Status added = assembly.AddFirst(name, *std::move(file), bytes.size()); !added)
    return std::unexpected(std::move(added.error()));
  return ModelFile(std::move(assembly.parts()));
}

Result<ModelFile> OpenGguf(const std::string& path) {
  GgufAssembly assembly;
  const auto open = [&](const std::string& one, std::uint32_t index) -> Status {
    Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(one);
    if (!mapping) return std::unexpected(std::move(mapping.error()));
    const std::uint64_t bytes = (*mapping)->bytes().size();
    Result<GgufFile> file = ReadGgufFile(one, (*mapping)->bytes());
    if (!file) return std::unexpected(std::move(file.error()));
    assembly.parts().mappings.push_back(*std::move(mapping));
    return index == 0 ? assembly.AddFirst(one, *std::move(file), bytes)
                      : assembly.AddPart(one, *std::move(file), bytes, index);
  };
  Status opened = open(path, 0);
  if (opened) opened = assembly.AddOthers(path, open);
  if (!opened) return std::unexpected(std::move(opened.error()));
  return ModelFile(std::move(assembly.parts()));
}

}  // namespace folio
