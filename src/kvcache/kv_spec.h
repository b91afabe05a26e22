// What a model needs of a KV cache, in numbers: filled by model/config, priced by kv_sizing.
#ifndef FOLIO_KVCACHE_KV_SPEC_H_
#define FOLIO_KVCACHE_KV_SPEC_H_

#include <cstdint>
#include <vector>

namespace folio {

struct KvLayerSpec {
  int kv_heads = 0;
  int head_dim = 0;
  int value_dim = 0;        // of values; 0: as wide as keys
  int latent_dim = 0;       // not 0: values are the keys' first elements and take no bytes (MLA)
  std::int64_t window = 0;  // positions a query sees, itself included; 0 = all
};

// One entry a layer, in order of depth.
struct KvSpec {
  std::vector<KvLayerSpec> layers;
};

}  // namespace folio

#endif  // FOLIO_KVCACHE_KV_SPEC_H_
