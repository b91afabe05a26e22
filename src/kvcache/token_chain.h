// A sequence's tokens with the chained hash of each of its full blocks.
#ifndef FOLIO_KVCACHE_TOKEN_CHAIN_H_
#define FOLIO_KVCACHE_TOKEN_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kvcache/block_hash.h"

namespace folio {

enum class RowKind : std::uint8_t { kPrompt, kGenerated };

class TokenChain {
 public:
  // `root` is HashContext's. `row_kinds_differ`: whether prompt and generated rows have different
  // numeric definitions, so that a block's hash says which of its rows were generated.
  TokenChain(std::shared_ptr<BlockHasher> hasher, const BlockHash& root, int block_size,
             bool row_kinds_differ);

  void Append(std::span<const std::int32_t> tokens, RowKind kind);

  std::span<const std::int32_t> tokens() const { return tokens_; }
  const BlockHash& root() const { return root_; }
  std::int64_t size() const { return static_cast<std::int64_t>(tokens_.size()); }
  // Entry i names block i; full blocks only.
  std::span<const BlockHash> hashes() const { return hashes_; }

 private:
  void MarkGenerated(std::size_t first_row, std::size_t rows);  // of the last block
  void HashLastBlock();

  std::shared_ptr<BlockHasher> hasher_;
  BlockHash root_;
  int block_size_;
  bool row_kinds_differ_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint8_t> row_bits_;  // generated rows of the last block, until it is full
  std::vector<BlockHash> hashes_;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_TOKEN_CHAIN_H_
