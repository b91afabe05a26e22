#include "kvcache/block_hash_map.h"

#include <algorithm>
#include <bit>

namespace folio {
namespace {

std::size_t BucketCount(std::size_t num_blocks) {
  return std::bit_ceil(std::max<std::size_t>(num_blocks, 1));
}

}  // namespace

BlockHashToBlockMap::BlockHashToBlockMap(std::span<KvBlock> blocks)
    : blocks_(blocks), buckets_(BucketCount(blocks.size()), kNoBlock) {}

std::size_t BlockHashToBlockMap::TableBytes(std::size_t num_blocks) {
  return BucketCount(num_blocks) * sizeof(BlockId);
}

std::size_t BlockHashToBlockMap::Bucket(const BlockHash& hash, int group) const {
  // The groups of one hash are looked up together: side by side, they share a cache line.
  return (BlockHashHasher()(hash) + static_cast<std::size_t>(group)) & (buckets_.size() - 1);
}

BlockId BlockHashToBlockMap::Find(const BlockHash& hash, int group) const {
  BlockId id = buckets_[Bucket(hash, group)];
  while (id != kNoBlock) {
    const KvBlock& block = blocks_[static_cast<std::size_t>(id)];
    if (block.group == group && block.block_hash == hash) break;
    id = block.next_in_bucket;
  }
  return id;
}

void BlockHashToBlockMap::Insert(KvBlock& block) {
  BlockId& first = buckets_[Bucket(block.block_hash, block.group)];
  block.next_in_bucket = first;
  first = block.block_id;
  ++size_;
}

void BlockHashToBlockMap::Erase(KvBlock& block) {
  BlockId* link = &buckets_[Bucket(block.block_hash, block.group)];
  while (*link != block.block_id) link = &blocks_[static_cast<std::size_t>(*link)].next_in_bucket;
  *link = block.next_in_bucket;
  block.next_in_bucket = kNoBlock;
  --size_;
}

std::string BlockHashToBlockMap::CheckIntegrity() const {
  std::size_t entries = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    for (BlockId id = buckets_[bucket]; id != kNoBlock;) {
      const std::string name = "block " + std::to_string(id);
      if (id < 0 || static_cast<std::size_t>(id) >= blocks_.size()) {
        return name + ": in the hash map and not in the pool";
      }
      const KvBlock& block = blocks_[static_cast<std::size_t>(id)];
      if (++entries > blocks_.size()) return "the hash map has a cycle";
      if (!block.hashed) return name + ": in the hash map without a hash";
      if (Bucket(block.block_hash, block.group) != bucket) {
        return name + ": in the hash map under another block's hash";
      }
      if (Find(block.block_hash, block.group) != id) {
        return name + ": its content is in the hash map twice";
      }
      id = block.next_in_bucket;
    }
  }
  return entries == size_ ? "" : "the hash map's size and its entries differ";
}

}  // namespace folio
