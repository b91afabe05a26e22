#include "folio/batch_run.h"

#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

#include "api/openai_request.h"

namespace folio {
namespace {

constexpr std::chrono::milliseconds kPoll{100};

std::int64_t SecondsSince1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Result<ApiRequest> Parse(const BatchLine& line) {
  Result<ApiRequest> request = line.endpoint == BatchEndpoint::kCompletions
                                   ? ParseCompletion(line.body)
                                   : ParseChatCompletion(line.body);
  if (request && request->stream) {
    return InputError("", "stream", "is true: a batch has no streams");
  }
  return request;
}

}  // namespace

BatchRun::BatchRun(Engine& engine, BatchInput& input, BatchOutput& output, std::string model,
                   TokenBytes bytes)
    : engine_(&engine),
      input_(&input),
      output_(&output),
      model_(std::move(model)),
      bytes_(std::move(bytes)) {}

BatchTotals BatchRun::totals() {
  const std::lock_guard lock(mutex_);
  return totals_;
}

void BatchRun::Stop(Status status) {
  {
    const std::lock_guard lock(mutex_);
    if (status_) status_ = std::move(status);
  }
  running_.CancelAll();
}

Status BatchRun::Run(std::size_t in_flight, const std::function<bool(const BatchTotals&)>& poll) {
  std::vector<std::jthread> threads;
  workers_ = in_flight;
  for (std::size_t i = 0; i < in_flight; ++i) {
    try {
      threads.emplace_back([this, in_flight] { Work(in_flight); });
    } catch (const std::system_error& error) {
      const std::lock_guard lock(mutex_);
      workers_ -= in_flight - i;
      if (i == 0) return RuntimeError("batch", "threads", error.what());
      break;  // those that started do it all
    }
  }
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kPoll, [this] { return workers_ == 0; })) {
    const BatchTotals totals = totals_;
    lock.unlock();
    if (!poll(totals)) Stop({});
    lock.lock();
  }
  return status_;
}

void BatchRun::Work(std::size_t window) {
  Status status;
  try {
    status = WorkUntilDone(window);
  } catch (const std::exception& error) {  // no memory: nothing else is thrown
    status = RuntimeError("batch", "", error.what());
  }
  if (!status) Stop(status);
  const std::lock_guard lock(mutex_);
  --workers_;
  ended_.notify_all();
}

Status BatchRun::WorkUntilDone(std::size_t window) {
  while (true) {
    Result<std::optional<Job>> job = Take(window);
    if (!job) return std::unexpected(job.error());
    if (!*job) return {};
    if ((*job)->request) Finish(**job, window);
    if (const Status written = Write(**job); !written) return written;
  }
}

Result<std::optional<BatchRun::Job>> BatchRun::Take(std::size_t window) {
  const std::lock_guard lock(input_mutex_);
  if (running_.cancelled()) return std::nullopt;
  Result<std::optional<BatchItem>> item = input_->Next();
  if (!item) return std::unexpected(item.error());
  if (!*item) return std::nullopt;
  return MakeJob(std::move(**item), window);
}

BatchRun::Job BatchRun::MakeJob(BatchItem item, std::size_t window) {
  Job job{.item = std::move(item), .record = {}};
  job.record.id = job.item.id;
  job.record.custom_id = job.item.line.custom_id;
  job.record.error = job.item.line.refusal;
  if (job.record.error) return job;
  Result<ApiRequest> request = Parse(job.item.line);
  job.item.line.body = {};
  if (!request) {
    Fail(job, request.error());
    return job;
  }
  if (!request->seed) request->seed = job.item.seed;
  job.logprobs = request->request.sampling.logprobs.has_value();
  job.request.emplace(*engine_, running_, *std::move(request));
  if (const Status submitted = job.request->Submit(window); !submitted) {
    Fail(job, submitted.error());
  }
  return job;
}

void BatchRun::Finish(Job& job, std::size_t window) {
  Result<std::vector<Outcome>> outcomes = job.request->Finish(window, [this](std::int64_t tokens) {
    const std::lock_guard lock(mutex_);
    totals_.completion_tokens += tokens;
  });
  if (outcomes) {
    Answer(job, *std::move(outcomes));
  } else {
    Fail(job, outcomes.error());
  }
}

void BatchRun::Answer(Job& job, std::vector<Outcome> outcomes) {
  const bool completion = job.item.line.endpoint == BatchEndpoint::kCompletions;
  const ReplyHead head{.id = (completion ? "cmpl-" : "chatcmpl-") + job.item.id,
                       .model = model_,
                       .created = SecondsSince1970()};
  job.record.status_code = 200;
  job.record.request_id = "req_" + job.item.id;
  job.record.body = completion ? CompletionJson(head, outcomes, job.logprobs, bytes_)
                               : ChatCompletionJson(head, outcomes.front(), job.logprobs, bytes_);
  const std::lock_guard lock(mutex_);
  for (const Outcome& outcome : outcomes) {
    totals_.prompt_tokens += outcome.usage.prompt_tokens;
    totals_.cached_tokens += outcome.usage.cached_tokens;
  }
}

// What the caller can mend is the request's answer; what the engine failed at is none.
void BatchRun::Fail(Job& job, const Error& error) {
  job.request.reset();
  if (error.kind == ErrorKind::kRuntime) {
    job.record.error = BatchRefusal{"server_error", error.Message()};
    return;
  }
  job.record.status_code = HttpStatusOf(error);
  job.record.request_id = "req_" + job.item.id;
  job.record.body = ErrorJson(error);
}

Status BatchRun::Write(const Job& job) {
  const bool answered = job.record.status_code == 200;
  // What was cancelled is not a failure: the next run does it.
  if (!answered && running_.cancelled()) return {};
  const std::string line = BatchRecordLine(job.record);
  const std::lock_guard lock(mutex_);
  if (const Status written = output_->Append(line); !written) return written;
  ++(answered ? totals_.answered : totals_.failed);
  return {};
}

}  // namespace folio
