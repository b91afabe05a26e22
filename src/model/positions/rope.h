// Rotary position embedding (RoPE, Su et al. 2021, "RoFormer", section 3.2.2): pair i of a head's
// elements is a hand of a clock that turns by omega_i a position, so that a query and a key meet at
// the angle of their distance. How the hands of a model that was stretched turn, is one of the
// scalings beside this file (rope_scaling.h).
#ifndef FOLIO_MODEL_POSITIONS_ROPE_H_
#define FOLIO_MODEL_POSITIONS_ROPE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace folio {

struct RopeShape {
  double base = 10000.0;
  // Elements of a head that turn, even. Less than a head has: partial rotary, the rest stays as it
  // is. 0: no positions at all.
  std::int64_t rotary_dim = 0;
};

struct Rope {
  std::vector<double> frequencies;  // omega_i in radians a position, [rotary_dim / 2]
  double attention_factor = 1.0;    // cosines and sines are multiplied by it
};

// omega_i = base^(-2i / rotary_dim): Vaswani et al. 2017's, with a base of one's choice.
std::vector<double> RopeFrequencies(const RopeShape& shape);

// Each frequency divided by the factor given for it, one each: what files hold of Llama 3.1's
// scaling (rope_freqs.weight).
void DivideByFactors(std::span<const float> factors, std::vector<double>& frequencies);

// Positions that a hand needs to go around once.
double Wavelength(double frequency);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_ROPE_H_
