// A download in progress: PATH.part, with the server's validator beside it in PATH.part.etag so
// that a later run can go on where this one was cut. Becomes PATH by an atomic rename only once it
// is whole and checked. One process at a time holds it.
#ifndef FOLIO_STORE_PART_FILE_H_
#define FOLIO_STORE_PART_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "base/sha256.h"

namespace folio {

class PartFile {
 public:
  // Opens or creates the partial file (and its folders) and locks it; hashes what is there.
  static Result<PartFile> Open(const std::string& path);
  ~PartFile();
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  std::uint64_t size() const { return size_; }
  // The strong ETag that the bytes belong to; empty if none is known.
  const std::string& etag() const { return etag_; }

  // Drops all bytes and remembers the validator of those that follow.
  Status Restart(const std::string& etag);
  Status Append(std::span<const char> bytes);
  // SHA-256 of all bytes, as hex. The next Append continues a new hash: call it at the end only.
  std::string FinishHash();
  // True if the file starts as a GGUF file does.
  Result<bool> StartsAsGguf() const;
  // Makes it PATH, durably.
  Status Commit();
  // Deletes it.
  void Discard();

 private:
  PartFile(std::string path, int fd);
  std::string PartPath() const { return path_ + ".part"; }
  std::string EtagPath() const { return path_ + ".part.etag"; }
  Status HashExisting();

  std::string path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::string etag_;
  Sha256 hash_;
};

// An error if the file system of `path` lacks `bytes` more.
Status CheckFreeSpace(const std::string& path, std::uint64_t bytes);

}  // namespace folio

#endif  // FOLIO_STORE_PART_FILE_H_
