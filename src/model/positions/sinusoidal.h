// Sinusoidal positions (Vaswani et al. 2017, "Attention Is All You Need", section 3.5), added to
// the embedding of a token:
//   PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)).
// The same hands as RoPE's, shown as a vector and not by turning one.
#ifndef FOLIO_MODEL_POSITIONS_SINUSOIDAL_H_
#define FOLIO_MODEL_POSITIONS_SINUSOIDAL_H_

#include <cstdint>
#include <span>
#include <vector>

namespace folio {

inline constexpr double kSinusoidalBase = 10000.0;

// PE(position, 0..dim), dim even; the bits are the same on every machine.
std::vector<double> SinusoidalPosition(std::int64_t position, std::int64_t dim);

// x += PE(position), x with an even number of elements.
void AddSinusoidalPosition(std::int64_t position, std::span<float> x);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_SINUSOIDAL_H_
