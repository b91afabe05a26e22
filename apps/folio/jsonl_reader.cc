#include "folio/jsonl_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace folio {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

}  // namespace

Result<JsonlReader> JsonlReader::Open(const std::string& path, std::size_t most_bytes) {
  JsonlReader reader(path, most_bytes);
  reader.file_.reset(std::fopen(path.c_str(), "rbe"));
  if (reader.file_ == nullptr) return InputError(path, "open", std::strerror(errno));
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return InputError(path, "", "is no regular file");
  }
  reader.file_bytes_ = std::filesystem::file_size(path, error);
  return reader;
}

Result<bool> JsonlReader::Fill() {
  chunk_.resize(kChunk);
  chunk_.resize(std::fread(chunk_.data(), 1, chunk_.size(), file_.get()));
  at_ = 0;
  if (std::ferror(file_.get()) != 0) return RuntimeError(path_, "read", std::strerror(errno));
  return !chunk_.empty();
}

Result<std::optional<JsonlReader::Line>> JsonlReader::Next() {
  line_.clear();
  Line line{.text = {}, .number = number_ + 1, .start = offset_};
  while (!line.terminated) {
    if (at_ == chunk_.size()) {
      const Result<bool> more = Fill();
      if (!more) return std::unexpected(more.error());
      if (!*more) break;
    }
    const std::size_t newline = chunk_.find('\n', at_);
    line.terminated = newline != chunk_.npos;
    const std::size_t end = line.terminated ? newline : chunk_.size();
    line_.append(chunk_, at_, std::min(end - at_, most_bytes_ - line_.size()));
    line.bytes += end - at_;
    at_ = end + (line.terminated ? 1 : 0);
  }
  if (line.bytes == 0 && !line.terminated) return std::nullopt;
  number_ = line.number;
  offset_ += line.bytes + (line.terminated ? 1 : 0);
  line.text = line_;
  return line;
}

}  // namespace folio
