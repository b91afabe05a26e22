// Token sequences as a tree: each beginning that several share is stored once. A compressed prefix
// tree (radix tree): a node holds the tokens between two branchings.
#ifndef FOLIO_KVCACHE_PROMPT_TREE_H_
#define FOLIO_KVCACHE_PROMPT_TREE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kvcache/block_hash.h"

namespace folio {

struct PromptRecord;  // one sequence, to its owner

struct PromptNode {
  PromptNode* parent = nullptr;
  std::size_t begin = 0;  // tokens above it
  std::vector<std::int32_t> tokens;
  // Of the blocks that end in this node's tokens, in order: eight bytes of each one's hash, 0 if it
  // isn't known.
  std::vector<std::uint64_t> fingerprints;
  std::map<std::int32_t, std::unique_ptr<PromptNode>> children;  // by their first token
  std::size_t uses = 0;                                          // sequences that go through it
  const PromptRecord* newest = nullptr;                          // the latest one of them

  std::size_t end() const { return begin + tokens.size(); }
};

// Tokens of a sequence, and the hashes of its full blocks.
struct PromptTokens {
  std::span<const std::int32_t> tokens;
  std::span<const BlockHash> hashes;
};

std::uint64_t Fingerprint(const BlockHash& hash);

class PromptTree {
 public:
  explicit PromptTree(std::size_t block_size) : block_size_(block_size) {}
  ~PromptTree();
  PromptTree(const PromptTree&) = delete;
  PromptTree& operator=(const PromptTree&) = delete;

  // Where a sequence's longest common prefix with any other ends: inside `node` or at its end. The
  // root if not even the first token is known.
  struct Match {
    PromptNode* node = nullptr;
    std::size_t length = 0;
  };
  Match Find(std::span<const std::int32_t> tokens) const;

  // The fingerprint of the block that ends in front of position `end`, which `node` or a node above
  // it holds.
  std::uint64_t FingerprintAt(const PromptNode* node, std::size_t end) const;

  // Makes `record` a sequence that ends where `match` does; returns the node that it ends with. The
  // fingerprints of all nodes on the way become those of `prompt`.
  PromptNode* Add(Match match, const PromptTokens& prompt, const PromptRecord* record);
  // Lengthens `record`, which ends with `last`, to all of `prompt`; returns its new last node.
  PromptNode* Extend(PromptNode* last, const PromptTokens& prompt, const PromptRecord* record);
  // The oldest sequence, which ends with `last`, goes.
  void Remove(PromptNode* last);

  // Allocated for all nodes.
  std::size_t bytes() const { return bytes_; }
  // What Add and Extend allocate at most for a sequence with `tokens` new ones.
  static std::size_t BytesFor(std::size_t tokens, std::size_t block_size);

 private:
  void SetFingerprints(PromptNode& node, const PromptTokens& prompt) const;
  // Cuts `node` in front of position `at`; returns the first half.
  PromptNode* Split(PromptNode* node, std::size_t at);
  // Makes one of a node and its only child if no sequence ends between them.
  void MergeIfPlain(PromptNode* node);

  std::size_t block_size_;
  std::size_t bytes_ = 0;
  PromptNode root_;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_PROMPT_TREE_H_
