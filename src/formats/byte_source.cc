#include "formats/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace folio {
namespace {

std::string ErrnoText(int number) { return std::generic_category().message(number); }

class FileBytes final : public ByteSource {
 public:
  FileBytes(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  ~FileBytes() override { ::close(descriptor_); }

  Status Measure() {
    struct stat info{};
    if (::fstat(descriptor_, &info) != 0) return RuntimeError(path_, "stat", ErrnoText(errno));
    if (S_ISDIR(info.st_mode)) return InputError(path_, "open", "is a directory, not a file");
    if (!S_ISREG(info.st_mode)) return InputError(path_, "open", "is not a regular file");
    size_ = static_cast<std::uint64_t>(info.st_size);
    return {};
  }
  std::uint64_t size() const override { return size_; }
  Status Read(std::uint64_t offset, std::span<std::byte> into) const override {
    for (std::size_t done = 0; done < into.size();) {
      const std::uint64_t at = offset + done;
      const ssize_t got =
          ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(at));
      if (got > 0) {
        done += static_cast<std::size_t>(got);
      } else if (got == 0) {
        return RuntimeError(path_, "byte " + std::to_string(at),
                            "the file became shorter while it was in use");
      } else if (errno != EINTR) {
        return RuntimeError(path_, "byte " + std::to_string(at), ErrnoText(errno));
      }
    }
    return {};
  }

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace

// Non-blocking, so that opening a FIFO returns at once and can be refused.
Result<std::unique_ptr<ByteSource>> OpenFileBytes(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return InputError(path, "open", ErrnoText(errno));
  auto file = std::make_unique<FileBytes>(path, descriptor);
  if (Status measured = file->Measure(); !measured) return std::unexpected(measured.error());
  return file;
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
