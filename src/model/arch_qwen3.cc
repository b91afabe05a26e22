#include "model/architectures.h"

namespace folio {

Status ConfigureQwen3(const ModelFile& /*file*/, ModelConfig& config) {
  config.rope_pairs = RopePairs::kHalves;
  config.qk_norm = true;
  return {};
}

}  // namespace folio
