// The names that people give to numeric definitions.
#ifndef FOLIO_ENGINE_NUMERICS_NAME_H_
#define FOLIO_ENGINE_NUMERICS_NAME_H_

#include <string_view>

#include "base/error.h"
#include "kernels/product.h"

namespace folio {

// "auto", "int8", "int16", or a pair PROMPT,GENERATED of the same two.
Result<Numerics> ParseNumerics(std::string_view text);
std::string_view NumericsName(Numerics numerics);

}  // namespace folio

#endif  // FOLIO_ENGINE_NUMERICS_NAME_H_
