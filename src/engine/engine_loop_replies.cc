// How replies begin and end: forks of a computed prompt, outcomes, and what goes to the sinks.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/steady_time.h"
#include "engine/active_request.h"
#include "engine/engine_loop.h"

namespace folio {
namespace {

double Seconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

// The prompt is computed: every choice gets a sequence of its own.
void EngineLoop::StartReplies(ActiveRequest& request, Sequence& sequence, std::int64_t now_ns) {
  request.started = true;
  if (!request.routing.empty())
    request.routing.resize(request.outcome.choices.size(), request.routing.front());
  request.drafters.resize(request.outcome.choices.size());
  request.first_token_ns = now_ns;
  ExplainMiss(request, sequence);
  for (int i = 1; i < request.request.choices; ++i) {
    scheduler_.Fork(sequence, SequenceOf(request.id, static_cast<std::size_t>(i)));
    AddChoice(request);
  }
}

// The choice has finished: its sequence leaves, its reply goes to the outcome.
void EngineLoop::EndChoice(ActiveRequest& request, Choice& choice, Sequence& sequence,
                           folio::Step* step) {
  Usage& usage = request.outcome.usage;
  usage.cached_tokens += sequence.cached_tokens;
  if (choice.index() == 0 && sequence.blocks.computed > 0) RecordTokens(request, sequence);
  usage.computed_tokens += sequence.computed_rows;
  usage.generated_tokens += choice.generated();
  Reply& reply = request.outcome.choices[static_cast<std::size_t>(choice.index())];
  reply = choice.TakeReply();
  TakeExperts(request, sequence, reply);
  Emit(&model_->trace(), {.request = sequence.id,
                          .a = choice.generated(),
                          .b = static_cast<std::int64_t>(reply.finish_reason),
                          .type = EventType::kFinished});
  scheduler_.Remove(sequence, step);
  ++request.ended;
}

void EngineLoop::EndRequest(ActiveRequest& request, FinishReason reason, const Error& error,
                            folio::Step* step) {
  for (std::size_t i = 0; i < request.choices.size(); ++i) {
    Choice& choice = *request.choices[i];
    if (choice.finished()) continue;
    choice.End(reason, error);
    Sequence* const sequence = scheduler_.Find(SequenceOf(request.id, i));
    if (sequence == nullptr) {  // it never got into the scheduler
      request.outcome.choices[i] = choice.TakeReply();
      continue;
    }
    EndChoice(request, choice, *sequence, step);
  }
  // Choices that never began end as the prompt did.
  for (std::size_t i = request.choices.size(); i < request.outcome.choices.size(); ++i) {
    request.outcome.choices[i].finish_reason = reason;
    request.outcome.choices[i].error = error;
  }
  request.ended = request.outcome.choices.size();
  Deliver(request);
}

// Hands over what is new, and the outcome if that was all.
void EngineLoop::Deliver(ActiveRequest& request) {
  for (const std::unique_ptr<Choice>& choice : request.choices) {
    if (std::optional<Delta> delta = choice->TakeDelta()) request.sink->OnDelta(*std::move(delta));
  }
  if (request.ended < request.outcome.choices.size()) return;
  const std::int64_t now_ns = SteadyNowNs();
  Timings& timings = request.outcome.timings;
  const std::int64_t scheduled = request.scheduled_ns < 0 ? now_ns : request.scheduled_ns;
  const std::int64_t first = request.first_token_ns < 0 ? now_ns : request.first_token_ns;
  timings.queued_seconds = Seconds(request.submitted_ns, scheduled);
  timings.prefill_seconds = Seconds(scheduled, first);
  timings.decode_seconds = Seconds(first, now_ns);
  if (request.first_token_ns >= 0) forecast_.NoteReply(timings.decode_seconds);
  if (!request.told_scheduled) request.sink->OnScheduled();
  request.sink->OnDone(std::move(request.outcome));
  requests_.erase(request.id);
}

}  // namespace folio
