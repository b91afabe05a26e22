#include "engine/session.h"

#include <algorithm>
#include <string>
#include <utility>

namespace folio {

Session::Session(LoadedModel& model)
    : model_(&model),
      runner_(model),
      blocks_(model.cache().NewSequence(0)),
      no_names_(model.NewChain("")) {}

Session::~Session() {
  if (model_ != nullptr) model_->cache().Free(blocks_);
}

Session::Session(Session&& other) noexcept
    : model_(std::exchange(other.model_, nullptr)),
      runner_(std::move(other.runner_)),
      blocks_(std::move(other.blocks_)),
      no_names_(std::move(other.no_names_)),
      tokens_(std::move(other.tokens_)),
      logits_(std::move(other.logits_)) {}

Status Session::CheckTokens(std::span<const TokenId> tokens) const {
  const auto total = static_cast<std::int64_t>(tokens_.size() + tokens.size());
  if (total > context()) {
    return UsageError("prompt", "tokens",
                      std::to_string(total) + " are more than the context of " +
                          std::to_string(context()) + " holds (--context)");
  }
  return CheckTokenIds(tokens, model_->config().vocab);
}

Status Session::Append(std::span<const TokenId> tokens, std::vector<float>* all_logits) {
  if (Status checked = CheckTokens(tokens); !checked) return checked;
  const auto count = static_cast<std::int64_t>(tokens.size());
  const std::int64_t vocab = model_->config().vocab;
  if (all_logits != nullptr) all_logits->resize(tokens.size() * static_cast<std::size_t>(vocab));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t rows = std::min(count - done, model_->options().max_batch_tokens);
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
  const auto vocab = static_cast<std::size_t>(model_->config().vocab);
  const auto rows = static_cast<std::int64_t>(tokens.size());
  KvCacheManager& cache = model_->cache();
  BlockChanges changes;
  if (!cache.Allocate(blocks_, rows, changes)) {
    return RuntimeError("KV cache", "blocks",
                        std::to_string(cache.BlocksNeeded(blocks_, rows)) + " needed, " +
                            std::to_string(cache.pool().num_free()) + " of " +
                            std::to_string(cache.pool().num_blocks()) + " free");
  }
  if (Status prepared = runner_.Prepare(changes); !prepared) return prepared;
  if (last) logits_.resize(vocab);
  const BatchChunk chunk{.blocks = &blocks_,
                         .tokens = tokens,
                         .first = static_cast<std::int64_t>(tokens_.size()),
                         .logit_rows = all_logits != nullptr ? rows
                                       : last                ? 1
                                                             : 0};
  runner_.Run({&chunk, 1}, all_logits != nullptr ? all_logits : logits_.data());
  if (Status read = model_->forward().CheckRead(0, tokens.size()); !read) return read;
  if (last && all_logits != nullptr) {
    const float* row = all_logits + static_cast<std::size_t>(rows - 1) * vocab;
    std::copy(row, row + vocab, logits_.begin());
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  cache.Advance(blocks_, no_names_, static_cast<std::int64_t>(tokens_.size()));
  return {};
}

Session Session::Fork() const {
  Session fork(*model_);
  fork.blocks_ = model_->cache().Fork(blocks_, 0);
  fork.tokens_ = tokens_;
  fork.logits_ = logits_;
  return fork;
}

}  // namespace folio
