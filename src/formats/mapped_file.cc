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

class FileDescriptor {
 public:
  // Non-blocking, so that opening a FIFO returns at once and can be refused.
  explicit FileDescriptor(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

Result<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  const FileDescriptor file(path);
  if (file.get() < 0) return InputError(path, "open", ErrnoText(errno));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return RuntimeError(path, "stat", ErrnoText(errno));
  if (S_ISDIR(info.st_mode)) return InputError(path, "open", "is a directory, not a file");
  if (!S_ISREG(info.st_mode)) return InputError(path, "open", "is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile({}));
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) {
    return RuntimeError(path, "mmap", std::to_string(size) + " bytes: " + ErrnoText(errno));
  }
  return std::shared_ptr<MappedFile>(new MappedFile({static_cast<const std::byte*>(start), size}));
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::LetGo(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = static_cast<std::size_t>(part.data() - bytes_.data()) / page * page;
  const auto end = static_cast<std::size_t>(part.data() + part.size() - bytes_.data());
  ::madvise(const_cast<std::byte*>(bytes_.data()) + offset, end - offset, MADV_DONTNEED);
}

}  // namespace folio
