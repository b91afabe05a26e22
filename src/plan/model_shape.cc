#include "plan/model_shape.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "quant/ggml_type.h"

namespace folio {
namespace {

constexpr std::uint64_t kStateElementBytes = 4;

std::uint64_t BytesOf(std::uint64_t parameters, double bits) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(parameters) * bits / 8.0));
}

}  // namespace

StoredLayers StoredLayersOf(const ModelShape& shape) {
  StoredLayers stored;
  for (std::size_t i = 0; i < shape.layers.size(); ++i) {
    if (shape.layers[i].kv.kv_heads == 0) continue;
    stored.spec.layers.push_back(shape.layers[i].kv);
    stored.layers.push_back(static_cast<int>(i));
  }
  return stored;
}

std::uint64_t StateBytes(const ModelShape& shape) {
  std::uint64_t elements = 0;
  for (const LayerShape& layer : shape.layers) {
    elements += static_cast<std::uint64_t>(layer.recurrent_elements + layer.convolution_elements);
  }
  return elements * kStateElementBytes;
}

ParameterShape SumParameters(const ModelShape& shape, ParameterShape ends,
                             std::uint64_t final_norm) {
  ends.layers = final_norm;
  ends.expert = 0;
  ends.experts = shape.experts;
  ends.top_k = shape.top_k;
  for (const LayerShape& layer : shape.layers) {
    ends.layers += layer.mixer_parameters + layer.ffn_parameters;
    ends.expert += layer.expert_parameters;
  }
  return ends;
}

std::optional<double> BitsPerWeight(const std::string& type) {
  std::string name = type;
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name == "float32") name = "f32";
  if (name == "float16") name = "f16";
  if (name == "bfloat16") name = "bf16";
  if (name == "fp8" || name == "int8") return 8.0;
  if (name == "int4") return 4.5;  // 32 of them and an f16 scale
  for (const GgmlTypeInfo& info : AllGgmlTypes()) {
    std::string known(info.name);
    std::ranges::transform(known, known.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (known == name)
      return 8.0 * static_cast<double>(info.block_bytes) / static_cast<double>(info.block_elements);
  }
  return std::nullopt;
}

Result<WeightShape> EstimateWeights(const ModelShape& shape, const std::string& type,
                                    const std::string& expert_type) {
  const auto bits = BitsPerWeight(type);
  const auto expert_bits = BitsPerWeight(expert_type.empty() ? type : expert_type);
  if (!bits || !expert_bits) {
    return UsageError("plan", "--weights",
                      "'" + (bits ? expert_type : type) +
                          "' is no type of weights that Folio knows; of a mixture such as Q4_K_M "
                          "give its main type, "
                          "q4_k, or --weights-bytes");
  }
  if (!shape.parameters) {
    if (!shape.published_parameters)
      return InputError(shape.source, "parameters",
                        "can't be counted from what is known: give --weights-bytes");
    const std::uint64_t all = BytesOf(*shape.published_parameters, *bits);
    return WeightShape{.all = all, .estimated = true};
  }
  const ParameterShape& parameters = *shape.parameters;
  const std::uint64_t output = parameters.output > 0 ? parameters.output : parameters.embedding;
  WeightShape weights{.estimated = true};
  weights.experts =
      BytesOf(parameters.expert * static_cast<std::uint64_t>(parameters.experts), *expert_bits);
  weights.always = BytesOf(parameters.layers + output, *bits);
  weights.all =
      BytesOf(parameters.layers + parameters.embedding + parameters.output + parameters.tables,
              *bits) +
      weights.experts;
  return weights;
}

}  // namespace folio
