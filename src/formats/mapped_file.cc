#include "formats/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace folio {

Result<std::shared_ptr<MappedFile>> MappedFile::Open(const std::string& path) {
  auto opened = RegularFile::Open(path);
  if (!opened) return std::unexpected(opened.error());
  std::shared_ptr<MappedFile> file(new MappedFile(*std::move(opened)));
  const auto size = static_cast<std::size_t>(file->file_.size());
  if (size == 0) return file;
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file->file_.descriptor(), 0);
  if (start == MAP_FAILED) {
    return RuntimeError(path, "mmap",
                        std::to_string(size) + " bytes: " + std::generic_category().message(errno));
  }
  file->bytes_ = {static_cast<const std::byte*>(start), size};
  return file;
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

void MappedFile::WillRead(std::uint64_t offset, std::size_t bytes) const {
  ::posix_fadvise(file_.descriptor(), static_cast<off_t>(offset), static_cast<off_t>(bytes),
                  POSIX_FADV_WILLNEED);
}

}  // namespace folio
