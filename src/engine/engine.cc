// The public engine: a queue of commands in front of the loop, and streams behind it.
#include "folio/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <iterator>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/engine_loop.h"
#include "engine/load_options.h"
#include "engine/loaded_model.h"

namespace folio {
namespace {

// Its id twice, as it was submitted and in its chain, and its share of a block's hash.
constexpr std::uint64_t kBytesPerPromptToken = 12;

// What the loop is asked to do between two steps.
class CommandQueue {
 public:
  using Command = std::function<void()>;

  // False once closed: the command will not run.
  bool Post(Command command) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return false;
      commands_.push_back(std::move(command));
    }
    wake_.notify_one();
    return true;
  }

  // As Post, for a request: false also after StopRequests. What it let through stands in front of
  // every command posted afterwards.
  bool PostRequest(Command command) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || draining_) return false;
      commands_.push_back(std::move(command));
    }
    wake_.notify_one();
    return true;
  }

  void StopRequests() {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }

  // All commands so far; waits for one if `idle`. Nothing once closed and empty.
  std::optional<std::deque<Command>> Take(bool idle) {
    std::unique_lock lock(mutex_);
    if (idle) wake_.wait(lock, [this] { return closed_ || !commands_.empty(); });
    if (closed_ && commands_.empty()) return std::nullopt;
    return std::exchange(commands_, {});
  }

  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wake_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Command> commands_;
  bool closed_ = false;
  bool draining_ = false;
};

// What `work` returns; what the system refuses it, memory or a thread, as an error.
template <typename Work>
auto WithoutThrowing(const char* what, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return RuntimeError(what, "memory", "the system gives no more");
  } catch (const std::length_error&) {
    return RuntimeError(what, "memory", "no system gives so much");
  } catch (const std::system_error& error) {
    return RuntimeError(what, "", error.what());
  }
}

}  // namespace

// What the loop writes and the stream's owner reads.
struct Stream::Shared final : RequestSink {
  std::uint64_t id = 0;
  std::function<void()> cancel;
  std::function<void()> left_queue;
  std::shared_ptr<void> prompt_bytes;  // given back once the request is over

  std::mutex mutex;
  std::condition_variable wake;
  std::function<void()> ready;
  std::deque<Delta> deltas;
  std::optional<MissReport> arrival;
  std::optional<Progress> progress;  // until the first delta
  bool done = false;
  bool cancelled = false;  // asked once: the queue need not hold more of the same
  Outcome outcome;

  void OnScheduled() override { left_queue(); }

  // A reader that lags finds one piece a choice, not a list that grows.
  void OnDelta(Delta delta) override {
    {
      const std::lock_guard lock(mutex);
      progress.reset();
      const auto same = std::ranges::find(deltas, delta.choice, &Delta::choice);
      if (same == deltas.end()) {
        deltas.push_back(std::move(delta));
      } else {
        for (ControlMark& mark : delta.controls) mark.offset += same->text.size();
        same->text += delta.text;
        std::ranges::move(delta.controls, std::back_inserter(same->controls));
        std::ranges::move(delta.samples, std::back_inserter(same->samples));
        same->finished = delta.finished;
        same->stop_string = std::move(delta.stop_string);
      }
    }
    Tell();
  }

  void OnArrival(const MissReport& report) override {
    {
      const std::lock_guard lock(mutex);
      arrival = report;
    }
    Tell();
  }

  void OnProgress(const Progress& told) override {
    const std::lock_guard lock(mutex);
    progress = told;
  }

  void OnDone(Outcome result) override {
    {
      const std::lock_guard lock(mutex);
      outcome = std::move(result);
      done = true;
      prompt_bytes.reset();
    }
    Tell();
  }

 private:
  void Tell() {
    wake.notify_all();
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      call = ready;
    }
    if (call) call();
  }
};

Stream::Stream(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
Stream::Stream(Stream&&) noexcept = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  if (shared_ != nullptr) Cancel();
  shared_ = std::move(other.shared_);
  return *this;
}

Stream::~Stream() {
  if (shared_ != nullptr) Cancel();
}

std::uint64_t Stream::id() const { return shared_->id; }

std::optional<Delta> Stream::Next() {
  std::unique_lock lock(shared_->mutex);
  shared_->wake.wait(lock, [this] { return shared_->done || !shared_->deltas.empty(); });
  if (shared_->deltas.empty()) return std::nullopt;
  Delta delta = std::move(shared_->deltas.front());
  shared_->deltas.pop_front();
  return delta;
}

