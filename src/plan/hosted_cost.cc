#include "plan/hosted_cost.h"

#include <cmath>
#include <string>

namespace folio {
namespace {

Status CheckNotNegative(const char* option, double value) {
  if (std::isfinite(value) && value >= 0) return {};
  return UsageError("plan", option, std::to_string(value) + " is no number from 0 on");
}

}  // namespace

Result<HostedCost> PriceHosted(const HostedTraffic& traffic, const HostedPrices& prices) {
  for (const Status& checked : {CheckNotNegative("--write-factor", prices.write_factor),
                                CheckNotNegative("--read-factor", prices.read_factor),
                                CheckNotNegative("--ttl", prices.ttl_seconds),
                                CheckNotNegative("--price", prices.per_million),
                                CheckNotNegative("--interval", traffic.interval_seconds)}) {
    if (!checked) return std::unexpected(checked.error());
  }
  if (traffic.requests < 1)
    return UsageError("plan", "--requests", std::to_string(traffic.requests) + " is below 1");
  if (traffic.shared_prefix < 0 || traffic.shared_prefix > traffic.prompt_tokens) {
    return UsageError("plan", "--shared-prefix",
                      std::to_string(traffic.shared_prefix) + " is more than the prompt's " +
                          std::to_string(traffic.prompt_tokens));
  }
  HostedCost cost;
  const bool kept = traffic.interval_seconds <= prices.ttl_seconds;
  if (traffic.shared_prefix > 0) {
    cost.writes = kept ? 1 : traffic.requests;
    cost.reads = traffic.requests - cost.writes;
  }
  const auto prefix = static_cast<double>(traffic.shared_prefix);
  const auto requests = static_cast<double>(traffic.requests);
  cost.uncached_tokens = requests * static_cast<double>(traffic.prompt_tokens);
  cost.written_tokens = static_cast<double>(cost.writes) * prefix * prices.write_factor;
  cost.read_tokens = static_cast<double>(cost.reads) * prefix * prices.read_factor;
  cost.plain_tokens = requests * static_cast<double>(traffic.prompt_tokens - traffic.shared_prefix);
  return cost;
}

}  // namespace folio
