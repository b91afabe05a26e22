// The end of a step: each choice whose logits were computed draws its next tokens; and its begin:
// what the replies in the making may be drafted to say next.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/active_request.h"
#include "engine/engine_loop.h"

namespace folio {

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
  std::int64_t prompt_rows = 0;
  for (const Chunk& chunk : step.chunks) {
    if (!Owner(*chunk.sequence).started) prompt_rows += chunk.rows;
  }
  if (2 * prompt_rows > step.rows) {
    forecast_.NotePromptRows(prompt_rows, static_cast<double>(forward_ns) * 1e-9);
  }
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

}  // namespace folio
