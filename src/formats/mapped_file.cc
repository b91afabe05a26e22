#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace folio {
namespace {

std::string ErrnoText(int number) { return std::generic_category().message(number); }

}  // namespace

// Non-blocking, so that opening a FIFO returns at once and can be refused.
Result<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return InputError(path, "open", ErrnoText(errno));
  std::shared_ptr<MappedFile> file(new MappedFile(path, descriptor));
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return RuntimeError(path, "stat", ErrnoText(errno));
  if (S_ISDIR(info.st_mode)) return InputError(path, "open", "is a directory, not a file");
  if (!S_ISREG(info.st_mode)) return InputError(path, "open", "is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return file;
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) {
    return RuntimeError(path, "mmap", std::to_string(size) + " bytes: " + ErrnoText(errno));
  }
  file->bytes_ = {static_cast<const std::byte*>(start), size};
  return file;
}

MappedFile::~MappedFile() {
  ::close(descriptor_);
  if (bytes_.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::LetGo(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(part.data() - bytes_.data()) / page * page;
  const auto end = static_cast<std::size_t>(part.data() + part.size() - bytes_.data());
  ::madvise(const_cast<std::byte*>(bytes_.data()) + offset, end - offset, MADV_DONTNEED);
}

Status MappedFile::Read(std::uint64_t offset, std::span<std::byte> into) const {
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

void MappedFile::WillRead(std::uint64_t offset, std::size_t bytes) const {
  ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                  POSIX_FADV_WILLNEED);
}

}  // namespace folio
