// The tokens that benchmarks feed to a model.
#ifndef FOLIO_APPS_FOLIO_BENCH_TOKENS_H_
#define FOLIO_APPS_FOLIO_BENCH_TOKENS_H_

#include <cstdint>
#include <vector>

namespace folio {

// Tokens that are the same on every machine and that no cache of n-grams could guess. Different
// seeds share no prefix worth the name.
std::vector<std::int32_t> BenchTokens(std::int64_t count, std::int64_t vocab,
                                      std::uint64_t seed = 1);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_BENCH_TOKENS_H_
