// Latent keys as values: MLA stores one vector a token, which attention reads both ways.
#ifndef FOLIO_KERNELS_VALUES_OF_KEYS_H_
#define FOLIO_KERNELS_VALUES_OF_KEYS_H_

#include <cstddef>

#include "quant/kv_type.h"

namespace folio {

// Writes the V tile (layouts: attention.h) whose 16 tokens' values are the first `value_dim`
// elements of the keys in the K tile. Moves bits, computes nothing. Both sizes are multiples of 32.
void ValuesOfKeys(KvType type, const std::byte* k_tile, int head_dim, int value_dim,
                  std::byte* v_tile);

}  // namespace folio

#endif  // FOLIO_KERNELS_VALUES_OF_KEYS_H_
