#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {

// Abdin et al. 2024, "Phi-3 Technical Report", section 2.
Status ConfigurePhi3(const ModelFile& file, ModelConfig& config) {
  config.rope_pairs = RopePairs::kHalves;
  config.fused_qkv = true;
  config.fused_gate_up = true;
  ConfigReader read(file, config.architecture);
  const std::int64_t window = read.IntOr("attention.sliding_window", 0, 0, kLargestContext);
  // One as long as the context hides nothing.
  if (window < config.context_length)
    for (LayerConfig& layer : config.layers) layer.window = window;
  return read.status();
}

}  // namespace folio
