#include "formats/huggingface/rope.h"

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace folio {
namespace {

constexpr std::uint64_t kLargestHeadDim = 1024;

// The length that a scaling was made for: beside the scaling, or (Phi-3) at the top.
std::uint64_t OriginalContext(ConfigFields& config, ConfigFields& rope) {
  constexpr std::string_view kField = "original_max_position_embeddings";
  if (rope.Has(kField)) return rope.Uint(kField);
  return config.UintOr(kField, config.Uint("max_position_embeddings"));
}

// Grattafiori et al. 2024, "The Llama 3 Herd of Models": long waves are stretched by `factor`,
// short ones stay, between them it fades. GGUF files hold the divisors.
void MapLlama3(ConfigFields& config, ConfigFields& rope, double base, std::uint64_t head_dim,
               ModelBuilder& model) {
  const double factor = rope.Float("factor");
  const double low = rope.Float("low_freq_factor");
  const double high = rope.Float("high_freq_factor");
  const auto original = static_cast<double>(OriginalContext(config, rope));
  if (!(factor > 0 && low > 0 && high > low && original > 0))
    rope.Refuse("factor",
                "or low_freq_factor, high_freq_factor and the original length: not above 0 "
                "or in order");
  if (head_dim == 0 || head_dim > kLargestHeadDim || !rope.status()) return;
  std::vector<float> divisors;
  for (std::uint64_t i = 0; i < head_dim; i += 2) {
    const double frequency =
        std::pow(base, -static_cast<double>(i) / static_cast<double>(head_dim));
    const double wave = 2 * std::numbers::pi / frequency;
    const double smooth = (original / wave - low) / (high - low);
    const double between = 1 / ((1 - smooth) / factor + smooth);
    const double divisor =
        wave < original / high ? 1.0 : (wave > original / low ? factor : between);
    divisors.push_back(static_cast<float>(divisor));
  }
  model.AddVector("rope_freqs.weight", std::move(divisors), "config.json: rope_scaling");
}

// GGUF has a tenth of it.
void MapTemperature(ConfigFields& rope, ModelBuilder& model) {
  const double mscale = rope.FloatOr("mscale_all_dim", 0.0);
  if (const double other = rope.FloatOr("mscale", mscale); other != mscale) {
    rope.Refuse("mscale", "is " + std::to_string(other) + ", must be mscale_all_dim's " +
                              std::to_string(mscale));
  }
  model.Set("rope.scaling.yarn_log_multiplier", 0.1 * mscale, "mscale_all_dim");
}

void MapYarn(ConfigFields& config, ConfigFields& rope, const RopeDefaults& defaults,
             ModelBuilder& model) {
  const double factor = rope.Float("factor");
  model.Set("rope.scaling.type", std::string_view("yarn"), "rope_type");
  model.Set("rope.scaling.factor", factor, "factor");
  model.Set("rope.scaling.original_context_length", OriginalContext(config, rope),
            "original_max_position_embeddings");
  if (rope.Has("beta_fast"))
    model.Set("rope.scaling.yarn_beta_fast", rope.Float("beta_fast"), "beta_fast");
  if (rope.Has("beta_slow"))
    model.Set("rope.scaling.yarn_beta_slow", rope.Float("beta_slow"), "beta_slow");
  if (rope.Has("attention_factor") && factor > 0) {
    // GGUF's comes on top of the paper's, the folder's replaces it.
    const double usual = factor > 1 ? 0.1 * std::log(factor) + 1.0 : 1.0;
    model.Set("rope.scaling.attn_factor", rope.Float("attention_factor") / usual,
              "attention_factor");
  }
  if (!rope.BoolOr("truncate", true)) rope.Refuse("truncate", "is false; supported is only true");
  if (defaults.mscale_is_temperature) {
    MapTemperature(rope, model);
  } else {
    rope.RequireAbsent("mscale");
    rope.RequireAbsent("mscale_all_dim");
  }
}

// Ding et al. 2024, "LongRoPE". Where no factor of attention is given, it follows from how much
// longer the context became.
void MapLongRope(ConfigFields& config, ConfigFields& rope, ModelBuilder& model) {
  const std::uint64_t original = OriginalContext(config, rope);
  const double longer =
      rope.FloatOr("factor", static_cast<double>(config.Uint("max_position_embeddings")) /
                                 static_cast<double>(original));
  double attention = 1.0;
  if (longer > 1 && original > 1) {
    attention = std::sqrt(1 + std::log(longer) / std::log(static_cast<double>(original)));
  }
  model.Set("rope.scaling.type", std::string_view("longrope"), "rope_type");
  model.Set("rope.scaling.original_context_length", original, "original_max_position_embeddings");
  model.Set("rope.scaling.attn_factor", rope.FloatOr("attention_factor", attention),
            "attention_factor");
  model.AddVector("rope_factors_short.weight", rope.Floats("short_factor"),
                  "config.json: short_factor");
  model.AddVector("rope_factors_long.weight", rope.Floats("long_factor"),
                  "config.json: long_factor");
}

// Older writers say "type", newer ones "rope_type"; Phi-3's first files say "su".
std::string RopeType(ConfigFields& rope) {
  std::string type = rope.StringOr("rope_type", rope.StringOr("type", "default"));
  return type == "su" ? "longrope" : type;
}

}  // namespace

void MapRopeObject(ConfigFields& config, ConfigFields& rope, double base, std::uint64_t head_dim,
                   const RopeDefaults& defaults, ModelBuilder& model) {
  base = rope.FloatOr("rope_theta", base);
  model.Set("rope.freq_base", base, "rope_theta");
  const double share =
      rope.FloatOr("partial_rotary_factor", config.FloatOr("partial_rotary_factor", 1.0));
  if (share != 1.0 && share >= 0 && share <= 1) {
    const auto turned = static_cast<std::uint64_t>(static_cast<double>(head_dim) * share);
    model.Set("rope.dimension_count", turned, "partial_rotary_factor");
    head_dim = turned;
  } else if (share != 1.0) {
    rope.Refuse("partial_rotary_factor", "is " + std::to_string(share));
  }
  const std::string type = RopeType(rope);
  if (type == "linear") {
    model.Set("rope.scaling.type", std::string_view("linear"), "rope_type");
    model.Set("rope.scaling.factor", rope.Float("factor"), "factor");
  } else if (type == "yarn") {
    MapYarn(config, rope, defaults, model);
  } else if (type == "longrope") {
    MapLongRope(config, rope, model);
  } else if (type == "llama3" && defaults.takes_frequency_divisors) {
    MapLlama3(config, rope, base, head_dim, model);
  } else if (type != "default") {
    rope.Refuse("rope_type", "is '" + type + "', must be default, linear, yarn or longrope" +
                                 (defaults.takes_frequency_divisors ? ", or llama3" : ""));
  }
  config.Take(rope);
}

void MapRope(ConfigFields& config, std::uint64_t head_dim, const RopeDefaults& defaults,
             ModelBuilder& model) {
  const double base = config.FloatOr("rope_theta", defaults.base);
  ConfigFields rope =
      config.Object(config.Has("rope_parameters") ? "rope_parameters" : "rope_scaling");
  MapRopeObject(config, rope, base, head_dim, defaults, model);
}

}  // namespace folio
