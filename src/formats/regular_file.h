// Files as they are opened and read here: regular ones only, so that a FIFO, a device or a folder
// is refused by name instead of being waited for.
#ifndef FOLIO_FORMATS_REGULAR_FILE_H_
#define FOLIO_FORMATS_REGULAR_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"

namespace folio {

// Closes its file.
class RegularFile {
 public:
  static Result<RegularFile> Open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }  // as it was when it was opened
  // All that is asked for, or an error that says at which byte.
  Status Read(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  RegularFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace folio

#endif  // FOLIO_FORMATS_REGULAR_FILE_H_
