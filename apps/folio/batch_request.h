// One API request on the engine: its prompts become streams, and the streams a reply.
#ifndef FOLIO_APPS_FOLIO_BATCH_REQUEST_H_
#define FOLIO_APPS_FOLIO_BATCH_REQUEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "api/api_request.h"
#include "base/error.h"
#include "folio/engine.h"

namespace folio {

// The streams that run now, so that another thread can end them all.
class RunningStreams {
 public:
  void Add(Stream& stream);
  void Remove(Stream& stream);
  // Cancels every stream, and those that are added later at once.
  void CancelAll();
  bool cancelled();

 private:
  std::mutex mutex_;
  std::unordered_set<Stream*> streams_;
  bool cancelled_ = false;
};

class BatchRequest {
 public:
  // `engine` and `running` must outlive this.
  BatchRequest(Engine& engine, RunningStreams& running, ApiRequest request);
  ~BatchRequest();
  BatchRequest(BatchRequest&&) noexcept = default;
  BatchRequest& operator=(BatchRequest&&) = delete;

  const ApiRequest& request() const { return request_; }

  // Submits prompts while fewer than `window` of this request run.
  Status Submit(std::size_t window);
  // Reads all prompts' streams to their end, submitting what is left as others finish. `on_tokens`
  // receives how many more tokens were generated.
  Result<std::vector<Outcome>> Finish(std::size_t window,
                                      const std::function<void(std::int64_t)>& on_tokens);

 private:
  std::size_t prompts() const { return request_.prompts.empty() ? 1 : request_.prompts.size(); }
  Result<Request> Make(std::size_t prompt);
  Status SubmitNext();

  Engine* engine_;
  RunningStreams* running_;
  ApiRequest request_;
  std::size_t submitted_ = 0;
  std::vector<std::unique_ptr<Stream>> streams_;  // of each prompt; null once it was read
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BATCH_REQUEST_H_
