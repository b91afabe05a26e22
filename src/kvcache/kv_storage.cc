#include "kvcache/kv_storage.h"

#include <string>

#include "base/checked.h"

namespace folio {

Result<KvStorage> KvStorage::Create(KvLayout layout, std::int64_t num_blocks) {
  const auto bytes = CheckedMul(layout.block_bytes, static_cast<std::size_t>(num_blocks));
  if (num_blocks <= 0 || !bytes) {
    return RuntimeError("KV cache", "blocks",
                        "cannot reserve " + std::to_string(num_blocks) + " blocks");
  }
  Result<AlignedBuffer> arena = AlignedBuffer::Create(*bytes, "KV cache");
  if (!arena) return std::unexpected(arena.error());
  return KvStorage(std::move(layout), *std::move(arena));
}

}  // namespace folio
