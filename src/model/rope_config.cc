#include "model/rope_config.h"

#include <string_view>
#include <utility>

#include "model/architectures.h"
#include "model/config_reader.h"
#include "model/expect_tensor.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

constexpr const char* kLongFactors = "rope_factors_long.weight";
// DeepSeek's, whose own code reads it.
constexpr const char* kLogMultiplier = "rope.scaling.yarn_log_multiplier";
constexpr const char* kShortFactors = "rope_factors_short.weight";
// Divisors of known models are from 1 to 64.
constexpr float kSmallestRopeFactor = 1e-6F;
constexpr float kLargestRopeFactor = 1e9F;

// What no reference value covers is refused: the engine offers no scaling that it was not held
// against one with.
void RefuseOtherYarn(ConfigReader& read, bool has_temperature) {
  for (const auto& [suffix, usual] :
       {std::pair{"rope.scaling.yarn_ext_factor", 1.0},
        std::pair{"rope.scaling.yarn_attn_factor", 1.0}, std::pair{kLogMultiplier, 0.0}}) {
    if (has_temperature && suffix == kLogMultiplier) continue;
    if (const double value = read.FloatOr(suffix, usual, -1e6, 1e6); value != usual) {
      read.Refuse(suffix,
                  "is " + std::to_string(value) + ", supported is only " + std::to_string(usual));
    }
  }
}

YarnScaling ReadYarn(ConfigReader& read, const RopeConfig& rope, const ModelConfig& config) {
  RefuseOtherYarn(read, config.latent.rank > 0);
  if (rope.base <= 1.0) {
    read.Refuse("rope.freq_base", "is " + std::to_string(rope.base) + ", must be more for YaRN");
  }
  YarnScaling yarn;
  yarn.factor = read.Float("rope.scaling.factor", 1e-3, 1e6);
  yarn.original_context = static_cast<double>(read.IntOr(
      "rope.scaling.original_context_length", config.context_length, 1, kLargestContext));
  yarn.beta_fast = read.FloatOr("rope.scaling.yarn_beta_fast", yarn.beta_fast, 1e-3, 1e6);
  yarn.beta_slow = read.FloatOr("rope.scaling.yarn_beta_slow", yarn.beta_slow, 1e-3, 1e6);
  // GGUF's factor comes on top of the paper's.
  yarn.attention_factor =
      YarnAttentionFactor(yarn.factor) * read.FloatOr("rope.scaling.attn_factor", 1.0, 1e-3, 1e3);
  return yarn;
}

// Phi-3's files say so by the tensors alone.
bool HasLongRope(const ModelFile& file) {
  return file.FindTensor(kLongFactors) != nullptr || file.FindTensor(kShortFactors) != nullptr;
}

Result<RopeScaling> ReadLongRope(const ModelFile& file, ConfigReader& read, const RopeConfig& rope,
                                 const ModelConfig& config) {
  LongRopeScaling scaling;
  scaling.original_context =
      read.IntOr("rope.scaling.original_context_length", config.context_length, 1, kLargestContext);
  scaling.attention_factor = read.FloatOr("rope.scaling.attn_factor", 1.0, 1e-3, 1e3);
  for (const auto& [tensor, factors] : {std::pair{kShortFactors, &scaling.short_factors},
                                        std::pair{kLongFactors, &scaling.long_factors}}) {
    Result<std::vector<float>> found = ReadRopeFactors(file, tensor, rope.rotary_dim / 2);
    if (!found) return std::unexpected(found.error());
    *factors = *std::move(found);
  }
  return scaling;
}

Result<RopeScaling> ReadRopeScaling(const ModelFile& file, ConfigReader& read,
                                    const RopeConfig& rope, const ModelConfig& config) {
  const std::string_view scaling = read.StringOr("rope.scaling.type", "none");
  const bool long_rope = HasLongRope(file);
  if (scaling == "longrope" || (scaling == "none" && long_rope))
    return ReadLongRope(file, read, rope, config);
  if (long_rope) {
    read.Refuse("rope.scaling.type", "is '" + std::string(scaling) + "', but there is a " +
                                         kLongFactors + " or " + kShortFactors);
  }
  if (scaling == "linear")
    return LinearScaling{.factor = read.Float("rope.scaling.factor", 1e-3, 1e6)};
  if (scaling == "yarn") return ReadYarn(read, rope, config);
  if (scaling != "none") {
    read.Refuse("rope.scaling.type",
                "is '" + std::string(scaling) + "', must be none, linear, yarn or longrope");
  }
  return NoScaling{};
}

}  // namespace

Result<std::vector<float>> ReadRopeFactors(const ModelFile& file, const std::string& tensor,
                                           std::int64_t pairs) {
  const Result<const ModelTensor*> expected = ExpectTensor(file, tensor, {pairs});
  if (!expected) return std::unexpected(expected.error());
  const ModelTensor* const found = *expected;
  std::vector<float> factors(static_cast<std::size_t>(pairs));
  Dequantize(found->type, found->data.data(), pairs, factors.data());
  for (const float factor : factors) {
    if (!(factor >= kSmallestRopeFactor && factor <= kLargestRopeFactor)) {  // also refuses NaN
      return InputError(file.path(), tensor, "has a factor of " + std::to_string(factor));
    }
  }
  return factors;
}

Result<RopeConfig> ReadRopeConfig(const ModelFile& file, const ModelConfig& config) {
  ConfigReader read(file, config.architecture);
  RopeConfig rope;
  rope.base = read.FloatOr("rope.freq_base", 10000.0, kSmallestRopeBase, kLargestRopeBase);
  rope.rotary_dim = read.IntOr("rope.dimension_count", config.head_dim, 2, kLargestHeadDim);
  if (rope.rotary_dim > config.head_dim || rope.rotary_dim % 2 != 0) {
    read.Refuse("rope.dimension_count", "is " + std::to_string(rope.rotary_dim) +
                                            ", must be even and at most " +
                                            std::to_string(config.head_dim));
  }
  Result<RopeScaling> scaling = ReadRopeScaling(file, read, rope, config);
  if (!read.status()) return std::unexpected(read.status().error());
  if (!scaling) return std::unexpected(scaling.error());
  rope.scaling = *std::move(scaling);
  return rope;
}

}  // namespace folio
