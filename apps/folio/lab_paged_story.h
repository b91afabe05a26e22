// The pool of the text's worked example: requests whose tokens are letters, on the engine's cache
// manager, and what can be seen of it after each step.
#ifndef FOLIO_APPS_FOLIO_LAB_PAGED_STORY_H_
#define FOLIO_APPS_FOLIO_LAB_PAGED_STORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "folio/output.h"
#include "kvcache/kv_cache_manager.h"
#include "kvcache/token_chain.h"
#include "trace/trace.h"

namespace folio {

class PagedStory {
 public:
  static constexpr int kBlockSize = 4;

  explicit PagedStory(std::int64_t num_blocks);

  struct LookUp {
    std::string tokens;
    std::string label;         // empty: the block is not full and has no hash
    BlockId block = kNoBlock;  // that holds it, found before anything was taken
  };
  struct Arrival {
    std::vector<LookUp> look_ups;
    std::vector<BlockId> queue_after_hits;  // before anything was handed out
    std::vector<std::string> map_after_hits;
    std::vector<BlockId> fresh;
    std::vector<std::string> computed;  // tokens of the blocks that were not hit
  };

  // Request number requests() comes, takes its hits, gets its new blocks and computes them.
  Arrival Arrive(std::string_view prompt);
  void Finish(std::size_t request);

  std::vector<BlockId> FreeQueue() const { return cache_.pool().FreeOrder(); }
  std::string CheckIntegrity() const;

  // Since the last call: what the pool's own trace recorded.
  std::vector<std::string> TakeEvents();
  // Block tables, blocks, free queue and map.
  std::vector<std::string> StateLines() const;
  OutputJson StateJson() const;

  // "0xABGH" for ABCDEFGH: the first two and the last two letters that the hash covers.
  static std::string Label(std::string_view prefix);

 private:
  struct Request {
    std::string prompt;
    TokenChain chain;
    SequenceBlocks blocks;
  };

  std::vector<std::string> MapEntries() const;
  std::string TokensIn(BlockId id) const;
  std::string LabelOf(const KvBlock& block) const;

  Trace trace_;
  KvCacheManager cache_;
  std::shared_ptr<BlockHasher> hasher_ = std::make_shared<BlockHasher>();
  std::vector<Request> requests_;
  std::map<BlockHash, std::string> prefixes_;  // of every hash that was ever computed
  std::uint64_t events_seen_ = 0;
};

// "3 2 1 0"
std::string Listed(std::span<const BlockId> blocks);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_PAGED_STORY_H_
