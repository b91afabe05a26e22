// The file of requests, read twice: once to see what there is to do, once to do it.
#ifndef FOLIO_APPS_FOLIO_BATCH_INPUT_H_
#define FOLIO_APPS_FOLIO_BATCH_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/batch_format.h"
#include "base/error.h"
#include "folio/batch_digest.h"
#include "folio/batch_output.h"
#include "folio/jsonl_reader.h"

namespace folio {

// What is to be done with one line.
struct BatchItem {
  BatchLine line;
  std::int64_t number = 0;
  std::string id;          // of its record: a digest of the request, so the same in every run
  std::uint64_t seed = 0;  // likewise, for a request that names none
};

class BatchInput {
 public:
  // Reads the file through. An error if `output` has answers to other requests than these.
  static Result<BatchInput> Open(const std::string& path, const BatchOutput& output);

  std::int64_t lines() const { return lines_; }        // that are not blank
  std::int64_t answered() const { return answered_; }  // of them, by an earlier run

  // The next line that is not answered, or nothing at the end. One whose custom_id an earlier line
  // has is refused.
  Result<std::optional<BatchItem>> Next();

 private:
  struct Repeated {
    BatchDigest custom_id;
    bool seen = false;
  };

  BatchInput(std::string path, JsonlReader reader, const BatchOutput& output)
      : path_(std::move(path)), reader_(std::move(reader)), output_(&output) {}
  Status Scan();
  Result<std::optional<BatchItem>> NextItem();
  const BatchOutput::Answered* AnswerTo(const BatchDigest& custom_id) const;
  void FindRepeated(std::vector<BatchDigest> custom_ids);
  // Whether an earlier line has this line's custom_id.
  bool IsRepeated(const BatchDigest& custom_id);

  std::string path_;
  JsonlReader reader_;
  const BatchOutput* output_;
  std::vector<Repeated> repeated_;  // custom_ids of several lines, sorted
  std::int64_t lines_ = 0;
  std::int64_t answered_ = 0;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BATCH_INPUT_H_
