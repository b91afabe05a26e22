// What a hosted prompt cache would have charged for the same traffic: requests that share a prefix,
// which is written once and read while it is kept.
#ifndef FOLIO_PLAN_HOSTED_COST_H_
#define FOLIO_PLAN_HOSTED_COST_H_

#include <cstdint>

#include "base/error.h"

namespace folio {

struct HostedPrices {
  double write_factor = 1.25;  // of a token that is written to the cache, in tokens of plain input
  double read_factor = 0.1;    // of a token that is read from it
  double ttl_seconds = 300;    // how long it is kept from its last use
  double per_million = 0;      // of plain input; 0: costs are told in tokens
};

struct HostedTraffic {
  std::int64_t requests = 1;  // of all users together, evenly spaced
  std::int64_t prompt_tokens = 0;
  std::int64_t shared_prefix = 0;  // of each prompt
  double interval_seconds = 0;     // between two requests
};

// In tokens of plain input.
struct HostedCost {
  std::int64_t writes = 0;  // of the prefix
  std::int64_t reads = 0;
  double uncached_tokens = 0;  // what no cache had charged
  double written_tokens = 0;   // times write_factor
  double read_tokens = 0;      // times read_factor
  double plain_tokens = 0;     // behind the prefix
  double cached_tokens() const { return written_tokens + read_tokens + plain_tokens; }
};

// Usage errors name the option: factors and times that are negative or no numbers, a prefix longer
// than the prompt.
Result<HostedCost> PriceHosted(const HostedTraffic& traffic, const HostedPrices& prices);

}  // namespace folio

#endif  // FOLIO_PLAN_HOSTED_COST_H_
