// Why a prompt was not found in the cache: a record of recent prompts, exact to the token, in a
// fixed number of bytes. Prompts of one root (model, salt) are a tree with shared beginnings stored
// once, so explaining and recording cost O(tokens), however many prompts there are. Prompts of
// other roots don't exist for it: those who use different salts learn nothing of each other.
#ifndef FOLIO_KVCACHE_PROMPT_LOG_H_
#define FOLIO_KVCACHE_PROMPT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "folio/miss_report.h"
#include "folio/prompt_part.h"
#include "kvcache/block_hash.h"
#include "kvcache/prompt_tree.h"

namespace folio {

// Labels, each stored once, with the number of their uses.
using PromptLabels = std::map<std::string, std::size_t, std::less<>>;

struct PromptRecord {
  struct Part {
    PromptLabels::iterator label;
    std::int64_t first_token = 0;
  };
  std::uint64_t request = 0;
  BlockHash root{};
  PromptNode* last = nullptr;  // its last token is this node's
  std::vector<Part> parts;
  bool cut = false;  // the prompt goes on

  std::int64_t size() const { return static_cast<std::int64_t>(last->end()); }
};

// Used by one thread.
class PromptLog {
 public:
  // `max_bytes` bound all that it holds. One prompt adds at most a quarter of them; of a longer one
  // only the beginning is kept.
  PromptLog(std::size_t max_bytes, int block_size);

  // Compares a prompt with the recorded ones. `root` is the parent of its first block's hash;
  // `hashes` are its full blocks'; `cached_tokens` is what the cache gave it. O(tokens).
  MissReport Explain(const BlockHash& root, std::span<const std::int32_t> tokens,
                     std::span<const BlockHash> hashes, std::span<const PromptPart> parts,
                     std::int64_t cached_tokens) const;

  // The tokens that a request has computed: its prompt and, once it ends, its reply too, so that a
  // conversation's next prompt is compared with both. Forgets the oldest prompts where it needs
  // their bytes. O(tokens).
  void Record(std::uint64_t request, const BlockHash& root, std::span<const std::int32_t> tokens,
              std::span<const BlockHash> hashes, std::span<const PromptPart> parts);

  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return records_.size(); }  // prompts recorded

 private:
  struct Root {
    explicit Root(std::size_t block_size) : tree(block_size) {}
    PromptTree tree;
    std::size_t records = 0;
  };

  PromptRecord MakeRecord(std::uint64_t request, std::span<const PromptPart> parts);
  std::size_t RecordBytes(std::span<const PromptPart> parts) const;
  void Forget(std::list<PromptRecord>::iterator record);
  void ForgetOldest() { Forget(records_.begin()); }
  // Runs `change` on `tree` and counts the bytes it takes or frees.
  template <typename Change>
  void Count(PromptTree& tree, const Change& change);

  std::size_t max_bytes_;
  std::size_t block_size_;
  std::size_t bytes_ = 0;
  PromptLabels labels_;
  std::unordered_map<BlockHash, Root, BlockHashHasher> roots_;
  std::list<PromptRecord> records_;  // oldest first
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_PROMPT_LOG_H_
