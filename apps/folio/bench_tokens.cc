#include "folio/bench_tokens.h"

#include "sampling/counter_rng.h"

namespace folio {

std::vector<std::int32_t> BenchTokens(std::int64_t count, std::int64_t vocab, std::uint64_t seed) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const double u = UniformAt(seed, /*choice=*/0, i);
    tokens.push_back(static_cast<std::int32_t>(u * static_cast<double>(vocab)));
  }
  return tokens;
}

}  // namespace folio
