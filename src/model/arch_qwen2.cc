#include "model/architectures.h"

namespace folio {

Status ConfigureQwen2(const ModelFile& /*file*/, ModelConfig& config) {
  config.rope_pairs = RopePairs::kHalves;
  config.qkv_bias = true;
  return {};
}

}  // namespace folio
