// The name of a block's content: a chain of SHA-256 over everything that the keys and values in it
// depend on. The encoding is in docs/design/block-hash.md; the same in any process and on any
// machine.
#ifndef FOLIO_KVCACHE_BLOCK_HASH_H_
#define FOLIO_KVCACHE_BLOCK_HASH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "quant/kv_type.h"

namespace folio {

using BlockHash = Sha256Digest;

// SHA-256 is uniform: any eight bytes of it are a hash for tables.
struct BlockHashHasher {
  std::size_t operator()(const BlockHash& hash) const {
    std::size_t value = 0;
    std::memcpy(&value, hash.data(), sizeof(value));
    return value;
  }
};

// What every block of a chain depends on, beside its tokens: the parent of the first block.
struct BlockHashContext {
  std::string model_digest;
  int block_size = 16;
  std::string positions;        // position parameters that are not in the model's file
  std::string prompt_numerics;  // definition of prompt rows: "int16"
  std::string generated_numerics;
  KvType kv_type = KvType::kBf16;
  std::string salt;  // requests with different salts never share a block
};

BlockHash HashContext(const BlockHashContext& context);

// What one block depends on beside its tokens and its parent.
struct BlockExtraKeys {
  std::string_view adapter;
  std::span<const std::string> media;  // content digests, in order
  // Bit i: row i of the block was generated. Counts only where the two definitions differ: callers
  // leave it empty otherwise. One byte for every 8 rows; no row generated is the same as empty.
  std::span<const std::uint8_t> generated_rows;
};

// Hashes with one reused digest state. Should OpenSSL fail, a hash is random: it is never found.
class BlockHasher {
 public:
  BlockHash Hash(const BlockHashContext& context);
  BlockHash Hash(const BlockHash& parent, std::span<const std::int32_t> tokens,
                 const BlockExtraKeys& extra = {});

 private:
  BlockHash HashMessage();

  Sha256 sha256_;
  std::vector<std::uint8_t> message_;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_BLOCK_HASH_H_
