// The fields that OpenAI's chat completions and completions share.
#ifndef FOLIO_API_OPENAI_SAMPLING_H_
#define FOLIO_API_OPENAI_SAMPLING_H_

#include "api/api_request.h"
#include "api/fields.h"
#include "api/sampling_fields.h"  // IWYU pragma: export

namespace folio {

inline constexpr std::int64_t kMostTopLogprobs = 20;

// Everything but the prompt, its logprobs and max_tokens.
void ReadCommonFields(Fields& fields, ApiRequest& request);

}  // namespace folio

#endif  // FOLIO_API_OPENAI_SAMPLING_H_
