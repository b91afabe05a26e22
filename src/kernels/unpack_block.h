// One row's 32 weights out of a packed strip: the plain reading of packed_layout.h, which the
// scalar products and UnpackRow share.
#ifndef FOLIO_KERNELS_UNPACK_BLOCK_H_
#define FOLIO_KERNELS_UNPACK_BLOCK_H_

#include <cstddef>
#include <cstdint>

#include "kernels/packed_layout.h"

namespace folio {

// weight[k] = scale[g] * value[k] + minimum[g], where g = k / 16 with two groups and 0 with one.
struct WeightBlock {
  std::int32_t values[32];
  float scale[2];
  float minimum[2];  // 0 where the type has none
};

// Block `block` (k in [32 block, 32 block + 32)) of lane `lane` of a strip.
void UnpackBlock(const PackedFormat& format, const std::byte* strip, int lane, std::int64_t block,
                 WeightBlock* out);

}  // namespace folio

#endif  // FOLIO_KERNELS_UNPACK_BLOCK_H_
