// ALiBi (Press et al. 2021, "Train Short, Test Long: Attention with Linear Biases"): nothing is
// added to embeddings and nothing turns; a key's score falls with its distance from the query, in
// each head at its own slope.
#ifndef FOLIO_MODEL_POSITIONS_ALIBI_H_
#define FOLIO_MODEL_POSITIONS_ALIBI_H_

#include <cstdint>
#include <vector>

namespace folio {

// One slope a head. For n heads, a power of two: 2^(-8/n), 2^(-16/n), ..., 2^-8 (section 3). For
// other counts, as the authors' code has it: those of the next smaller power of two, then every
// other one of twice as many, from the first on.
std::vector<double> AlibiSlopes(int heads);

// What is added to the score of the key at `key` for the query at `query`, key <= query.
constexpr double AlibiBias(double slope, std::int64_t query, std::int64_t key) {
  return -slope * static_cast<double>(query - key);
}

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_ALIBI_H_
