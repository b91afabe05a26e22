// One file from a URL to a path: resumed where an earlier run or attempt was cut, checked, and put
// in place whole.
#ifndef FOLIO_STORE_DOWNLOAD_H_
#define FOLIO_STORE_DOWNLOAD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "store/http_client.h"
#include "store/pull.h"

namespace folio {

struct DownloadJob {
  std::string url;
  std::string path;
  std::optional<std::uint64_t> bytes;  // if known beforehand
  std::string sha256;                  // likewise; else the server's X-Linked-ETag is taken
};

Result<PulledFile> Download(const HttpClient& client, const DownloadJob& job,
                            const PullOptions& options, const ProgressHandler& progress);

}  // namespace folio

#endif  // FOLIO_STORE_DOWNLOAD_H_
