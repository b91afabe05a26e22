// The arena that all KV blocks lie in: bytes only. Address space is reserved at once, pages are
// committed as blocks are first written.
#ifndef FOLIO_KVCACHE_KV_STORAGE_H_
#define FOLIO_KVCACHE_KV_STORAGE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "kvcache/kv_sizing.h"

namespace folio {

class KvStorage {
 public:
  static Result<KvStorage> Create(KvLayout layout, std::int64_t num_blocks);

  const KvLayout& layout() const { return layout_; }
  std::byte* data() const { return arena_.data(); }
  std::size_t size() const { return arena_.size(); }

 private:
  KvStorage(KvLayout layout, AlignedBuffer arena)
      : layout_(std::move(layout)), arena_(std::move(arena)) {}

  KvLayout layout_;
  AlignedBuffer arena_;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_STORAGE_H_
