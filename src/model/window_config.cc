#include "model/architectures.h"
#include "model/config_reader.h"

namespace folio {

Status ReadWindow(const ModelFile& file, ModelConfig& config) {
  ConfigReader read(file, config.architecture);
  const std::int64_t window = read.IntOr("attention.sliding_window", 0, 0, kLargestContext);
  // One as long as the context hides nothing.
  if (window < config.context_length)
    for (LayerConfig& layer : config.layers) layer.window = window;
  return read.status();
}

}  // namespace folio
