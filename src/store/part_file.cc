#include "store/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace folio {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> SystemError(const std::string& path, const char* action) {
  return RuntimeError(path, action, std::strerror(errno));
}

// A strong ETag of printable ASCII, as If-Range takes it: what is kept ends up in a header.
bool IsStrongEtag(std::string_view etag) {
  return etag.size() > 2 && etag.size() < 512 && etag.front() == '"' && etag.back() == '"' &&
         std::ranges::all_of(etag, [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string ReadShortFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(512, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

PartFile::PartFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

PartFile::PartFile(PartFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      etag_(std::move(other.etag_)),
      hash_(std::move(other.hash_)) {}

PartFile::~PartFile() {
  if (fd_ >= 0) close(fd_);
}

Result<PartFile> PartFile::Open(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return RuntimeError(path, "create its folder", error.message());
  const std::string part_path = path + ".part";
  const int fd = open(part_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return SystemError(part_path, "open");
  PartFile part(path, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError(part_path, "lock");
    return RuntimeError(part_path, "lock", "another process is fetching this file");
  }
  if (const Status hashed = part.HashExisting(); !hashed) return std::unexpected(hashed.error());
  part.etag_ = ReadShortFile(part.EtagPath());
  if (!IsStrongEtag(part.etag_)) part.etag_.clear();
  return part;
}

Status PartFile::HashExisting() {
  std::vector<char> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = read(fd_, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(PartPath(), "read");
    if (got == 0) return {};
    hash_.Update({buffer.data(), static_cast<std::size_t>(got)});
    size_ += static_cast<std::uint64_t>(got);
  }
}

Status PartFile::Restart(const std::string& etag) {
  if (ftruncate(fd_, 0) != 0) return SystemError(PartPath(), "truncate");
  if (lseek(fd_, 0, SEEK_SET) < 0) return SystemError(PartPath(), "seek");
  size_ = 0;
  hash_.Reset();
  etag_ = IsStrongEtag(etag) ? etag : std::string();
  std::error_code ignored;  // without the validator the next run starts again: slower, not wrong
  fs::remove(EtagPath(), ignored);
  if (!etag_.empty()) std::ofstream(EtagPath(), std::ios::binary) << etag_;
  return {};
}

Status PartFile::Append(std::span<const char> bytes) {
  hash_.Update(std::as_bytes(bytes));
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(PartPath(), "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    size_ += static_cast<std::uint64_t>(written);
  }
  return {};
}

std::string PartFile::FinishHash() { return hash_.HexDigest(); }

Result<bool> PartFile::StartsAsGguf() const {
  std::array<char, 4> magic{};
  if (pread(fd_, magic.data(), magic.size(), 0) < 0) return SystemError(PartPath(), "read");
  return std::string_view(magic.data(), magic.size()) == "GGUF";
}

Status PartFile::Commit() {
  if (fsync(fd_) != 0) return SystemError(PartPath(), "sync");
  if (rename(PartPath().c_str(), path_.c_str()) != 0) return SystemError(path_, "rename");
  std::error_code ignored;
  fs::remove(EtagPath(), ignored);
  return {};
}

void PartFile::Discard() {
  std::error_code ignored;
  fs::remove(PartPath(), ignored);
  fs::remove(EtagPath(), ignored);
}

Status CheckFreeSpace(const std::string& path, std::uint64_t bytes) {
  struct statvfs info{};
  if (statvfs(fs::path(path).parent_path().c_str(), &info) != 0) return {};  // writing will tell
  const std::uint64_t available = info.f_bavail * info.f_frsize;
  if (available >= bytes) return {};
  return RuntimeError(path, "disk",
                      "needs " + std::to_string(bytes) + " bytes more, but only " +
                          std::to_string(available) + " are free");
}

}  // namespace folio
