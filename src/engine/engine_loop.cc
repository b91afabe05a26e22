#include "engine/engine_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/steady_time.h"
#include "engine/active_request.h"

namespace folio {
namespace {

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
  active->submitted_ns = SteadyNowNs();
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
  sequence.owner = std::hash<std::string>()(wants.owner);
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
  const std::int64_t begin_ns = SteadyNowNs();
  ProposeDrafts();
  folio::Step step = scheduler_.Schedule(begin_ns);
  NoteScheduled();
  PrepareBlocks(step);
  if (step.chunks.empty()) return true;
  const std::int64_t scheduled_ns = SteadyNowNs();
  Compute(step);
  const std::int64_t computed_ns = SteadyNowNs();
  for (std::size_t i = 0; i < step.chunks.size(); ++i)
    if (runner_.CheckRows(i)) scheduler_.Computed(step.chunks[i]);
  ++steps_;
  NoteCost(step, computed_ns - scheduled_ns);
  TellProgress(computed_ns);
  const std::int64_t published_ns = SteadyNowNs();
  DrawTokens(step, published_ns);
  schedule_ns_ += scheduled_ns - begin_ns + published_ns - computed_ns;
  forward_ns_ += computed_ns - scheduled_ns;
  draw_ns_ += SteadyNowNs() - published_ns;
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

std::string EngineLoop::CheckIntegrity() const {
  std::vector<const SequenceBlocks*> blocks;
  for (const Sequence* sequence : scheduler_.All()) blocks.push_back(&sequence->blocks);
  return model_->cache().CheckIntegrity(blocks);
}

}  // namespace folio
