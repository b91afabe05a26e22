#include "server/reply_stream.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "api/openai_logprobs.h"
#include "server/created_tokens.h"
#include "server/progress_note.h"
#include "server/reasoning_count.h"

namespace folio {
namespace {

// The engine takes requests between two steps; a head isn't held back longer than this for what it
// tells of the cache.
constexpr std::chrono::milliseconds kArrivalWait(1000);

ApiError ErrorOf(const Outcome& outcome) {
  for (const Reply& reply : outcome.choices) {
    if (reply.finish_reason == FinishReason::kError) return ApiErrorOf(reply.error);
  }
  return {.kind = ApiError::Kind::kUnavailable, .message = "the request was cancelled"};
}

bool Failed(const Outcome& outcome) {
  return std::ranges::any_of(outcome.choices, [](const Reply& reply) {
    return reply.finish_reason == FinishReason::kError ||
           reply.finish_reason == FinishReason::kCancelled;
  });
}

}  // namespace

HttpHead HeadOfReply(bool stream, HttpFields fields) {
  fields.emplace_back("Content-Type", stream ? "text/event-stream" : "application/json");
  if (stream) fields.emplace_back("Cache-Control", "no-cache");
  return {.status = 200, .fields = std::move(fields)};
}

struct ReplyStream::Choice {
  std::unique_ptr<ReplyParser> parser;
  std::size_t characters = 0;  // of the text so far, for offsets
  GeneratedReply generated;
  bool in_call = false;  // one that is not whole yet
  ReasoningCount reasoning;

