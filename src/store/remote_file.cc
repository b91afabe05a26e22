#include "store/remote_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/model_source.h"

namespace folio {
namespace {

constexpr long kPartialContent = 206;

}  // namespace

Result<std::unique_ptr<ByteSource>> RemoteFile::Open(const HttpClient& client,
                                                     const std::string& url) {
  std::unique_ptr<RemoteFile> file(new RemoteFile(client, url));
  if (Status read = file->ReadFirst(); !read) return std::unexpected(read.error());
  return file;
}

Status RemoteFile::ReadFirst() {
  const auto on_head = [&](const HttpHead& head) -> Result<bool> {
    const bool partial = head.status == kPartialContent;
    const auto size = partial ? head.range_total : head.content_length;
    if (!size || (partial && head.range_start != 0)) {
      return RuntimeError(ShownUrl(url_), "answer", "does not say how large the file is");
    }
    if (!partial && *size > kFirstBytes) {
      return RuntimeError(ShownUrl(url_), "Range",
                          "the server gives no parts of files, and the whole has " +
                              std::to_string(*size) + " bytes");
    }
    size_ = *size;
    return true;
  };
  const auto on_body = [&](std::span<const char> bytes) -> Status {
    const auto part = std::as_bytes(bytes);
    if (first_.size() + part.size() > std::min(size_, kFirstBytes))
      return RuntimeError(ShownUrl(url_), "answer", "is longer than what was asked for");
    first_.insert(first_.end(), part.begin(), part.end());
    return {};
  };
  const auto done =
      client_.Get({.url = url_, .length = kFirstBytes, .if_range = {}}, on_head, on_body);
  if (!done) return std::unexpected(done.error().error);
  if (first_.size() == std::min(size_, kFirstBytes)) return {};
  return RuntimeError(ShownUrl(url_), "answer",
                      "has " + std::to_string(first_.size()) + " bytes of the " +
                          std::to_string(size_) + " of the file");
}

Status RemoteFile::Read(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t done = 0;
  if (offset < first_.size()) {
    done = std::min<std::size_t>(into.size(), first_.size() - static_cast<std::size_t>(offset));
    std::memcpy(into.data(), first_.data() + offset, done);
  }
  if (done == into.size()) return {};
  const std::uint64_t start = offset + done;
  const auto on_head = [&](const HttpHead& head) -> Result<bool> {
    if (head.status == kPartialContent && head.range_start == start) return true;
    return RuntimeError(ShownUrl(url_), "Range",
                        "the server did not give the bytes from " + std::to_string(start) + " on");
  };
  const auto on_body = [&](std::span<const char> bytes) -> Status {
    if (bytes.size() > into.size() - done)
      return RuntimeError(ShownUrl(url_), "answer", "is longer than what was asked for");
    std::memcpy(into.data() + done, bytes.data(), bytes.size());
    done += bytes.size();
    return {};
  };
  const auto got =
      client_.Get({.url = url_, .offset = start, .length = into.size() - done, .if_range = {}},
                  on_head, on_body);
  if (!got) return std::unexpected(got.error().error);
  if (done == into.size()) return {};
  return RuntimeError(ShownUrl(url_), "answer", "ended before its time");
}

}  // namespace folio
