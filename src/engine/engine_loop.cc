#include "engine/engine_loop.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/active_request.h"

namespace folio {
namespace {

std::int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Each choice matches the stop strings with tables of nine times their bytes, and looks at each of
// them for every byte of its reply.
constexpr std::size_t kMostStopStrings = 1024;
constexpr std::size_t kMostStopBytes = std::size_t{1} << 16;

Status CheckStops(std::span<const std::string> stops) {
  if (stops.size() > kMostStopStrings) {
    return UsageError("stop", "",
                      std::to_string(stops.size()) + " strings are more than " +
                          std::to_string(kMostStopStrings));
  }
  std::size_t bytes = 0;
  for (const std::string& stop : stops) bytes += stop.size();
  if (bytes <= kMostStopBytes) return {};
  return UsageError("stop", "",
                    "the strings have " + std::to_string(bytes) + " bytes, more than " +
                        std::to_string(kMostStopBytes));
}

Status CheckParts(std::span<const PromptPart> parts, std::int64_t tokens) {
  std::int64_t least = 0;
  for (const PromptPart& part : parts) {
    if (part.first_token < least || part.first_token > tokens) {
      return UsageError("parts", part.label,
                        "token " + std::to_string(part.first_token) + " is not from " +
                            std::to_string(least) + " to " + std::to_string(tokens));
    }
    least = part.first_token;
  }
  return {};
}

double Seconds(std::int64_t from_ns, std::int64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

Result<std::unique_ptr<EngineLoop>> EngineLoop::Create(LoadedModel& model,
                                                       const EngineLoopOptions& options) {
  const auto floats = static_cast<std::size_t>((options.max_requests + options.max_draft_tokens) *
                                               model.config().vocab);
  Result<AlignedBuffer> logits = AlignedBuffer::Create(floats * sizeof(float), "logits");
  if (!logits) return std::unexpected(logits.error());
  return std::unique_ptr<EngineLoop>(new EngineLoop(model, options, *std::move(logits)));
}

EngineLoop::EngineLoop(LoadedModel& model, const EngineLoopOptions& options, AlignedBuffer logits)
    : model_(&model),
      options_(options),
      scheduler_(
          {.max_batch_tokens = options.max_batch_tokens > 0 ? options.max_batch_tokens
                                                            : model.options().max_batch_tokens,
           .max_running = options.max_requests,
           .aging_ns = options.aging_ns},
          model.cache(), &model.trace()),
      runner_(model),
      prompt_log_(options.prompt_log_bytes, model.options().block_size),
      logits_(std::move(logits)) {}

EngineLoop::~EngineLoop() { CancelAll(); }

Status EngineLoop::Check(const Request& request) const {
  if (request.prompt.empty()) return UsageError("prompt", "", "is empty");
  if (Status ids = CheckTokenIds(request.prompt, model_->config().vocab); !ids) return ids;
  if (Status sampling = CheckSamplingParams(request.sampling); !sampling) return sampling;
  const auto most_choices = std::min<std::int64_t>(options_.max_requests, kMostChoices);
  if (request.choices < 1 || request.choices > most_choices) {
    return UsageError("choices", "",
                      std::to_string(request.choices) + " is not from 1 to " +
                          std::to_string(most_choices) + " (--max-requests)");
  }
  if (Status stops = CheckStops(request.stop); !stops) return stops;
  if (request.ignore_end_tokens && request.grammar.kind != ReplyGrammar::Kind::kNone) {
    return UsageError("grammar", "", "excludes going on after end tokens");
  }
  if (request.retention > CacheRetention::k24Hours) {
    return UsageError("retention", "",
                      std::to_string(static_cast<int>(request.retention)) + " is none that exists");
  }
  const auto tokens = static_cast<std::int64_t>(request.prompt.size());
  if (Status parts = CheckParts(request.parts, tokens); !parts) return parts;
  if (tokens >= model_->plan().context) {
    return UsageError("prompt", "tokens",
                      std::to_string(tokens) + " leave no room for a reply in the context of " +
                          std::to_string(model_->plan().context) + " (--context)");
  }
  return scheduler_.CheckRoom(tokens);
}

std::int64_t EngineLoop::LongestPrompt() const {
  return std::max<std::int64_t>(0,
                                std::min(model_->plan().context, scheduler_.LongestSequence()) - 1);
}

Result<std::vector<GrammarMatcher>> EngineLoop::CompileGrammar(const Request& request) const {
  std::vector<GrammarMatcher> matchers;
  if (request.grammar.kind == ReplyGrammar::Kind::kNone) return matchers;
  Result<GrammarMatcher> first = model_->grammars().Compile(request.grammar);
  if (!first) return std::unexpected(first.error());
  matchers.push_back(*std::move(first));
  for (int choice = 1; choice < request.choices; ++choice) {
    Result<GrammarMatcher> copy = matchers.front().Copy();
    if (!copy) return std::unexpected(copy.error());
    matchers.push_back(*std::move(copy));
  }
  return matchers;
}

void EngineLoop::Submit(std::uint64_t id, Request request, std::shared_ptr<RequestSink> sink,
                        std::vector<GrammarMatcher> grammars) {
  auto active = std::make_unique<ActiveRequest>();
  active->id = id;
  active->request = std::move(request);
  active->sink = std::move(sink);
  active->grammars = std::move(grammars);
  active->submitted_ns = NowNs();
  const Request& wants = active->request;
  const auto prompt = static_cast<std::int64_t>(wants.prompt.size());
  const std::int64_t room = std::min(model_->plan().context, scheduler_.LongestSequence()) - prompt;
  active->most_tokens = wants.max_tokens < 0 ? room : std::min(room, wants.max_tokens);
  active->outcome.id = id;
  active->outcome.usage.prompt_tokens = prompt;
  active->outcome.choices.resize(static_cast<std::size_t>(wants.choices));
  AddChoice(*active);

  TokenChain chain = model_->NewChain(wants.cache_salt);
  chain.Append(wants.prompt, RowKind::kPrompt);
  if (wants.tell_arrival) TellArrival(*active, chain);
  Sequence sequence(SequenceOf(id, 0), std::move(chain));
  sequence.priority = wants.priority;
  sequence.arrival_ns = active->submitted_ns;
  sequence.choices = wants.choices;
  sequence.blocks.retention = static_cast<Retention>(wants.retention);
  sequence.blocks.retained_tokens = std::min(wants.retained_tokens, prompt);
  ActiveRequest& kept = *requests_.emplace(id, std::move(active)).first->second;
  // Check has refused what can't be added.
  if (const auto added = scheduler_.Add(std::move(sequence)); !added) {
    EndRequest(kept, FinishReason::kError, added.error(), nullptr);
  }
}

// The request's next one.
void EngineLoop::AddChoice(ActiveRequest& request) {
  const std::size_t index = request.choices.size();
  std::optional<GrammarMatcher> grammar;
  if (!request.grammars.empty()) grammar = std::move(request.grammars[index]);
  request.choices.push_back(std::make_unique<Choice>(request.request, model_->tokenizer(),
                                                     static_cast<int>(index), request.most_tokens,
                                                     std::move(grammar)));
}

void EngineLoop::Cancel(std::uint64_t id) {
  const auto found = requests_.find(id);
  if (found != requests_.end()) EndRequest(*found->second, FinishReason::kCancelled, {}, nullptr);
}

void EngineLoop::CancelAll() {
  while (!requests_.empty()) Cancel(requests_.begin()->first);
}

bool EngineLoop::Step() {
  if (scheduler_.empty()) return false;
  const std::int64_t begin_ns = NowNs();
  ProposeDrafts();
  folio::Step step = scheduler_.Schedule(begin_ns);
  NoteScheduled();
  PrepareBlocks(step);
  if (step.chunks.empty()) return true;
  const std::int64_t scheduled_ns = NowNs();
  Compute(step);
  const std::int64_t computed_ns = NowNs();
  for (std::size_t i = 0; i < step.chunks.size(); ++i)
    if (runner_.CheckRows(i)) scheduler_.Computed(step.chunks[i]);
  ++steps_;
  NoteCost(step, computed_ns - scheduled_ns);
  const std::int64_t published_ns = NowNs();
  DrawTokens(step, published_ns);
  schedule_ns_ += scheduled_ns - begin_ns + published_ns - computed_ns;
  forward_ns_ += computed_ns - scheduled_ns;
  draw_ns_ += NowNs() - published_ns;
  return true;
}

EngineLoop::ActiveRequest& EngineLoop::Owner(const Sequence& sequence) {
  return *requests_.at(RequestOf(sequence.id));
}

void EngineLoop::NoteScheduled() {
  for (const Sequence* sequence : scheduler_.running()) {
    ActiveRequest& request = Owner(*sequence);
    if (request.told_scheduled) continue;
    request.told_scheduled = true;
    request.scheduled_ns = sequence->scheduled_ns;
    request.sink->OnScheduled();
  }
}

// A sequence whose blocks the system gives no memory for ends here; the others go on.
void EngineLoop::PrepareBlocks(folio::Step& step) {
  for (std::size_t i = 0; i < step.chunks.size();) {
    const Status prepared = runner_.Prepare(step.chunks[i].changes);
    if (prepared) {
      ++i;
      continue;
    }
    FailSequence(*step.chunks[i].sequence, prepared.error(), &step);
  }
}

// Ends one choice, or the whole request where its prompt is not computed yet.
void EngineLoop::FailSequence(Sequence& sequence, const Error& error, folio::Step* step) {
  ActiveRequest& request = Owner(sequence);
  if (!request.started) {
    EndRequest(request, FinishReason::kError, error, step);
    return;
  }
  Choice& choice = *request.choices[ChoiceOf(sequence.id)];
  choice.End(FinishReason::kError, error);
  EndChoice(request, choice, sequence, step);
  Deliver(request);
}

void EngineLoop::Compute(const folio::Step& step) {
  batch_.clear();
  for (const Chunk& chunk : step.chunks) {
    batch_.push_back(
        {.blocks = &chunk.sequence->blocks,
         .tokens = chunk.sequence->chain.tokens().subspan(
             static_cast<std::size_t>(chunk.first),
             static_cast<std::size_t>(chunk.rows - chunk.draft_rows)),
         .draft =
             std::span(chunk.sequence->draft).first(static_cast<std::size_t>(chunk.draft_rows)),
         .first = chunk.first,
         .stored_rows = chunk.stored_rows,
         .record_experts = Owner(*chunk.sequence).request.record_experts,
         .logit_rows = chunk.last ? 1 + chunk.draft_rows : 0});
  }
  runner_.Run(batch_, reinterpret_cast<float*>(logits_.data()));
  for (std::size_t i = 0; i < batch_.size(); ++i)
    if (batch_[i].record_experts) RecordExperts(step.chunks[i], runner_.ExpertsOf(i));
}

void EngineLoop::DrawTokens(const folio::Step& step, std::int64_t now_ns) {
  CollectDraws(step, now_ns);
  const auto count = static_cast<std::int64_t>(num_draws_);
  if (options_.on_logits) {
    for (std::size_t i = 0; i < num_draws_; ++i) Draw(draws_[i]);
  } else {
    // A draw sees its own logits, history and counter only: no order can change it.
    model_->pool().ParallelFor(count, [this](std::int64_t task, int /*thread*/) {
      Draw(draws_[static_cast<std::size_t>(task)]);
    });
  }
  for (std::size_t i = 0; i < num_draws_; ++i) {
    const TokenDraw& draw = draws_[i];
    TakeTokens(draw);
    if (draw.choice->finished()) {
      EndChoice(*draw.request, *draw.choice, *draw.sequence, nullptr);
    }
    const bool last = i + 1 == num_draws_ || draws_[i + 1].request != draw.request;
    if (last) Deliver(*draw.request);
  }
}

// Draws the next token, and goes on with the one after it as long as what was drawn is what the
// draft said: only then were its logits computed.
void EngineLoop::Draw(TokenDraw& draw) {
  const std::span<const std::int32_t> chain = draw.sequence->chain.tokens();
  const auto vocab = static_cast<std::size_t>(model_->config().vocab);
  draw.tokens.clear();
  draw.history.clear();
  for (std::size_t row = 0; row <= draw.draft.size(); ++row) {
    const std::span<float> logits = draw.logits.subspan(row * vocab, vocab);
    if (options_.on_logits) options_.on_logits(draw.request->id, draw.choice->index(), logits);
    if (row > 0 && draw.choice->reads_history()) {
      if (row == 1) draw.history.assign(chain.begin(), chain.end());
      draw.history.push_back(draw.tokens.back());
    }
    const std::span<const std::int32_t> history = draw.history.empty() ? chain : draw.history;
    const auto position = static_cast<std::int64_t>(chain.size() + row);
    draw.tokens.push_back(draw.choice->Draw(logits, history, position));
    if (draw.choice->finished()) return;
    if (row < draw.draft.size() && draw.tokens.back() != draw.draft[row]) return;
  }
}

// All that were drawn follow the sequence's tokens, but for a reply's last. Those before the last
// are computed already.
void EngineLoop::TakeTokens(const TokenDraw& draw) {
  const std::size_t taken = draw.tokens.size() - (draw.choice->finished() ? 1 : 0);
  for (std::size_t i = 0; i < taken; ++i) scheduler_.Append(*draw.sequence, draw.tokens[i]);
  if (draw.draft.empty()) return;
  const auto proposed = static_cast<std::int64_t>(draw.draft.size());
  const auto accepted = static_cast<std::int64_t>(draw.tokens.size()) - 1;
  scheduler_.Accept(*draw.sequence, accepted);
  draw.request->drafters[ChoiceOf(draw.sequence->id)]->Note(proposed, accepted);
  draw.request->outcome.usage.drafted_tokens += proposed;
  draw.request->outcome.usage.accepted_tokens += accepted;
  Emit(&model_->trace(),
       {.request = draw.sequence->id, .a = proposed, .b = accepted, .type = EventType::kDrafted});
}

// For each reply in the making, what may follow.
void EngineLoop::ProposeDrafts() {
  if (options_.max_draft_tokens == 0) return;
  std::int64_t rows = 0;
  for (const Sequence* sequence : scheduler_.running()) {
    rows += std::min(sequence->remaining(), model_->options().max_batch_tokens);
  }
  const auto row_cost = [this](std::int64_t step_rows) {
    return options_.draft_row_cost >= 0 ? options_.draft_row_cost
                                        : row_cost_.RowShare(static_cast<double>(step_rows));
  };
  std::int64_t left = options_.max_draft_tokens;
  for (Sequence* sequence : scheduler_.running()) {
    sequence->draft.clear();
    ActiveRequest& request = Owner(*sequence);
    if (left == 0 || !request.started || sequence->remaining() != 1) continue;
    const std::size_t index = ChoiceOf(sequence->id);
    std::unique_ptr<Drafter>& drafter = request.drafters[index];
    if (drafter == nullptr) {
      drafter =
          std::make_unique<Drafter>(request.outcome.usage.prompt_tokens + request.most_tokens);
    }
    const std::int64_t most = std::min(left, request.choices[index]->tokens_left() - 1);
    drafter->Propose(sequence->chain.tokens(), row_cost(rows), most, sequence->draft);
    const auto drafted = static_cast<std::int64_t>(sequence->draft.size());
    left -= drafted;
    rows += drafted;
  }
}

void EngineLoop::NoteCost(const folio::Step& step, std::int64_t forward_ns) {
  const bool decodes_only = std::ranges::all_of(
      step.chunks, [](const Chunk& chunk) { return chunk.rows == 1 + chunk.draft_rows; });
  if (decodes_only) row_cost_.Note(static_cast<double>(step.rows), static_cast<double>(forward_ns));
}

// One for each choice whose logits the step computed.
void EngineLoop::CollectDraws(const folio::Step& step, std::int64_t now_ns) {
  num_draws_ = 0;
  const auto vocab = static_cast<std::size_t>(model_->config().vocab);
  auto* row = reinterpret_cast<float*>(logits_.data());
  for (std::size_t i = 0; i < step.chunks.size(); ++i) {
    const Chunk& chunk = step.chunks[i];
    const auto drafted = static_cast<std::size_t>(chunk.draft_rows);
    const std::span<float> logits(row, chunk.last ? (1 + drafted) * vocab : 0);
    row += logits.size();
    if (const Status computed = runner_.CheckRows(i); !computed) {
      FailSequence(*chunk.sequence, computed.error(), nullptr);
      continue;
    }
    if (!chunk.last) continue;
    ActiveRequest& request = Owner(*chunk.sequence);
    if (request.started) {
      AddDraw(request, ChoiceOf(chunk.sequence->id), *chunk.sequence, logits,
              std::span(chunk.sequence->draft).first(drafted));
      continue;
    }
    StartReplies(request, *chunk.sequence, now_ns);
    if (request.most_tokens == 0) {
      EndRequest(request, FinishReason::kLength, {}, nullptr);
      continue;
    }
    for (std::size_t choice = 0; choice < request.choices.size(); ++choice)
      AddDraw(request, choice, *scheduler_.Find(SequenceOf(request.id, choice)), logits, {});
  }
}

void EngineLoop::AddDraw(ActiveRequest& request, std::size_t choice, Sequence& sequence,
                         std::span<float> logits, std::span<const std::int32_t> draft) {
  if (num_draws_ == draws_.size()) draws_.emplace_back();
  TokenDraw& draw = draws_[num_draws_++];  // keeps the memory of its lists
  draw.request = &request;
  draw.choice = request.choices[choice].get();
  draw.sequence = &sequence;
  draw.logits = logits;
  draw.draft = draft;
}

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
  const std::int64_t now_ns = NowNs();
  Timings& timings = request.outcome.timings;
  const std::int64_t scheduled = request.scheduled_ns < 0 ? now_ns : request.scheduled_ns;
  const std::int64_t first = request.first_token_ns < 0 ? now_ns : request.first_token_ns;
  timings.queued_seconds = Seconds(request.submitted_ns, scheduled);
  timings.prefill_seconds = Seconds(scheduled, first);
  timings.decode_seconds = Seconds(first, now_ns);
  if (!request.told_scheduled) request.sink->OnScheduled();
  request.sink->OnDone(std::move(request.outcome));
  requests_.erase(request.id);
}

std::string EngineLoop::CheckIntegrity() const {
  std::vector<const SequenceBlocks*> blocks;
  for (const Sequence* sequence : scheduler_.All()) blocks.push_back(&sequence->blocks);
  return model_->cache().CheckIntegrity(blocks);
}

}  // namespace folio
