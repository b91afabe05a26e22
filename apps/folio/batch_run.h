// Runs the lines of a batch: each is submitted in the file's order, as many at a time as keep the
// engine busy, and written when it is done.
#ifndef FOLIO_APPS_FOLIO_BATCH_RUN_H_
#define FOLIO_APPS_FOLIO_BATCH_RUN_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/batch_format.h"
#include "api/openai_reply.h"
#include "base/error.h"
#include "folio/batch_input.h"
#include "folio/batch_output.h"
#include "folio/batch_request.h"
#include "folio/engine.h"

namespace folio {

struct BatchTotals {
  std::int64_t answered = 0;  // with status 200
  std::int64_t failed = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t completion_tokens = 0;  // also of requests that still run
};

class BatchRun {
 public:
  BatchRun(Engine& engine, BatchInput& input, BatchOutput& output, std::string model,
           TokenBytes bytes);

  // Ends when every line has its record, or with an error: a file that can't be read or written.
  // `poll` is called several times a second; once it returns false, what runs is cancelled and
  // leaves no record. `in_flight`: lines that are submitted and not yet written.
  Status Run(std::size_t in_flight, const std::function<bool(const BatchTotals&)>& poll);
  BatchTotals totals();

 private:
  // A line between its submission and its record.
  struct Job {
    BatchItem item;
    bool logprobs = false;
    std::optional<BatchRequest> request;
    BatchRecord record;  // where there is no request to wait for
  };

  void Work(std::size_t window);
  Status WorkUntilDone(std::size_t window);
  Result<std::optional<Job>> Take(std::size_t window);
  Job MakeJob(BatchItem item, std::size_t window);
  void Finish(Job& job, std::size_t window);
  void Answer(Job& job, std::vector<Outcome> outcomes);
  void Fail(Job& job, const Error& error);
  Status Write(const Job& job);
  void Stop(Status status);

  Engine* engine_;
  BatchInput* input_;
  BatchOutput* output_;
  std::string model_;
  TokenBytes bytes_;
  RunningStreams running_;

  std::mutex input_mutex_;  // one line at a time is parsed and rendered: one line's memory
  std::mutex mutex_;        // of what follows, and of the output
  std::condition_variable ended_;
  std::size_t workers_ = 0;
  Status status_;
  BatchTotals totals_;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BATCH_RUN_H_
