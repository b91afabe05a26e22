#include "engine/session.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace folio {

Session::Session(LoadedModel& model) : model_(&model) {}

Session::~Session() { model_->block_pool_->Free(block_table_); }

Status Session::CheckTokens(std::span<const TokenId> tokens) const {
  const auto total = static_cast<std::int64_t>(tokens_.size() + tokens.size());
  if (total > context()) {
    return UsageError("prompt", "tokens",
                      std::to_string(total) + " are more than the context of " +
                          std::to_string(context()) + " holds (--context)");
  }
  const std::int64_t vocab = model_->config_.vocab;
  for (const TokenId token : tokens) {
    if (token < 0 || token >= vocab) {
      return UsageError("prompt", "token " + std::to_string(token),
                        "is not from 0 to " + std::to_string(vocab - 1));
    }
  }
  return {};
}

Status Session::Append(std::span<const TokenId> tokens, std::vector<float>* all_logits) {
  if (Status checked = CheckTokens(tokens); !checked) return checked;
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t vocab = model_->config_.vocab;
  if (all_logits != nullptr) all_logits->resize(tokens.size() * static_cast<std::size_t>(vocab));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t rows = std::min(count - done, model_->options_.max_batch_tokens);
    float* logits = all_logits == nullptr ? nullptr : all_logits->data() + done * vocab;
    const bool last = done + rows == count;
    if (Status status =
            Compute(tokens.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(rows)),
                    last, logits);
        !status) {
      return status;
    }
    done += rows;
  }
  return {};
}

// One chunk. Logits of every row go to `all_logits` if it is given; those of the last row to
// logits_ if `last`.
Status Session::Compute(std::span<const TokenId> tokens, bool last, float* all_logits) {
  const std::size_t vocab = static_cast<std::size_t>(model_->config_.vocab);
  const auto rows = static_cast<std::int64_t>(tokens.size());
  const auto first = static_cast<std::int64_t>(tokens_.size());
  const std::int64_t needed = BlocksForTokens(first + rows, model_->options_.block_size) -
                              static_cast<std::int64_t>(block_table_.size());
  if (Status allocated = model_->block_pool_->Allocate(needed, block_table_); !allocated)
    return allocated;
  const AttentionSequence sequence{
      .block_table = block_table_.data(), .first_position = first, .first_row = 0, .rows = rows};
  std::vector<std::int64_t> logit_rows;
  if (all_logits != nullptr) {
    logit_rows.resize(tokens.size());
    std::iota(logit_rows.begin(), logit_rows.end(), 0);
  } else if (last) {
    logit_rows.push_back(rows - 1);
  }
  if (last) logits_.resize(vocab);
  float* out = all_logits != nullptr ? all_logits : logits_.data();
  model_->forward_->Run({.tokens = tokens, .sequences = {&sequence, 1}, .logit_rows = logit_rows},
                        out);
  if (last && all_logits != nullptr) {
    const float* row = all_logits + static_cast<std::size_t>(rows - 1) * vocab;
    std::copy(row, row + vocab, logits_.begin());
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return {};
}

void Session::Truncate(std::int64_t keep) {
  if (keep >= static_cast<std::int64_t>(tokens_.size())) return;
  tokens_.resize(static_cast<std::size_t>(keep));
  model_->block_pool_->Free(
      block_table_, static_cast<std::size_t>(BlocksForTokens(keep, model_->options_.block_size)));
  logits_.clear();
}

Result<std::int64_t> Session::SetPrompt(std::span<const TokenId> prompt) {
  if (prompt.empty()) return UsageError("prompt", "", "is empty");
  if (static_cast<std::int64_t>(prompt.size()) > context()) {
    return UsageError("prompt", "tokens",
                      std::to_string(prompt.size()) + " are more than the context of " +
                          std::to_string(context()) + " holds (--context)");
  }
  std::size_t common = 0;
  const std::size_t most = std::min(prompt.size() - 1, tokens_.size());
  while (common < most && prompt[common] == tokens_[common]) ++common;
  Truncate(static_cast<std::int64_t>(common));
  if (Status status = Append(prompt.subspan(common)); !status)
    return std::unexpected(status.error());
  return static_cast<std::int64_t>(common);
}

}  // namespace folio
