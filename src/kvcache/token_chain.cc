#include "kvcache/token_chain.h"

#include <algorithm>
#include <utility>

namespace folio {

TokenChain::TokenChain(std::shared_ptr<BlockHasher> hasher, const BlockHash& root, int block_size,
                       bool row_kinds_differ)
    : hasher_(std::move(hasher)),
      root_(root),
      block_size_(block_size),
      row_kinds_differ_(row_kinds_differ),
      row_bits_(row_kinds_differ ? static_cast<std::size_t>(block_size + 7) / 8 : 0) {}

void TokenChain::Append(std::span<const std::int32_t> tokens, RowKind kind) {
  const auto block_size = static_cast<std::size_t>(block_size_);
  while (!tokens.empty()) {
    const std::size_t row = tokens_.size() % block_size;
    const auto part = tokens.first(std::min(tokens.size(), block_size - row));
    if (row_kinds_differ_ && kind == RowKind::kGenerated) MarkGenerated(row, part.size());
    tokens_.insert(tokens_.end(), part.begin(), part.end());
    if (row + part.size() == block_size) HashLastBlock();
    tokens = tokens.subspan(part.size());
  }
}

void TokenChain::MarkGenerated(std::size_t first_row, std::size_t rows) {
  for (std::size_t row = first_row; row < first_row + rows; ++row) {
    row_bits_[row / 8] = static_cast<std::uint8_t>(row_bits_[row / 8] | 1U << row % 8);
  }
}

void TokenChain::HashLastBlock() {
  const std::span<const std::int32_t> block =
      std::span(tokens_).last(static_cast<std::size_t>(block_size_));
  const BlockHash& parent = hashes_.empty() ? root_ : hashes_.back();
  hashes_.push_back(
      hasher_->Hash(parent, block, {.adapter = {}, .media = {}, .generated_rows = row_bits_}));
  std::ranges::fill(row_bits_, std::uint8_t{0});
}

}  // namespace folio
