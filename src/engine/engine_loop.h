// The engine's one loop, a step at a time: schedule, make room, compute, draw, publish. Runs on one
// thread; folio/engine.h puts a queue in front of it.
#ifndef FOLIO_ENGINE_ENGINE_LOOP_H_
#define FOLIO_ENGINE_ENGINE_LOOP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "engine/batch_runner.h"
#include "engine/choice.h"
#include "engine/forecast.h"
#include "engine/loaded_model.h"
#include "engine/row_cost.h"
#include "folio/engine.h"
#include "kvcache/prompt_log.h"
#include "scheduler/scheduler.h"
#include "text/grammar.h"

namespace folio {

// Receives what comes of a request, on the loop's thread.
class RequestSink {
 public:
  RequestSink() = default;
  RequestSink(const RequestSink&) = delete;
  RequestSink& operator=(const RequestSink&) = delete;
  virtual ~RequestSink() = default;

  // Right after it was submitted, if asked for.
  virtual void OnArrival(const MissReport& /*report*/) {}
  // Now and then until the reply begins.
  virtual void OnProgress(const Progress& /*progress*/) {}
  virtual void OnScheduled() {}  // it left the queue: once, and always before OnDone
  virtual void OnDelta(Delta delta) = 0;
  virtual void OnDone(Outcome outcome) = 0;
};

// Each choice of a request is a sequence, whose id events name.
inline constexpr SequenceId kMostChoices = 1024;
constexpr SequenceId SequenceOf(std::uint64_t request, std::size_t choice) {
  return request * kMostChoices + choice;
}
constexpr std::uint64_t RequestOf(SequenceId sequence) { return sequence / kMostChoices; }
constexpr std::size_t ChoiceOf(SequenceId sequence) { return sequence % kMostChoices; }

struct EngineLoopOptions {
  std::int64_t max_requests = 64;     // sequences that run together
  std::int64_t max_batch_tokens = 0;  // rows of a step, at most the model's; 0 = the model's
  std::int64_t max_draft_tokens = 0;  // of a step, see EngineOptions
  // What one row more costs in parts of a step; below 0: as measured, which makes the lengths of
  // drafts, and nothing else, depend on the machine's speed.
  double draft_row_cost = -1;
  std::int64_t aging_ns = 30'000'000'000;
  std::uint64_t prompt_log_bytes = 0;
  // Sees the logits of every token right before it is drawn, and may change them: for tests, which
  // then draw on one thread. Choices of one prompt draw their first token from the same logits.
  std::function<void(std::uint64_t request, int choice, std::span<float> logits)> on_logits;
};

class EngineLoop {
 public:
  // `model` must outlive the loop. Its max_logit_rows is at least max_requests + max_draft_tokens.
  static Result<std::unique_ptr<EngineLoop>> Create(LoadedModel& model,
                                                    const EngineLoopOptions& options);
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  // Refuses what Submit must not get, with the reason. May be called from any thread.
  Status Check(const Request& request) const;
  std::int64_t LongestPrompt() const;  // so too

  double SecondsUntilRoom() const { return seconds_until_room_; }  // so too; see Engine

  // A matcher for each choice of a request that has a grammar; none of one that has none. May be
  // called from any thread.
  Result<std::vector<GrammarMatcher>> CompileGrammar(const Request& request) const;

  // Takes a request that passed Check, with what CompileGrammar gave for it. `id` must be new and
  // not 0.
  void Submit(std::uint64_t id, Request request, std::shared_ptr<RequestSink> sink,
              std::vector<GrammarMatcher> grammars = {});
  // Ends a request if it still runs or waits; its full blocks stay in the cache.
  void Cancel(std::uint64_t id);
  // Ends all of them so.
  void CancelAll();

  // Computes one step. False if there was nothing to do.
  bool Step();

  std::size_t num_requests() const { return requests_.size(); }
  Snapshot TakeSnapshot(bool blocks) const;
  std::int64_t ResetCache() { return model_->cache().pool().DropCached(); }
  const Scheduler& scheduler() const { return scheduler_; }
  // Empty, or what is wrong with the blocks.
  std::string CheckIntegrity() const;

 private:
  struct ActiveRequest;
  struct TokenDraw {
    ActiveRequest* request = nullptr;
    Choice* choice = nullptr;
    Sequence* sequence = nullptr;
    std::span<float> logits;              // of the last token, and after each of the draft
    std::span<const std::int32_t> draft;  // what was verified
    std::vector<std::int32_t> history;    // with the draft's, where penalties want it
    std::vector<std::int32_t> tokens;     // drawn: one, and one more for each of the draft accepted
  };
  EngineLoop(LoadedModel& model, const EngineLoopOptions& options, AlignedBuffer logits);

  void AddChoice(ActiveRequest& request);
  void ProposeDrafts();
  void NoteScheduled();
  void PrepareBlocks(folio::Step& step);
  void FailSequence(Sequence& sequence, const Error& error, folio::Step* step);
  void Compute(const folio::Step& step);
  void NoteCost(const folio::Step& step, std::int64_t forward_ns);
  void TellProgress(std::int64_t now_ns);
  void TellProgressOf(const Sequence& sequence, double seconds_more, std::int64_t& rows_before);
  void DrawTokens(const folio::Step& step, std::int64_t now_ns);
  void Draw(TokenDraw& draw);
  void TakeTokens(const TokenDraw& draw);
  void StartReplies(ActiveRequest& request, Sequence& sequence, std::int64_t now_ns);
  void CollectDraws(const folio::Step& step, std::int64_t now_ns);
  void AddDraw(ActiveRequest& request, std::size_t choice, Sequence& sequence,
               std::span<float> logits, std::span<const std::int32_t> draft);
  void EndChoice(ActiveRequest& request, Choice& choice, Sequence& sequence, folio::Step* step);
  void EndRequest(ActiveRequest& request, FinishReason reason, const Error& error,
                  folio::Step* step);
  void Deliver(ActiveRequest& request);
  void RecordExperts(const Chunk& chunk, std::span<const std::int16_t> experts);
  void TakeExperts(ActiveRequest& request, const Sequence& sequence, Reply& reply) const;
  std::vector<ExpertLoadSnapshot> ExpertLoads() const;
  void TellArrival(ActiveRequest& request, const TokenChain& chain);
  void ExplainMiss(ActiveRequest& request, const Sequence& sequence);
  void RecordTokens(const ActiveRequest& request, const Sequence& sequence);
  ActiveRequest& Owner(const Sequence& sequence);

  LoadedModel* model_;
  EngineLoopOptions options_;
  Scheduler scheduler_;
  BatchRunner runner_;
  PromptLog prompt_log_;
  std::unordered_map<std::uint64_t, std::unique_ptr<ActiveRequest>> requests_;
  AlignedBuffer logits_;  // [max_requests + max_draft_tokens, vocab]
  std::vector<BatchChunk> batch_;
  std::vector<TokenDraw> draws_;  // the first num_draws_ are of the step
  std::size_t num_draws_ = 0;
  RowCost row_cost_;
  Forecast forecast_;
  std::int64_t told_progress_ns_ = 0;
  std::atomic<double> seconds_until_room_{0};
  std::uint64_t steps_ = 0;
  // Of the steps that computed something.
  std::int64_t schedule_ns_ = 0;
  std::int64_t forward_ns_ = 0;
  std::int64_t draw_ns_ = 0;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_ENGINE_LOOP_H_
