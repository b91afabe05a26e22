// Rotary embeddings in config.json: rope_theta and rope_scaling, or rope_parameters with both,
// which newer writers have instead.
#ifndef FOLIO_FORMATS_HUGGINGFACE_ROPE_H_
#define FOLIO_FORMATS_HUGGINGFACE_ROPE_H_

#include <cstdint>

#include "formats/huggingface/config_fields.h"
#include "formats/huggingface/model_builder.h"

namespace folio {

struct RopeDefaults {
  double base = 10000.0;  // where no field has one
  // Whether the engine takes divisors of frequencies from rope_freqs.weight: Llama 3.1's scaling is
  // given as these.
  bool takes_frequency_divisors = false;
  // Whether YaRN's mscale and mscale_all_dim, which are then one number, sharpen the softmax
  // (DeepSeek) in the place of the paper's factor on cosines and sines.
  bool mscale_is_temperature = false;
};

// The rotary embedding of all layers. `head_dim` is the width that pairs are counted over.
void MapRope(ConfigFields& config, std::uint64_t head_dim, const RopeDefaults& defaults,
             ModelBuilder& model);

// The same from an object like rope_parameters, with its own rope_theta where it has one.
void MapRopeObject(ConfigFields& config, ConfigFields& rope, double base, std::uint64_t head_dim,
                   const RopeDefaults& defaults, ModelBuilder& model);

}  // namespace folio

#endif  // FOLIO_FORMATS_HUGGINGFACE_ROPE_H_
