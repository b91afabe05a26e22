#include "folio/config_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "folio/input.h"

namespace folio {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> SystemError(const std::string& path, const char* call) {
  return RuntimeError(path, call, std::strerror(errno));
}

Status WriteAll(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(path, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(file) == 0 ? Status() : SystemError(path, "fsync");
}

// A file that wasn't there before.
Status WriteNew(const std::string& path, std::string_view text, mode_t mode) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return SystemError(path, "create");
  Status status = WriteAll(file, text, path);
  if (status && fchmod(file, mode) != 0) status = SystemError(path, "chmod");
  if (close(file) != 0 && status) status = SystemError(path, "close");
  if (!status) unlink(path.c_str());
  return status;
}

Result<std::string> WriteBackup(const std::string& path, std::string_view text, mode_t mode) {
  for (int number = 1;; ++number) {
    std::string backup = path + ".bak" + (number == 1 ? "" : std::to_string(number));
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(backup, ignored))) continue;
    if (const Status written = WriteNew(backup, text, mode); !written) {
      return std::unexpected(written.error());
    }
    return backup;
  }
}

}  // namespace

Result<std::string> ReadConfigFile(const std::string& path) {
  std::error_code error;
  if (fs::status(path, error).type() == fs::file_type::not_found) return std::string();
  return ReadTextFile(path);
}

Result<std::string> ReplaceConfigFile(const std::string& path, std::string_view old,
                                      std::string_view text) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return RuntimeError(fs::path(path).parent_path(), "create", error.message());
  struct stat before{};
  const bool was_there = stat(path.c_str(), &before) == 0;
  const mode_t mode = was_there ? before.st_mode & 0777U : 0600U;
  // What a link points at is replaced, not the link.
  const std::string target = was_there ? fs::canonical(path, error).string() : path;
  if (error) return RuntimeError(path, "", error.message());
  std::string backup;
  if (was_there) {
    auto kept = WriteBackup(path, old, mode);
    if (!kept) return kept;
    backup = *std::move(kept);
  }
  const std::string fresh = target + ".new" + std::to_string(getpid());
  if (const Status written = WriteNew(fresh, text, mode); !written) {
    return std::unexpected(written.error());
  }
  if (rename(fresh.c_str(), target.c_str()) != 0) {
    const auto failed = SystemError(target, "rename");
    unlink(fresh.c_str());
    return failed;
  }
  return backup;
}

}  // namespace folio
