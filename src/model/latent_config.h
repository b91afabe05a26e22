// Multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1): what its file says.
#ifndef FOLIO_MODEL_LATENT_CONFIG_H_
#define FOLIO_MODEL_LATENT_CONFIG_H_

#include <cstdint>

namespace folio {

// A head's query and key have `plain` elements without and `rotary` elements with positions. Of all
// heads' keys and values one vector a token is kept: `rank` latent elements, then the `rotary` ones
// of the key that all heads share.
struct LatentConfig {
  std::int64_t rank = 0;        // the latent vector's, a multiple of 32; 0: the model has no MLA
  std::int64_t query_rank = 0;  // of the queries' own latent vector; 0: they come from one matrix
  std::int64_t plain = 0;
  std::int64_t rotary = 0;
  std::int64_t value = 0;  // elements of a head's value
};

// Elements of a key in the cache: rank + rotary, and zeros up to what kernels can tile.
constexpr std::int64_t LatentKeyDim(const LatentConfig& latent) {
  return (latent.rank + latent.rotary + 31) / 32 * 32;
}

}  // namespace folio

#endif  // FOLIO_MODEL_LATENT_CONFIG_H_
