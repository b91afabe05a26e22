// The file of records: read for what an earlier run has answered, repaired, and appended to, a
// whole line at a time. One process at a time holds it.
#ifndef FOLIO_APPS_FOLIO_BATCH_OUTPUT_H_
#define FOLIO_APPS_FOLIO_BATCH_OUTPUT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "folio/batch_digest.h"

namespace folio {

class BatchOutput {
 public:
  // A line of the input that an earlier run has answered.
  struct Answered {
    BatchDigest custom_id;
    std::string id;         // the record's, without "batch_req_"
    std::int64_t line = 0;  // of the record

    auto operator<=>(const Answered&) const = default;
  };

  // Creates the file or reads the one that is there, changing nothing. It must consist of records,
  // all answered by `model`, but for its last line, which may be the beginning of one.
  static Result<BatchOutput> Open(const std::string& path, const std::string& model);
  // Deletes the file if it was created here and nothing was written.
  ~BatchOutput();
  BatchOutput(BatchOutput&& other) noexcept;
  BatchOutput& operator=(BatchOutput&&) = delete;
  BatchOutput(const BatchOutput&) = delete;
  BatchOutput& operator=(const BatchOutput&) = delete;

  const std::string& path() const { return path_; }
  // Sorted by custom_id.
  const std::vector<Answered>& answered() const { return answered_; }

  // Leaves only the records of what was answered: drops those of failures, which are tried again,
  // and a last line that was cut. By an atomic rename where lines in the middle go.
  Status Repair();
  // The line, with its newline, is in the file when this returns; on failure none of it is.
  Status Append(std::string_view line);
  // To the disk.
  Status Sync();

 private:
  struct Stretch {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
  };

  BatchOutput(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status Lock();
  Status ReadRecords(const std::string& model);
  Status CopyKept(int to) const;

  std::string path_;
  int fd_ = -1;
  bool created_ = false;
  std::uint64_t size_ = 0;
  std::vector<Answered> answered_;
  std::vector<Stretch> kept_;  // neighbouring records that stay
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BATCH_OUTPUT_H_
