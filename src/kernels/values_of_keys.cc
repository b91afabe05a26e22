#include "kernels/values_of_keys.h"

#include <cstdint>
#include <cstring>

#include "kernels/attention.h"

namespace folio {
namespace {

// [columns][16 tokens] to [16 tokens][columns]
template <typename T>
void Transpose(const std::byte* from, std::size_t columns, std::byte* to) {
  for (std::size_t t = 0; t < kKvTileTokens; ++t) {
    for (std::size_t c = 0; c < columns; ++c)
      std::memcpy(to + (t * columns + c) * sizeof(T), from + (c * kKvTileTokens + t) * sizeof(T),
                  sizeof(T));
  }
}

// [elements / 2][16 tokens][2 elements] to [16 / 2][elements][2 tokens]: for each pair of elements
// and pair of tokens, four numbers whose middle two change places.
void TransposePairs(const std::byte* from, std::size_t elements, std::byte* to) {
  constexpr std::uint64_t kOuter = 0xffff'0000'0000'ffff;
  for (std::size_t pair = 0; pair < elements / 2; ++pair) {
    for (std::size_t tokens = 0; tokens < kKvTileTokens / 2; ++tokens, from += 8) {
      std::uint64_t four;
      std::memcpy(&four, from, sizeof(four));
      four = (four & kOuter) | (four >> 16 & 0xffff'0000) | (four << 16 & 0xffff'0000'0000);
      std::memcpy(to + (tokens * elements + 2 * pair) * 4, &four, sizeof(four));
    }
  }
}

}  // namespace

void ValuesOfKeys(KvType type, const std::byte* k_tile, int head_dim, int value_dim,
                  std::byte* v_tile) {
  const auto elements = static_cast<std::size_t>(value_dim);
  switch (type) {
    case KvType::kBf16:
      return TransposePairs(k_tile, elements, v_tile);
    case KvType::kF16:
      return Transpose<std::uint16_t>(k_tile, elements, v_tile);
    case KvType::kF32:
      return Transpose<std::uint32_t>(k_tile, elements, v_tile);
    case KvType::kQ8_0:  // scales of 32 elements, then the integers
      Transpose<std::uint16_t>(k_tile, elements / 32, v_tile);
      Transpose<std::uint8_t>(k_tile + head_dim, elements, v_tile + value_dim);
  }
}

}  // namespace folio
