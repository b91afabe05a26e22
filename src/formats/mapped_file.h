// A regular file mapped read-only into memory, and open for reading past the mapping, for as long
// as the object lives.
#ifndef FOLIO_FORMATS_MAPPED_FILE_H_
#define FOLIO_FORMATS_MAPPED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "formats/regular_file.h"

namespace folio {

class MappedFile {
 public:
  // A path that can't be opened, or is no regular file, is an input error. The file must not be
  // shortened while it is mapped: touching a page past its new end kills the process.
  static Result<std::shared_ptr<MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

  // Takes the pages of `part` out of this process's memory. They come back when they are read.
  void LetGo(std::span<const std::byte> part) const;

  // Reads bytes [offset, offset + into.size()) with system calls: a page that the disk must bring
  // stalls this caller only, and a file that became shorter is an error, not a signal. From any
  // thread.
  Status Read(std::uint64_t offset, std::span<std::byte> into) const {
    return file_.Read(offset, into);
  }
  // Asks the system to bring these bytes from the disk soon.
  void WillRead(std::uint64_t offset, std::size_t bytes) const;

 private:
  explicit MappedFile(RegularFile file) : file_(std::move(file)) {}

  RegularFile file_;
  std::span<const std::byte> bytes_;
};

}  // namespace folio

#endif  // FOLIO_FORMATS_MAPPED_FILE_H_
