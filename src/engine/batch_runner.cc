#include "engine/batch_runner.h"

namespace folio {

BatchRunner::BatchRunner(LoadedModel& model)
    : model_(&model), groups_(static_cast<std::size_t>(model.cache().num_groups())) {}

Status BatchRunner::Prepare(const BlockChanges& changes) {
  for (const BlockId block : changes.fresh) {
    if (Status committed = model_->kv_storage().Commit(block); !committed) return committed;
  }
  for (const BlockCopy& copy : changes.copies) model_->kv_storage().Copy(copy.from, copy.to);
  return {};
}

void BatchRunner::Run(std::span<const BatchChunk> chunks, float* logits) {
  tokens_.clear();
  logit_rows_.clear();
  first_rows_.clear();
  own_rows_.clear();
  bool record_experts = false;
  for (std::vector<AttentionSequence>& sequences : groups_) sequences.clear();
  for (const BatchChunk& chunk : chunks) {
    const auto first_row = static_cast<std::int64_t>(tokens_.size());
    const auto rows = static_cast<std::int64_t>(chunk.tokens.size() + chunk.draft.size());
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      groups_[group].push_back({.block_table = chunk.blocks->tables[group].data(),
                                .first_position = chunk.first,
                                .first_row = first_row,
                                .rows = rows,
                                .stored_rows = chunk.stored_rows});
    }
    record_experts = record_experts || chunk.record_experts;
    first_rows_.push_back(tokens_.size());
    own_rows_.push_back(chunk.tokens.size());
    tokens_.insert(tokens_.end(), chunk.tokens.begin(), chunk.tokens.end());
    tokens_.insert(tokens_.end(), chunk.draft.begin(), chunk.draft.end());
    for (std::int64_t i = rows - chunk.logit_rows; i < rows; ++i)
      logit_rows_.push_back(first_row + i);
  }
  first_rows_.push_back(tokens_.size());
  routed_experts_.resize(record_experts ? tokens_.size() * ExpertsOfARow() : 0);
  model_->forward().Run(
      {.tokens = tokens_,
       .groups = groups_,
       .logit_rows = logit_rows_,
       .routed_experts = routed_experts_.empty() ? nullptr : routed_experts_.data()},
      logits);
}

std::size_t BatchRunner::ExpertsOfARow() const {
  const ModelConfig& config = model_->config();
  return static_cast<std::size_t>(config.moe_layers) *
         static_cast<std::size_t>(config.router.top_k);
}

std::span<const std::int16_t> BatchRunner::ExpertsOf(std::size_t chunk) const {
  if (routed_experts_.empty()) return {};
  const std::size_t first = first_rows_[chunk];
  return std::span(routed_experts_)
      .subspan(first * ExpertsOfARow(), (first_rows_[chunk + 1] - first) * ExpertsOfARow());
}

Status BatchRunner::CheckRows(std::size_t chunk) const {
  const std::size_t rows = first_rows_[chunk + 1] - first_rows_[chunk];
  if (Status read = model_->forward().CheckRead(first_rows_[chunk], rows); !read) return read;
  const std::span<const std::int32_t> faults = model_->forward().router_faults();
  if (faults.empty()) return {};
  for (const std::int32_t layer : faults.subspan(first_rows_[chunk], own_rows_[chunk])) {
    if (layer >= 0) {
      return RuntimeError("router", "layer " + std::to_string(layer),
                          "a logit is infinite or not a number");
    }
  }
  return {};
}

}  // namespace folio
