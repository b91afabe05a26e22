#include "engine/numerics_name.h"

#include <cstddef>
#include <string>

namespace folio {
namespace {

Result<Numerics> ParseOneNumerics(std::string_view name) {
  if (name == "auto" || name == "int16") return Numerics::kInt16;  // auto never picks int8
  if (name == "int8") return Numerics::kInt8;
  return UsageError("--numerics", "", "'" + std::string(name) + "' is none of auto, int8, int16");
}

}  // namespace

Result<Numerics> ParseNumerics(std::string_view text) {
  const std::size_t comma = text.find(',');
  const Result<Numerics> prompt = ParseOneNumerics(text.substr(0, comma));
  if (!prompt || comma == std::string_view::npos) return prompt;
  const Result<Numerics> generated = ParseOneNumerics(text.substr(comma + 1));
  if (!generated) return generated;
  if (*prompt != *generated) {
    return UsageError(
        "--numerics", "",
        "'" + std::string(text) + "': prompt and generated rows must have the same definition");
  }
  return prompt;
}

std::string_view NumericsName(Numerics numerics) {
  return numerics == Numerics::kInt8 ? "int8" : "int16";
}

}  // namespace folio
