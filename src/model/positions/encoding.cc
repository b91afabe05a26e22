#include "model/positions/encoding.h"

#include <array>

#include "model/exact_math.h"
#include "model/positions/alibi.h"
#include "model/positions/learned.h"
#include "model/positions/sinusoidal.h"

namespace folio {

std::string_view EncodingName(const PositionEncoding& encoding) {
  // In the variant's order.
  constexpr std::array<std::string_view, 5> kNames = {"none", "learned", "sinusoidal", "rotary",
                                                      "alibi"};
  static_assert(kNames.size() == std::variant_size_v<PositionEncoding>);
  return kNames[encoding.index()];
}

Status AddToEmbedding(const PositionEncoding& encoding, std::int64_t position, std::span<float> x) {
  if (const auto* learned = std::get_if<LearnedPositions>(&encoding))
    return AddLearnedPosition(learned->table, position, x);
  if (std::holds_alternative<SinusoidalPositions>(encoding)) AddSinusoidalPosition(position, x);
  return {};
}

void TurnHead(Isa isa, const PositionEncoding& encoding, std::int64_t position,
              std::span<float> head) {
  const auto* rotary = std::get_if<RotaryPositions>(&encoding);
  if (rotary == nullptr) return;
  const Rope& rope = rotary->rope;
  std::vector<float> cosines;
  std::vector<float> sines;
  for (const double frequency : rope.frequencies) {
    const SinCos angle = ExactSinCos(static_cast<double>(position) * frequency);
    cosines.push_back(static_cast<float>(angle.cosine * rope.attention_factor));
    sines.push_back(static_cast<float>(angle.sine * rope.attention_factor));
  }
  RotateHead(isa, rotary->pairs, cosines.data(), sines.data(),
             static_cast<std::int64_t>(2 * rope.frequencies.size()), head.data());
}

double ScoreBias(const PositionEncoding& encoding, int head, std::int64_t query, std::int64_t key) {
  const auto* alibi = std::get_if<AlibiPositions>(&encoding);
  if (alibi == nullptr) return 0.0;
  return AlibiBias(alibi->slopes[static_cast<std::size_t>(head)], query, key);
}

}  // namespace folio