bool Stream::Wait(std::chrono::milliseconds timeout) {
  // The clock has an end: now and `timeout` together must not pass it.
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  timeout = std::clamp(timeout, std::chrono::milliseconds(0), kLongest);
  std::unique_lock lock(shared_->mutex);
  return shared_->wake.wait_for(lock, timeout,
                                [this] { return shared_->done || !shared_->deltas.empty(); });
}

std::optional<Delta> Stream::TryNext(bool& ended) {
  const std::lock_guard lock(shared_->mutex);
  ended = shared_->done && shared_->deltas.size() <= 1;
  if (shared_->deltas.empty()) return std::nullopt;
  Delta delta = std::move(shared_->deltas.front());
  shared_->deltas.pop_front();
  return delta;
}

void Stream::OnReady(std::function<void()> ready) {
  std::function<void()> call;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ready = std::move(ready);
    const bool now = shared_->done || shared_->arrival || !shared_->deltas.empty();
    if (now) call = shared_->ready;
  }
  if (call) call();
}

std::optional<MissReport> Stream::Arrival(std::chrono::milliseconds timeout) {
  std::unique_lock lock(shared_->mutex);
  shared_->wake.wait_for(lock, timeout,
                         [this] { return shared_->done || shared_->arrival.has_value(); });
  return shared_->arrival;
}

std::optional<Progress> Stream::progress() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->progress;
}

void Stream::Cancel() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->done || std::exchange(shared_->cancelled, true)) return;
  }
  shared_->cancel();
}

Result<Outcome> Stream::Finish() {
  while (Next()) {
  }
  for (const Reply& reply : shared_->outcome.choices) {
    if (reply.finish_reason == FinishReason::kError) return std::unexpected(reply.error);
  }
  return shared_->outcome;
}

const Outcome& Stream::outcome() const { return shared_->outcome; }

struct Engine::Impl {
  std::unique_ptr<LoadedModel> model;
  std::unique_ptr<EngineLoop> loop;  // used on `thread` only, but for what any thread may call
  std::shared_ptr<CommandQueue> commands = std::make_shared<CommandQueue>();
  std::int64_t max_queue = 0;
  std::uint64_t max_prompts_bytes = 0;
  // Outlives the streams that count in it.
  std::shared_ptr<std::atomic<std::uint64_t>> prompts_bytes =
      std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::int64_t> queued{0};  // submitted and not yet running
  std::atomic<std::uint64_t> next_id{1};
  std::jthread thread;  // last: it ends before what it uses

  Status Open(const EngineOptions& options, const LoadOptions& load) {
    Result<std::unique_ptr<LoadedModel>> loaded = LoadedModel::Load(options.model, load);
    if (!loaded) return std::unexpected(loaded.error());
    model = *std::move(loaded);
    Result<std::unique_ptr<EngineLoop>> created =
        EngineLoop::Create(*model, {.max_requests = options.max_requests,
                                    .max_draft_tokens = options.max_draft_tokens,
                                    .prompt_log_bytes = options.prompt_log_bytes});
    if (!created) return std::unexpected(created.error());
    loop = *std::move(created);
    max_queue = options.max_queue;
    max_prompts_bytes = options.max_prompts_bytes;
    next_id = options.first_request;
    thread = std::jthread([this] { Run(); });
    return {};
  }

  void Run() {
    while (auto batch = commands->Take(/*idle=*/loop->num_requests() == 0)) {
      for (const CommandQueue::Command& command : *batch) command();
      loop->Step();
    }
    loop->CancelAll();
  }

  // A place for the request's prompt, given back when destroyed; null if there is none.
  std::shared_ptr<void> TakeBytes(const Request& request) const {
    const std::uint64_t bytes = request.prompt.size() * kBytesPerPromptToken;
    const std::uint64_t all = prompts_bytes->fetch_add(bytes) + bytes;
    if (max_prompts_bytes > 0 && all > max_prompts_bytes && all > bytes) {
      prompts_bytes->fetch_sub(bytes);
      return nullptr;
    }
    return {prompts_bytes.get(),
            [total = prompts_bytes, bytes](void*) { total->fetch_sub(bytes); }};
  }

  // Runs `work` on the loop's thread and gives its result.
  template <typename Work>
  auto Ask(const Work& work) {
    using Answer = decltype(work());
    auto promise = std::make_shared<std::promise<Answer>>();
    std::future<Answer> answer = promise->get_future();
    commands->Post([promise, work] { promise->set_value(work()); });
    return answer.get();
  }
};

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  const Result<LoadOptions> load = LoadOptionsOf(options);
  if (!load) return std::unexpected(load.error());
  return WithoutThrowing("engine", [&]() -> Result<std::unique_ptr<Engine>> {
    auto impl = std::make_unique<Impl>();
    if (Status opened = impl->Open(options, *load); !opened) {
      return std::unexpected(opened.error());
    }
    return std::unique_ptr<Engine>(new Engine(std::move(impl)));
  });
}

