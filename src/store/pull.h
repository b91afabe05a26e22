// Fetches a model into the store: chooses its files, downloads what is missing, checks sizes and
// checksums, and puts each file in place whole.
#ifndef FOLIO_STORE_PULL_H_
#define FOLIO_STORE_PULL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "store/model_source.h"
#include "store/model_store.h"

namespace folio {

struct PullOptions {
  std::string hub = "https://huggingface.co";  // where hf: sources are (HF_ENDPOINT)
  std::string token;   // for the hub only (HF_TOKEN); empty: none. Never shown.
  std::string sha256;  // of a single file, 64 hex digits; empty: what the server says, if anything
  std::chrono::seconds stall{30};
  int attempts = 5;  // a transfer that breaks off goes on where it was; waits double from `wait`
  std::chrono::milliseconds wait{500};
};

struct PullProgress {
  std::string file;
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total;
};
using ProgressHandler = std::function<void(const PullProgress&)>;

struct PulledFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::string sha256;     // empty if the file was there already
  bool verified = false;  // against a checksum of the caller or of the server
  bool was_there = false;
};

// `progress` is called often, from this thread.
Result<std::vector<PulledFile>> Pull(const ModelSource& source, const ModelStore& store,
                                     const PullOptions& options, const ProgressHandler& progress);

}  // namespace folio

#endif  // FOLIO_STORE_PULL_H_
