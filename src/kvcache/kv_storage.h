// The arena that all KV blocks lie in: bytes only. Address space is reserved at once; memory is
// committed in slabs, when their first block is handed out, so that a lack of it is an error here
// and not a signal in a kernel.
#ifndef FOLIO_KVCACHE_KV_STORAGE_H_
#define FOLIO_KVCACHE_KV_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "kvcache/free_block_queue.h"
#include "kvcache/kv_sizing.h"

namespace folio {

class KvStorage {
 public:
  static constexpr std::size_t kSlabBytes = std::size_t{2} << 20;  // a huge page

  // Commits `bytes` at `data` (page-aligned): 0, or an errno. Replaceable by tests.
  using CommitFunction = std::function<int(std::byte* data, std::size_t bytes)>;

  static Result<KvStorage> Create(KvLayout layout, std::int64_t num_blocks,
                                  CommitFunction commit = {});

  const KvLayout& layout() const { return layout_; }
  std::byte* data() const { return arena_.data(); }
  std::size_t size() const { return arena_.size(); }
  std::size_t committed_bytes() const { return committed_bytes_; }

  // Makes sure that the block's memory is there, in whole slabs. O(1) once it is. A runtime error
  // with the bytes if the system gives no more; it may be tried again.
  Status Commit(BlockId block);
  // Both must be committed.
  void Copy(BlockId from, BlockId to);

 private:
  KvStorage(KvLayout layout, AlignedBuffer arena, CommitFunction commit);
  std::byte* Block(BlockId block) const {
    return data() + static_cast<std::size_t>(block) * layout_.block_bytes;
  }
  Status CommitSlab(std::size_t slab);

  KvLayout layout_;
  AlignedBuffer arena_;
  CommitFunction commit_;
  std::vector<bool> slabs_;  // committed
  std::size_t committed_bytes_ = 0;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_STORAGE_H_
