#include "folio/batch_output.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "api/batch_format.h"
#include "folio/jsonl_reader.h"

namespace folio {
namespace {

// Records with log-probabilities of many choices are large.
constexpr std::size_t kLongestRecord = std::size_t{1} << 30;
constexpr std::size_t kCopyChunk = std::size_t{1} << 20;

std::unexpected<Error> SystemError(const std::string& path, const char* action) {
  return RuntimeError(path, action, std::strerror(errno));
}

Status WriteAll(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path, "write");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// What a killed run can leave: a record's beginning, however short.
bool IsCutRecord(const JsonlReader::Line& line) {
  const std::size_t common = std::min(line.text.size(), kBatchRecordStart.size());
  return !line.terminated && line.text.substr(0, common) == kBatchRecordStart.substr(0, common);
}

std::unexpected<Error> NoRecord(const std::string& path, std::int64_t line) {
  return InputError(path, "line " + std::to_string(line),
                    "is no record of a batch; give another file to --out");
}

}  // namespace

BatchOutput::BatchOutput(BatchOutput&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      created_(other.created_),
      size_(other.size_),
      answered_(std::move(other.answered_)),
      kept_(std::move(other.kept_)) {}

BatchOutput::~BatchOutput() {
  if (fd_ < 0) return;
  if (created_ && size_ == 0) unlink(path_.c_str());
  close(fd_);
}

Result<BatchOutput> BatchOutput::Open(const std::string& path, const std::string& model) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC;
  int fd = open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0644);
  const bool created = fd >= 0;
  if (fd < 0 && errno == EEXIST) fd = open(path.c_str(), kFlags);
  if (fd < 0) return SystemError(path, "open");
  BatchOutput output(path, fd);
  output.created_ = created;
  if (const Status locked = output.Lock(); !locked) return std::unexpected(locked.error());
  if (const Status read = output.ReadRecords(model); !read) return std::unexpected(read.error());
  return output;
}

Status BatchOutput::Lock() {
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return SystemError(path_, "lock");
    return RuntimeError(path_, "lock", "another batch is writing to this file");
  }
  struct stat held{};
  struct stat named{};
  if (fstat(fd_, &held) != 0 || stat(path_.c_str(), &named) != 0) return SystemError(path_, "stat");
  if (held.st_ino == named.st_ino && held.st_dev == named.st_dev) return {};
  return RuntimeError(path_, "lock", "another batch has just replaced this file");
}

Status BatchOutput::ReadRecords(const std::string& model) {
  Result<JsonlReader> reader = JsonlReader::Open(path_, kLongestRecord);
  if (!reader) return std::unexpected(reader.error());
  size_ = reader->file_bytes();
  while (true) {
    const auto line = reader->Next();
    if (!line) return std::unexpected(line.error());
    if (!*line) break;
    if (IsCutRecord(**line)) break;
    const Result<BatchRecordHead> head = ReadBatchRecord((*line)->text);
    if (!head || !(*line)->terminated || !(*line)->whole()) return NoRecord(path_, (*line)->number);
    if (!head->answered) continue;
    if (head->model != model) {
      return InputError(path_, "line " + std::to_string((*line)->number),
                        "was answered by the model '" + head->model + "', not '" + model +
                            "'; give another file to --out");
    }
    answered_.push_back({DigestOf({head->custom_id}), head->id, (*line)->number});
    const std::uint64_t end = (*line)->start + (*line)->bytes + 1;
    if (!kept_.empty() && kept_.back().end == (*line)->start) {
      kept_.back().end = end;
    } else {
      kept_.push_back({(*line)->start, end});
    }
  }
  std::ranges::sort(answered_);
  return {};
}

Status BatchOutput::CopyKept(int to) const {
  std::string chunk;
  for (Stretch rest : kept_) {
    while (rest.start < rest.end) {
      chunk.resize(std::min<std::uint64_t>(kCopyChunk, rest.end - rest.start));
      const ssize_t got = pread(fd_, chunk.data(), chunk.size(), static_cast<off_t>(rest.start));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return SystemError(path_, "read");
      chunk.resize(static_cast<std::size_t>(got));
      if (Status written = WriteAll(to, chunk, path_); !written) return written;
      rest.start += static_cast<std::uint64_t>(got);
    }
  }
  return fsync(to) == 0 ? Status() : SystemError(path_, "sync");
}

Status BatchOutput::Repair() {
  const bool starts_kept = kept_.empty() || (kept_.size() == 1 && kept_[0].start == 0);
  const std::uint64_t kept_bytes = kept_.empty() ? 0 : kept_.back().end;
  if (starts_kept) {
    if (kept_bytes != size_ && ftruncate(fd_, static_cast<off_t>(kept_bytes)) != 0) {
      return SystemError(path_, "truncate");
    }
    size_ = kept_bytes;
    return {};
  }
  const std::string other = path_ + ".tmp";
  BatchOutput repaired(
      path_, open(other.c_str(), O_RDWR | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (repaired.fd_ < 0) return SystemError(other, "open");
  if (flock(repaired.fd_, LOCK_EX | LOCK_NB) != 0) return SystemError(other, "lock");
  if (Status copied = CopyKept(repaired.fd_); !copied) return copied;
  if (rename(other.c_str(), path_.c_str()) != 0) return SystemError(path_, "rename");
  std::swap(fd_, repaired.fd_);
  size_ = 0;
  for (const Stretch& stretch : kept_) size_ += stretch.end - stretch.start;
  kept_ = {{0, size_}};
  return {};
}

Status BatchOutput::Append(std::string_view line) {
  if (Status written = WriteAll(fd_, line, path_); !written) {
    // Half a line is of no use; a later run would drop it too.
    [[maybe_unused]] const int ignored = ftruncate(fd_, static_cast<off_t>(size_));
    return written;
  }
  size_ += line.size();
  return {};
}

Status BatchOutput::Sync() { return fsync(fd_) == 0 ? Status() : SystemError(path_, "sync"); }

}  // namespace folio
