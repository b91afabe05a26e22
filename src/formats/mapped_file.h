// A regular file mapped read-only into memory for as long as the object lives.
#ifndef FOLIO_FORMATS_MAPPED_FILE_H_
#define FOLIO_FORMATS_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

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

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace folio

#endif  // FOLIO_FORMATS_MAPPED_FILE_H_
