// The fields that every dialect has for how a reply is drawn and where it stops.
#ifndef FOLIO_API_SAMPLING_FIELDS_H_
#define FOLIO_API_SAMPLING_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "folio/sampling_params.h"

namespace folio {

inline constexpr std::int64_t kMostTokens = 2147483647;  // that a reply may be asked for

// temperature, top_p, top_k, min_p and the penalties, under the same names in every dialect.
void ReadSampling(Fields& fields, SamplingParams& sampling);
std::optional<std::uint64_t> ReadSeed(Fields& fields);
// Stop strings: one, or a list.
void ReadStops(Fields& fields, std::string_view name, std::vector<std::string>& stops);

}  // namespace folio

#endif  // FOLIO_API_SAMPLING_FIELDS_H_
