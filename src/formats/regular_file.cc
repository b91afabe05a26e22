#include "formats/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace folio {
namespace {

std::string ErrnoText(int number) { return std::generic_category().message(number); }

}  // namespace

// Non-blocking, so that opening a FIFO returns at once and can be refused.
Result<RegularFile> RegularFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return InputError(path, "open", ErrnoText(errno));
  RegularFile file(path, descriptor);
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return RuntimeError(path, "stat", ErrnoText(errno));
  if (S_ISDIR(info.st_mode)) return InputError(path, "open", "is a directory, not a file");
  if (!S_ISREG(info.st_mode)) return InputError(path, "open", "is not a regular file");
  file.size_ = static_cast<std::uint64_t>(info.st_size);
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status RegularFile::Read(std::uint64_t offset, std::span<std::byte> into) const {
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

}  // namespace folio
