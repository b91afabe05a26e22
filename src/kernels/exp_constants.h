// The numbers of Folio's exponential, shared by every ISA's implementation
// (docs/design/numerics.md, 'Exponential'). Plain constants: an ISA file may include this.
#ifndef FOLIO_KERNELS_EXP_CONSTANTS_H_
#define FOLIO_KERNELS_EXP_CONSTANTS_H_

namespace folio {

// Below, exp is +0; above, +infinity. Between them 2^n * exp(r) is a normal number whose exponent
// can be set by an integer addition.
constexpr float kExpLowest = -87.33F;
constexpr float kExpHighest = 88.72F;

constexpr float kExpLog2E = 0x1.715476p+0F;
// Adding 1.5 * 2^23 leaves the nearest integer in the low mantissa bits.
constexpr float kExpRounder = 12582912.0F;
// ln 2 in two parts; the second holds what the first lost to rounding.
constexpr float kExpLn2High = 0x1.62e430p-1F;
constexpr float kExpLn2Low = -0x1.05c610p-29F;

// exp(r) = 1 + r + r^2 q(r) for |r| <= ln(2)/2: minimax in relative error (3.6e-9), by weighted
// least squares.
constexpr float kExpC2 = 0x1.fffffcp-2F;
constexpr float kExpC3 = 0x1.555492p-3F;
constexpr float kExpC4 = 0x1.5558f2p-5F;
constexpr float kExpC5 = 0x1.123a20p-7F;
constexpr float kExpC6 = 0x1.6a23d0p-10F;

}  // namespace folio

#endif  // FOLIO_KERNELS_EXP_CONSTANTS_H_
