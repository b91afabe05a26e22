// The places where a position can enter a layer of attention, and what each way of telling
// positions does there: it is added to the embedding (learned, sinusoidal), turns queries and keys
// (rotary), or lowers scores (ALiBi). One can stand in for another, which `folio lab positions`
// shows; the engine's models are all rotary, and its forward pass computes their angles by the step
// (model/positions.h).
#ifndef FOLIO_MODEL_POSITIONS_ENCODING_H_
#define FOLIO_MODEL_POSITIONS_ENCODING_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"
#include "kernels/elementwise.h"
#include "model/positions/rope.h"

namespace folio {

struct NoPositions {};
struct LearnedPositions {
  std::span<const float> table;  // [positions, hidden]
};
struct SinusoidalPositions {};
struct RotaryPositions {
  Rope rope;
  RopePairs pairs = RopePairs::kAdjacent;
};
struct AlibiPositions {
  std::vector<double> slopes;  // one a query head
};

using PositionEncoding = std::variant<NoPositions, LearnedPositions, SinusoidalPositions,
                                      RotaryPositions, AlibiPositions>;

// "none", "learned", "sinusoidal", "rotary", "alibi"
std::string_view EncodingName(const PositionEncoding& encoding);

// Adds to a token's embedding. Fails at a position past a learned table's end.
Status AddToEmbedding(const PositionEncoding& encoding, std::int64_t position, std::span<float> x);

// Turns one head of a query or a key.
void TurnHead(Isa isa, const PositionEncoding& encoding, std::int64_t position,
              std::span<float> head);

// What is added to a scaled score of query head `head`, key <= query.
double ScoreBias(const PositionEncoding& encoding, int head, std::int64_t query, std::int64_t key);

}  // namespace folio

#endif  // FOLIO_MODEL_POSITIONS_ENCODING_H_
