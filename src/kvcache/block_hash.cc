#include "kvcache/block_hash.h"

#include <sys/random.h>

#include <algorithm>
#include <optional>

namespace folio {
namespace {

// What a hashed message starts with: no context is ever taken for a block.
constexpr std::string_view kContextTag = "FKC1";
constexpr std::string_view kBlockTag = "FKB1";

// Kinds of extra keys, in the order in which they are encoded.
constexpr std::uint32_t kAdapterKey = 1;
constexpr std::uint32_t kMediaKey = 2;
constexpr std::uint32_t kGeneratedRowsKey = 3;

// The canonical encoding: integers little-endian, everything of variable size after its length.
class Encoder {
 public:
  explicit Encoder(std::vector<std::uint8_t>& bytes) : bytes_(bytes) { bytes_.clear(); }

  template <typename T>
  void Integer(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  void Raw(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void Tag(std::string_view tag) { bytes_.insert(bytes_.end(), tag.begin(), tag.end()); }
  void String(std::string_view text) {
    Integer<std::uint64_t>(text.size());
    Tag(text);
  }
  void Tokens(std::span<const std::int32_t> tokens) {
    Integer<std::uint64_t>(tokens.size());
    std::size_t at = bytes_.size();
    bytes_.resize(at + 4 * tokens.size());
    for (const std::int32_t token : tokens) {
      const auto bits = static_cast<std::uint32_t>(token);
      for (int i = 0; i < 4; ++i) bytes_[at++] = static_cast<std::uint8_t>(bits >> (8 * i));
    }
  }

 private:
  std::vector<std::uint8_t>& bytes_;
};

void EncodeContext(const BlockHashContext& context, std::vector<std::uint8_t>& bytes) {
  Encoder encoder(bytes);
  encoder.Tag(kContextTag);
  encoder.String(context.model_digest);
  encoder.Integer(static_cast<std::uint32_t>(context.block_size));
  encoder.String(context.positions);
  encoder.String(context.prompt_numerics);
  encoder.String(context.generated_numerics);
  encoder.String(KvTypeName(context.kv_type));
  encoder.String(context.salt);
}

void EncodeExtraKeys(const BlockExtraKeys& extra, Encoder& encoder) {
  const bool any_generated =
      std::ranges::any_of(extra.generated_rows, [](std::uint8_t rows) { return rows != 0; });
  const std::uint64_t keys =
      (extra.adapter.empty() ? 0U : 1U) + extra.media.size() + (any_generated ? 1U : 0U);
  encoder.Integer(keys);
  if (!extra.adapter.empty()) {
    encoder.Integer(kAdapterKey);
    encoder.String(extra.adapter);
  }
  for (const std::string& digest : extra.media) {
    encoder.Integer(kMediaKey);
    encoder.String(digest);
  }
  if (any_generated) {
    encoder.Integer(kGeneratedRowsKey);
    encoder.Integer<std::uint64_t>(extra.generated_rows.size());
    encoder.Raw(extra.generated_rows);
  }
}

// Where OpenSSL fails, a name that nothing else has: such a block is never hit, and never taken for
// another.
BlockHash NobodysHash() {
  BlockHash hash{};
  if (getrandom(hash.data(), hash.size(), 0) < 0) hash.fill(0xff);
  return hash;
}

}  // namespace

BlockHash BlockHasher::HashMessage() {
  sha256_.Update(std::as_bytes(std::span(message_)));
  const std::optional<Sha256Digest> digest = sha256_.Digest();
  return digest ? *digest : NobodysHash();
}

BlockHash BlockHasher::Hash(const BlockHashContext& context) {
  EncodeContext(context, message_);
  return HashMessage();
}

BlockHash BlockHasher::Hash(const BlockHash& parent, std::span<const std::int32_t> tokens,
                            const BlockExtraKeys& extra) {
  Encoder encoder(message_);
  encoder.Tag(kBlockTag);
  encoder.Raw(parent);
  encoder.Tokens(tokens);
  EncodeExtraKeys(extra, encoder);
  return HashMessage();
}

BlockHash HashContext(const BlockHashContext& context) { return BlockHasher().Hash(context); }

}  // namespace folio
