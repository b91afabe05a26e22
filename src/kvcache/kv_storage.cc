#include "kvcache/kv_storage.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/checked.h"
#include "kvcache/commit_pages.h"

namespace folio {
namespace {

std::size_t PageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

Result<KvStorage> KvStorage::Create(KvLayout layout, std::int64_t num_blocks,
                                    CommitFunction commit) {
  const auto bytes = CheckedMul(layout.block_bytes, static_cast<std::size_t>(num_blocks));
  if (num_blocks <= 0 || !bytes) {
    return RuntimeError("KV cache", "blocks",
                        "cannot reserve " + std::to_string(num_blocks) + " blocks");
  }
  Result<AlignedBuffer> arena = AlignedBuffer::Create(*bytes, "KV cache");
  if (!arena) return std::unexpected(arena.error());
  if (!commit) commit = [](std::byte* data, std::size_t size) { return CommitPages(data, size); };
  return KvStorage(std::move(layout), *std::move(arena), std::move(commit));
}

KvStorage::KvStorage(KvLayout layout, AlignedBuffer arena, CommitFunction commit)
    : layout_(std::move(layout)),
      arena_(std::move(arena)),
      commit_(std::move(commit)),
      slabs_((arena_.size() + kSlabBytes - 1) / kSlabBytes, false) {}

Status KvStorage::Commit(BlockId block) {
  if (layout_.block_bytes == 0) return {};
  const std::size_t start = static_cast<std::size_t>(block) * layout_.block_bytes;
  const std::size_t last = (start + layout_.block_bytes - 1) / kSlabBytes;
  for (std::size_t slab = start / kSlabBytes; slab <= last; ++slab) {
    if (slabs_[slab]) continue;
    if (Status status = CommitSlab(slab); !status) return status;
  }
  return {};
}

Status KvStorage::CommitSlab(std::size_t slab) {
  const std::size_t page = PageBytes();
  const std::size_t start = slab * kSlabBytes;
  const std::size_t end =
      std::min((slab + 1) * kSlabBytes, (arena_.size() + page - 1) / page * page);
  const int error = commit_(data() + start, end - start);
  if (error != 0) {
    return RuntimeError("KV cache", "memory",
                        "the system gives no more than " + std::to_string(committed_bytes_) +
                            " of " + std::to_string(size()) + " bytes: " + std::strerror(error));
  }
  slabs_[slab] = true;
  committed_bytes_ += end - start;
  return {};
}

void KvStorage::Copy(BlockId from, BlockId to) {
  std::memcpy(Block(to), Block(from), layout_.block_bytes);
}

}  // namespace folio