  void Note(const ReplyPiece& piece);
};

void ReplyStream::Choice::Note(const ReplyPiece& piece) {
  switch (piece.kind) {
    case ReplyPiece::Kind::kText:
      generated.text += piece.text;
      break;
    case ReplyPiece::Kind::kReasoning:
      generated.reasoning += piece.text;
      break;
    case ReplyPiece::Kind::kCallStart:
      if (in_call) generated.calls.pop_back();
      generated.calls.emplace_back(piece.text, "");
      in_call = true;
      break;
    case ReplyPiece::Kind::kCallArguments:
      generated.calls.back().second += piece.text;
      break;
    case ReplyPiece::Kind::kCallEnd:
      in_call = false;
      break;
  }
}

ReplyStream::ReplyStream(Parts parts)
    : parts_(std::move(parts)),
      ended_(parts_.streams.size(), false),
      since_(std::chrono::steady_clock::now()) {
  const std::size_t choices =
      parts_.streams.size() * static_cast<std::size_t>(parts_.request.request.choices);
  choices_.resize(choices);
  if (!parts_.request.prompts.empty()) return;
  const bool may_call = parts_.request.tool_choice.kind != ToolChoice::Kind::kNone;
  const std::span<const Tool> callable =
      may_call ? std::span<const Tool>(parts_.request.tools) : std::span<const Tool>();
  for (Choice& choice : choices_) {
    choice.parser = MakeReplyParser(parts_.syntax, callable, parts_.parsing);
  }
}

ReplyStream::~ReplyStream() {
  for (Stream& stream : parts_.streams) {
    stream.OnReady({});
    stream.Cancel();
  }
  if (!over_) {
    parts_.record.cancelled = true;
    parts_.record.totals = TotalsSoFar();
  }
  Observe();
}

void ReplyStream::OnReady(std::function<void()> ready) {
  for (Stream& stream : parts_.streams) stream.OnReady(ready);
}

bool ReplyStream::Open(bool now_or_never) {
  if (open_) return true;
  const auto arrival = parts_.streams.front().Arrival(std::chrono::milliseconds(0));
  const bool late = std::chrono::steady_clock::now() - since_ >= kArrivalWait;
  if (!arrival && !late && !now_or_never) return false;
  if (arrival && parts_.arrived) parts_.arrived(*arrival, parts_.start, parts_.fields);
  open_ = true;
  opening_ = parts_.writer->Begin(parts_.start);
  return true;
}

void ReplyStream::Begin(HttpPart& part) {
  begun_ = true;
  part.head = HeadOfReply(parts_.request.stream, parts_.fields);
  if (parts_.request.stream) part.bytes += std::exchange(opening_, {});
}

HttpPart ReplyStream::Next() {
  HttpPart part;
  const bool has_news = parts_.streams.front().Wait(std::chrono::milliseconds(0));
  if (!Open(/*now_or_never=*/has_news)) {
    part.again = kArrivalWait;
    return part;
  }
  if (!begun_ && parts_.request.stream) Begin(part);
  std::string events;
  for (std::size_t i = 0; i < parts_.streams.size() && !over_; ++i) {
    if (ended_[i] || !TakeDeltas(i, events)) continue;
    ended_[i] = true;
    if (const Outcome& outcome = parts_.streams[i].outcome(); Failed(outcome)) {
      if (parts_.request.stream) part.bytes += std::exchange(events, {});
      Fail(ErrorOf(outcome), part);
    }
  }
  if (parts_.request.stream) part.bytes += events;
  if (!over_ && std::ranges::all_of(ended_, [](bool ended) { return ended; })) Conclude(part);
  return part;
}

HttpPart ReplyStream::KeepAlive() {
  HttpPart part;
  Open(/*now_or_never=*/true);
  if (parts_.request.stream) {
    if (!begun_) Begin(part);
    std::vector<Progress> prompts;
    for (const Stream& of : parts_.streams) {
      if (const auto progress = of.progress()) prompts.push_back(*progress);
    }
    part.bytes += parts_.writer->KeepAlive(ProgressNote(prompts));
  } else if (begun_ || std::chrono::steady_clock::now() - since_ >= kWholeHeadDelay) {
    if (!begun_) Begin(part);
    part.bytes += '\n';
  }
  return part;
}

bool ReplyStream::TakeDeltas(std::size_t prompt, std::string& events) {
  bool ended = false;
  while (auto delta = parts_.streams[prompt].TryNext(ended)) {
    Tell(prompt, *delta, events);
    if (ended) break;
  }
  return ended;
}

ReplyAddition ReplyStream::AdditionOf(Choice& choice, const Delta& delta) {
  ReplyAddition addition;
  if (parts_.request.tells_nothing) return addition;
  std::vector<ReplyPiece>& pieces = addition.pieces;
  const std::string_view text = delta.text;
  if (choice.parser == nullptr) {
    if (!text.empty()) pieces.push_back({.kind = ReplyPiece::Kind::kText, .text = delta.text});
  } else {
    for (const Sample& sample : delta.samples) {
      choice.reasoning.AddToken(parts_.model->TokenBytes(sample.token).size());
    }
    std::size_t told = 0;
    const auto tell_to = [&](std::size_t end) {
      while (told < end) {
        const std::size_t count = choice.reasoning.UpToTokensEnd(end - told);
        const std::size_t before = pieces.size();
        choice.parser->Text(text.substr(told, count), pieces);
        choice.reasoning.Told(count, std::span(pieces).subspan(before));
        told += count;
      }
    };
    for (const ControlMark& mark : delta.controls) {
      tell_to(mark.offset);
      const std::size_t before = pieces.size();
      choice.parser->Control(parts_.model->TokenPiece(mark.token), pieces);
      choice.reasoning.Told(0, std::span(pieces).subspan(before));
    }
    tell_to(text.size());
    if (delta.finished) choice.parser->End(pieces);
    JoinPieces(pieces);
  }
  if (parts_.request.request.sampling.logprobs && !delta.samples.empty()) {
    const TokenBytes bytes = [this](std::int32_t token) { return parts_.model->TokenBytes(token); };
    addition.logprobs = parts_.request.prompts.empty()
                            ? ChatLogprobs(delta.samples, bytes)
                            : CompletionLogprobs(delta.samples, bytes, choice.characters);
  }
  return addition;
}

void ReplyStream::Tell(std::size_t prompt, Delta& delta, std::string& events) {
  const auto choices = static_cast<std::size_t>(parts_.request.request.choices);
  const std::size_t index = prompt * choices + static_cast<std::size_t>(delta.choice);
  Choice& choice = choices_[index];
  generated_tokens_ += static_cast<std::int64_t>(delta.samples.size());
  const ReplyAddition addition = AdditionOf(choice, delta);
  NoteGenerated(choice, delta, addition);
  if (!addition.pieces.empty() || !addition.logprobs.is_null()) {
    events += parts_.writer->Add(static_cast<int>(index), addition);
  }
  if (parts_.request.tells_nothing && delta.finished == FinishReason::kStop) {
    delta.finished = FinishReason::kLength;
  }
  if (!delta.finished || *delta.finished == FinishReason::kError ||
      *delta.finished == FinishReason::kCancelled) {
    return;
  }
  parts_.record.finish_reasons.push_back(*delta.finished);
  events += parts_.writer->EndChoice(static_cast<int>(index),
                                     {.reason = *delta.finished, .stop_string = delta.stop_string});
}

// What the client may send back: not a text that a stop string cut out of what was generated.
void ReplyStream::NoteGenerated(Choice& choice, const Delta& delta, const ReplyAddition& addition) {
  if (!parts_.keep_reply || parts_.request.tells_nothing) return;
  for (const ReplyPiece& piece : addition.pieces) choice.Note(piece);
  for (const Sample& sample : delta.samples) choice.generated.tokens.push_back(sample.token);
  const bool whole = delta.finished == FinishReason::kStop && delta.stop_string.empty();
  if (choice.in_call || (!whole && delta.finished != FinishReason::kLength)) return;
  parts_.keep_reply(std::move(choice.generated));
}

ReplyTotals ReplyStream::Totals() const {
  ReplyTotals totals;
  for (const Stream& stream : parts_.streams) {
    const Usage& usage = stream.outcome().usage;
    totals.prompt_tokens += usage.prompt_tokens;
    totals.cached_tokens += usage.cached_tokens;
    totals.generated_tokens += usage.generated_tokens;
  }
  totals.reasoning_tokens = ReasoningTokens();
  if (parts_.request.tells_nothing) totals.generated_tokens = 0;
  const CreatedTokens created = CreatedUpToMarks(parts_.request.marks, parts_.mark_tokens,
                                                 totals.cached_tokens, parts_.model->block_size());
  totals.created_5m_tokens = created.five_minutes;
  totals.created_1h_tokens = created.one_hour;
  return totals;
}

ReplyTotals ReplyStream::TotalsSoFar() const {
  return {.prompt_tokens = parts_.start.prompt_tokens,
          .cached_tokens = parts_.start.cached_tokens,
          .generated_tokens = generated_tokens_,
          .reasoning_tokens = ReasoningTokens()};
}

std::int64_t ReplyStream::ReasoningTokens() const {
  std::int64_t tokens = 0;
  for (const Choice& choice : choices_) tokens += choice.reasoning.tokens();
  return tokens;
}

void ReplyStream::Fail(const ApiError& error, HttpPart& part) {
  over_ = true;
  part.last = true;
  parts_.record.failed = true;
  parts_.record.error = error.message;
  for (Stream& stream : parts_.streams) stream.Cancel();
  if (parts_.request.stream) {
    part.bytes += parts_.writer->Fail(error);
    return;
  }
  HttpResponse response = parts_.error_response(error);
  if (!begun_) part.head = std::move(response.head);
  part.bytes = std::move(response.body);
}

void ReplyStream::Conclude(HttpPart& part) {
  over_ = true;
  part.last = true;
  parts_.record.totals = Totals();
  const std::string events = parts_.writer->Finish(parts_.record.totals);
  const bool kept = static_cast<bool>(parts_.keep);
  if (parts_.request.stream) part.bytes += events;
  if (parts_.request.stream && !kept) return;
  const Json document = parts_.writer->Document();
  if (kept) parts_.keep(document);
  if (parts_.request.stream) return;
  if (!begun_) Begin(part);
  part.bytes += DumpJson(document);
}

void ReplyStream::Observe() {
  if (std::exchange(observed_, true) || !parts_.observer) return;
  parts_.record.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
  if (!parts_.streams.empty() && over_ && !parts_.record.failed) {
    parts_.record.cache = parts_.streams.front().outcome().cache;
    parts_.record.timings = parts_.streams.front().outcome().timings;
  }
  parts_.observer(parts_.record);
}

}  // namespace folio