Result<EnginePlan> Engine::Plan(const EngineOptions& options) {
  const Result<LoadOptions> load = LoadOptionsOf(options);
  if (!load) return std::unexpected(load.error());
  return WithoutThrowing("engine", [&]() -> Result<EnginePlan> {
    const Result<MemoryPlan> plan = LoadedModel::Plan(options.model, *load);
    if (!plan) return std::unexpected(plan.error());
    return EnginePlan{.memory = ReportOf(*plan), .context = plan->context};
  });
}

Engine::~Engine() { impl_->commands->Close(); }

Result<Stream> Engine::Submit(Request request) {
  if (Status checked = impl_->loop->Check(request); !checked) {
    return std::unexpected(checked.error());
  }
  return WithoutThrowing("request", [&]() -> Result<Stream> {
    auto grammars = impl_->loop->CompileGrammar(request);
    if (!grammars) return std::unexpected(grammars.error());
    const std::uint64_t id = impl_->next_id.fetch_add(1);
    auto shared = std::make_shared<Stream::Shared>();
    shared->id = id;
    EngineLoop* const loop = impl_->loop.get();
    shared->left_queue = [impl = impl_.get()] { impl->queued.fetch_sub(1); };
    shared->cancel = [weak = std::weak_ptr(impl_->commands), loop, id] {
      if (const auto commands = weak.lock()) commands->Post([loop, id] { loop->Cancel(id); });
    };
    shared->prompt_bytes = impl_->TakeBytes(request);
    if (shared->prompt_bytes == nullptr) {
      return RuntimeError("queue", "prompts",
                          "those that wait and run fill the memory for prompts");
    }
    auto owned = std::make_shared<Request>(std::move(request));
    auto matchers = std::make_shared<std::vector<GrammarMatcher>>(*std::move(grammars));
    if (impl_->queued.fetch_add(1) >= impl_->max_queue) {
      impl_->queued.fetch_sub(1);
      return RuntimeError("queue", "requests",
                          std::to_string(impl_->max_queue) +
                              " are waiting already, the most that may (--max-queue)");
    }
    const bool posted = impl_->commands->PostRequest([loop, id, owned, shared, matchers] {
      loop->Submit(id, std::move(*owned), shared, std::move(*matchers));
    });
    if (!posted) {
      impl_->queued.fetch_sub(1);
      return RuntimeError("engine", "", "is draining or ending: it takes no more requests");
    }
    return Stream(std::move(shared));
  });
}

std::int64_t Engine::LongestPrompt() const { return impl_->loop->LongestPrompt(); }

double Engine::SecondsUntilRoom() const { return impl_->loop->SecondsUntilRoom(); }

void Engine::Drain() {
  impl_->commands->StopRequests();
  while (impl_->Ask([impl = impl_.get()] { return impl->loop->num_requests(); }) > 0) {
  }
}

Snapshot Engine::TakeSnapshot(bool blocks) {
  return impl_->Ask([impl = impl_.get(), blocks] { return impl->loop->TakeSnapshot(blocks); });
}

std::int64_t Engine::ResetCache() {
  return impl_->Ask([impl = impl_.get()] { return impl->loop->ResetCache(); });
}

Result<std::vector<std::int32_t>> Engine::Tokenize(std::string_view text) const {
  return WithoutThrowing(
      "text", [&] { return impl_->model->tokenizer().EncodePrompt(text, SpecialTokens::kAsText); });
}

Status Engine::CheckGrammar(const ReplyGrammar& grammar) const {
  if (grammar.kind == ReplyGrammar::Kind::kNone) return {};
  return WithoutThrowing("grammar", [&]() -> Status {
    const auto matcher = impl_->model->grammars().Compile(grammar);
    return matcher ? Status() : std::unexpected(matcher.error());
  });
}

Result<Engine::Prompt> Engine::RenderChat(std::string_view messages_json,
                                          std::string_view extra_json) const {
  const Result<ChatTemplate>& chat_template = impl_->model->chat_template();
  if (!chat_template) return std::unexpected(chat_template.error());
  return WithoutThrowing("chat", [&]() -> Result<Prompt> {
    auto rendered = chat_template->RenderWithParts(impl_->model->tokenizer(), messages_json,
                                                   extra_json, /*add_generation_prompt=*/true);
    if (!rendered) return std::unexpected(rendered.error());
    return Prompt{.tokens = std::move(rendered->tokens), .parts = std::move(rendered->parts)};
  });
}

const LoadedModel& Engine::model() const { return *impl_->model; }

}  // namespace folio
