#include "api/openai_sampling.h"

#include <limits>
#include <string>
#include <utility>

namespace folio {
namespace {

constexpr std::int64_t kMostChoices = 128;

void ReadCacheHints(Fields& fields, ApiRequest& api) {
  Request& request = api.request;
  fields.Text("user");
  api.session = fields.Text("prompt_cache_key").value_or("");
  request.cache_salt = fields.Text("cache_salt").value_or("");
  const auto retention = fields.Text("prompt_cache_retention");
  if (!retention || *retention == "in_memory" || *retention == "in-memory") return;
  if (*retention == "24h") {
    request.retention = CacheRetention::k24Hours;
  } else {
    fields.Refuse("prompt_cache_retention", "is '" + *retention + "', not in_memory or 24h");
  }
}

void ReadStreamOptions(Fields& fields, ApiRequest& request) {
  const Json* options = fields.Object("stream_options");
  if (options == nullptr) return;
  Fields inner(*options, "stream_options", fields.refusal());
  request.stream_usage = inner.Flag("include_usage").value_or(false);
}

void RefuseUnsupported(Fields& fields) {
  if (const Json* bias = fields.Object("logit_bias"); bias != nullptr && !bias->empty()) {
    fields.Refuse("logit_bias", "is not supported");
  }
}

}  // namespace

void ReadCommonFields(Fields& fields, ApiRequest& request) {
  request.model = fields.Text("model").value_or("");
  request.stream = fields.Flag("stream").value_or(false);
  request.seed = ReadSeed(fields);
  ReadSampling(fields, request.request.sampling);
  ReadStops(fields, "stop", request.request.stop);
  request.request.choices = static_cast<int>(fields.Whole("n", 1, kMostChoices).value_or(1));
  request.request.priority = static_cast<int>(
      fields.Whole("priority", std::numeric_limits<int>::min(), std::numeric_limits<int>::max())
          .value_or(0));
  ReadStreamOptions(fields, request);
  ReadCacheHints(fields, request);
  RefuseUnsupported(fields);
}

}  // namespace folio
