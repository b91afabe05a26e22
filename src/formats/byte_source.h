// Bytes that are read a part at a time, wherever they are: a file, or a server that gives ranges.
#ifndef FOLIO_FORMATS_BYTE_SOURCE_H_
#define FOLIO_FORMATS_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace folio {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  virtual std::uint64_t size() const = 0;
  // Bytes [offset, offset + into.size()), which the caller keeps within size().
  virtual Status Read(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

// Opens what a path names.
using OpenBytes = std::function<Result<std::unique_ptr<ByteSource>>(const std::string& path)>;

// A regular file, read with system calls: nothing is mapped. Anything else is an input error.
Result<std::unique_ptr<ByteSource>> OpenFileBytes(const std::string& path);

// All of a file of at most `most` bytes; a larger one is an input error.
Result<std::string> ReadWholeFile(const std::string& path, std::uint64_t most);

}  // namespace folio

#endif  // FOLIO_FORMATS_BYTE_SOURCE_H_
