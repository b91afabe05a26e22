// A file on a server that gives ranges, read a part at a time: enough for the header of a model
// that nobody wants to fetch whole.
#ifndef FOLIO_STORE_REMOTE_FILE_H_
#define FOLIO_STORE_REMOTE_FILE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/byte_source.h"
#include "store/http_client.h"

namespace folio {

class RemoteFile final : public ByteSource {
 public:
  // Asks for the first `kFirstBytes`, from which the size follows. A server that sends the whole
  // file instead serves for files that are not larger. `client` must outlive it.
  static Result<std::unique_ptr<ByteSource>> Open(const HttpClient& client, const std::string& url);
  static constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20;

  std::uint64_t size() const override { return size_; }
  Status Read(std::uint64_t offset, std::span<std::byte> into) const override;

 private:
  RemoteFile(const HttpClient& client, std::string url) : client_(client), url_(std::move(url)) {}
  Status ReadFirst();

  const HttpClient& client_;
  std::string url_;
  std::uint64_t size_ = 0;
  std::vector<std::byte> first_;
};

}  // namespace folio

#endif  // FOLIO_STORE_REMOTE_FILE_H_
