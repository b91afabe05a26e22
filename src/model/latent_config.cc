#include "model/latent_config.h"

#include <cmath>
#include <string>

#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {

void ReadLatentHeads(ConfigReader& read, ModelConfig& config) {
  LatentConfig& latent = config.latent;
  latent.rank = read.Int("attention.kv_lora_rank", 1, kLargestHeadDim);
  latent.query_rank = read.IntOr("attention.q_lora_rank", 0, 0, kLargestDim);
  latent.rotary = read.Int("rope.dimension_count", 2, kLargestHeadDim);
  // Newer files describe the cache's one head in key_length, and the model's heads in keys of their
  // own.
  const bool newer = read.Has("attention.key_length_mla");
  const char* const key_length = newer ? "attention.key_length_mla" : "attention.key_length";
  const std::int64_t key = read.Int(key_length, 1, kLargestHeadDim);
  latent.value =
      read.Int(newer ? "attention.value_length_mla" : "attention.value_length", 1, kLargestHeadDim);
  latent.plain = key - latent.rotary;
  if (latent.plain <= 0) {
    read.Refuse(key_length, "is " + std::to_string(key) + ", must be more than the " +
                                std::to_string(latent.rotary) + " of rope.dimension_count");
  }
  if (latent.rank % 32 != 0) {
    read.Refuse("attention.kv_lora_rank",
                "is " + std::to_string(latent.rank) + ", must be a multiple of 32");
  }
  config.kv_heads = 1;
  config.head_dim = static_cast<int>(LatentKeyDim(latent));
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(key));
}

}  // namespace folio
