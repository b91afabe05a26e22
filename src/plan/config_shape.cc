#include "plan/config_shape.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/checked.h"
#include "formats/huggingface/families.h"
#include "formats/json.h"
#include "formats/metadata_value.h"
#include "plan/config_families.h"
#include "plan/json_duplicates.h"

namespace folio {
namespace {

std::array<std::span<const ConfigFamily>, 6> AllFamilies() {
  return {DenseFamilies(),  ExpertFamilies(), WindowFamilies(),
          LatentFamilies(), HybridFamilies(), MambaFamilies()};
}

const ConfigFamily* FindFamily(std::string_view model_type) {
  for (const std::span<const ConfigFamily> group : AllFamilies()) {
    for (const ConfigFamily& family : group) {
      if (family.model_type == model_type) return &family;
    }
  }
  return nullptr;
}

// "Qwen3MoeForCausalLM" is the class of "qwen3_moe": what stands for model_type in files without
// it.
std::string TypeOfClass(ShapeFields& fields) {
  const Json* classes = fields.Find("architectures");
  if (classes == nullptr || !classes->is_array() || classes->empty()) return "";
  if (!classes->front().is_string()) return "";
  std::string name = classes->front().get<std::string>();
  if (const std::size_t suffix = name.find("For"); suffix != name.npos) name.resize(suffix);
  std::string type;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper && !type.empty()) type += '_';
    type += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return type;
}

// The type itself, or what its part for text is called.
std::string Known(const std::string& model_type) {
  const std::string of_text = model_type + "_text";
  return FindFamily(model_type) == nullptr && FindFamily(of_text) != nullptr ? of_text : model_type;
}

// The part of a model with more than text is "text_config". Of those that don't say what it is, its
// kind follows from the whole's.
ShapeFields TextPart(ShapeFields& whole, std::string& model_type, std::vector<std::string>& notes) {
  model_type = whole.WordOr("model_type", "");
  if (model_type.empty()) model_type = TypeOfClass(whole);
  model_type = Known(model_type);
  if (!whole.Has("text_config")) return whole;
  ShapeFields text = whole.Object("text_config");
  notes.push_back("the part for text alone; parameters for images or sound are not counted");
  if (const std::string inner = text.WordOr("model_type", ""); !inner.empty())
    model_type = Known(inner);
  return text;
}

// How the weights are stored: "dtype" (older: "torch_dtype"), or what a quantisation says.
void ReadStoredTypes(ShapeFields& fields, ModelShape& shape) {
  const std::string dtype = fields.WordOr(fields.AnyOf({"dtype", "torch_dtype"}), "bfloat16");
  shape.stored_type = dtype == "float32"             ? "f32"
                      : dtype == "float16"           ? "f16"
                      : dtype.starts_with("float8_") ? "fp8"
                                                     : "bf16";
  if (shape.stored_type == "bf16" && dtype != "bfloat16")
    shape.notes.push_back("dtype " + QuotedExcerpt(dtype) + " is not known; counted as bf16");
  if (!fields.Has("quantization_config")) return;
  ShapeFields quantisation = fields.Object("quantization_config");
  const std::string method = quantisation.WordOr("quant_method", "");
  if (method == "fp8") {
    shape.stored_type = "fp8";
  } else if (method == "mxfp4") {
    shape.expert_type = "mxfp4";
  } else if (quantisation.CountOr("bits", 0) == 4) {
    shape.stored_type = "int4";
  } else if (quantisation.CountOr("bits", 0) == 8) {
    shape.stored_type = "int8";
  } else {
    shape.notes.push_back("quantization_config is not understood; weights are counted as " +
                          shape.stored_type);
  }
  fields.Take(quantisation);
}

// No sum of what was read may overflow.
Status CheckSums(ShapeFields& fields, const ModelShape& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 36;
  for (const LayerShape& layer : shape.layers) {
    if (layer.recurrent_elements > kMostElements || layer.convolution_elements > kMostElements)
      fields.Refuse("state",
                    "of a layer has more than " + std::to_string(kMostElements) + " numbers");
  }
  if (shape.parameters) {
    const auto experts =
        CheckedMul(shape.parameters->expert, static_cast<std::uint64_t>(shape.experts));
    constexpr std::uint64_t kMost = std::uint64_t{1} << 56;
    if (!experts || *experts > kMost || shape.parameters->total() > kMost)
      fields.Refuse("parameters", "are more than 2^56");
  }
  return fields.status();
}

}  // namespace

Result<ModelShape> ReadConfigShape(const std::string& path, std::string_view text) {
  const Result<Json> document = ParseJson(text, {.bytes = kMostConfigBytes});
  if (!document) return InputError(path, "text", document.error().why);
  if (const std::optional<std::string> twice = FindContradiction(text))
    return InputError(path, *twice, "is there twice, with different values");
  ShapeFields whole(ConfigFields(path, *document));
  ModelShape shape{.source = path};
  std::string model_type;
  ShapeFields fields = TextPart(whole, model_type, shape.notes);
  if (!fields.status()) return std::unexpected(fields.status().error());
  if (model_type.empty()) {
    return InputError(path, "model_type", "is missing: without it a plan would be a guess");
  }
  const ConfigFamily* family = FindFamily(model_type);
  if (family == nullptr) {
    return InputError(
        path, "model_type",
        QuotedExcerpt(model_type) + " is not known; `folio plan --list` tells which are");
  }
  shape.architecture = model_type;
  shape.name = whole.WordOr("_name_or_path", "");
  if (shape.name.empty()) shape.name = model_type;
  family->read(fields, shape);
  ReadStoredTypes(whole, shape);
  if (Status taken = whole.status(); !taken) return std::unexpected(taken.error());
  if (Status sums = CheckSums(fields, shape); !sums) return std::unexpected(sums.error());
  shape.notes.insert(shape.notes.end(), fields.notes().begin(), fields.notes().end());
  if (FindModelFamily(model_type) == nullptr && model_type != "gpt_oss" && model_type != "gpt2")
    shape.runs_not = "its architecture, " + model_type + ", is not among those that Folio runs";
  return shape;
}

std::vector<std::string_view> PlannableModelTypes() {
  std::vector<std::string_view> types;
  for (const std::span<const ConfigFamily> group : AllFamilies()) {
    for (const ConfigFamily& family : group) types.push_back(family.model_type);
  }
  std::ranges::sort(types);
  return types;
}

}  // namespace folio
