// A counter-based random number: a pure function of (seed, choice, position), so that a draw does
// not depend on the order in which requests and steps are scheduled. The three words go through the
// finaliser of SplitMix64 (Steele, Lea & Flood 2014), one after another.
#ifndef FOLIO_SAMPLING_COUNTER_RNG_H_
#define FOLIO_SAMPLING_COUNTER_RNG_H_

#include <cstdint>

namespace folio {

constexpr std::uint64_t MixBits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// A double in [0, 1), a multiple of 2^-53.
constexpr double UniformAt(std::uint64_t seed, std::uint32_t choice, std::int64_t position) {
  std::uint64_t bits = MixBits(seed);
  bits = MixBits(bits ^ choice);
  bits = MixBits(bits ^ static_cast<std::uint64_t>(position));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

}  // namespace folio

#endif  // FOLIO_SAMPLING_COUNTER_RNG_H_
