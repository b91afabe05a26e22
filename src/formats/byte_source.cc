#include "formats/byte_source.h"

#include <utility>

#include "formats/regular_file.h"

namespace folio {
namespace {

class FileBytes final : public ByteSource {
 public:
  explicit FileBytes(RegularFile file) : file_(std::move(file)) {}
  std::uint64_t size() const override { return file_.size(); }
  Status Read(std::uint64_t offset, std::span<std::byte> into) const override {
    return file_.Read(offset, into);
  }

 private:
  RegularFile file_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenFileBytes(const std::string& path) {
  auto file = RegularFile::Open(path);
  if (!file) return std::unexpected(file.error());
  return std::make_unique<FileBytes>(*std::move(file));
}

Result<std::string> ReadWholeFile(const std::string& path, std::uint64_t most) {
  const auto source = OpenFileBytes(path);
  if (!source) return std::unexpected(source.error());
  const std::uint64_t size = (*source)->size();
  if (size > most) {
    return InputError(path, "size",
                      "is " + std::to_string(size) + " bytes, more than the " +
                          std::to_string(most) + " that are read");
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  if (Status read = (*source)->Read(0, std::as_writable_bytes(std::span(text))); !read)
    return std::unexpected(read.error());
  return text;
}

}  // namespace folio
