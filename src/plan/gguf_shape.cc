#include "plan/gguf_shape.h"

#include <string>
#include <utility>

#include "plan/gguf_keys.h"
#include "plan/gguf_tensors.h"

namespace folio {
namespace {

ModelShape FromConfig(const ModelFile& file, const ModelConfig& config) {
  ModelShape shape{.source = file.path(), .architecture = config.architecture, .name = config.name};
  shape.hidden = config.hidden;
  shape.ffn = config.ffn;
  shape.expert_ffn = config.expert_ffn;
  shape.shared_ffn = config.shared_ffn;
  shape.vocab = config.vocab;
  shape.context_length = config.context_length;
  shape.query_heads = config.query_heads;
  shape.latent = config.latent;
  shape.experts = config.router.experts;
  shape.top_k = config.router.experts > 0 ? config.router.top_k : 0;
  for (const KvLayerSpec& layer : KvSpecOf(config).layers)
    shape.layers.push_back({.query_heads = config.query_heads, .kv = layer});
  return shape;
}

std::string WhyNot(const Error& error) {
  return error.where + (error.where.empty() ? "" : ": ") + error.why;
}

}  // namespace

Result<ModelShape> ReadGgufShape(const ModelFile& file) {
  Result<ModelConfig> config = ReadModelConfig(file);
  if (config) {
    ModelShape shape = FromConfig(file, *config);
    CountTensors(file, shape);
    // A file that lacks a tensor, or has one of another shape, can be planned but not run.
    const Result<WeightBytes> weights = MeasureWeights(file, *config);
    if (weights) {
      shape.engine_weights = *weights;
    } else {
      shape.runs_not = WhyNot(weights.error());
    }
    shape.config = std::make_shared<const ModelConfig>(*std::move(config));
    return shape;
  }
  Result<ModelShape> shape = ReadGgufShapeByKeys(file);
  if (shape) shape->runs_not = WhyNot(config.error());
  return shape;
}

}  // namespace folio
