// The ladder from plain attention to FlashAttention, each rung over the two tiers of
// lab_attention_memory.h: softmax(Q K^T / sqrt(d)) V of one head, without a mask. Q, K, V, scores
// and weights are FP16; sums are FP32.
#ifndef FOLIO_APPS_FOLIO_LAB_ATTENTION_RUNGS_H_
#define FOLIO_APPS_FOLIO_LAB_ATTENTION_RUNGS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "folio/lab_attention_math.h"
#include "folio/lab_attention_memory.h"

namespace folio {

enum class Rung {
  kThreePass,      // scores, weights exp(x) and output one after another, through slow memory
  kSafeThreePass,  // the same with the row's largest score taken off before exp
  kFusedUnsafe,    // one pass, exp(x) straight into the output: right until exp(x) overflows
  kOnlineTwoPass,  // largest score and denominator in one pass, the output in a second
  kOnePass,        // the output too, rescaled whenever the largest score changes: FlashAttention
};

std::string_view RungName(Rung rung);

struct AttentionInputs {
  std::int64_t tokens = 0;
  std::int64_t head_dim = 0;
  std::vector<float> q;  // [tokens, head_dim] each; values of FP16
  std::vector<float> k;
  std::vector<float> v;
};

// Values of a normal distribution that depend on the seed alone; those of q and k with this
// deviation. Scores have the square of it.
AttentionInputs MakeInputs(std::int64_t tokens, std::int64_t head_dim, std::uint64_t seed,
                           float deviation);

// The same attention in float64.
std::vector<double> ReferenceAttention(const AttentionInputs& inputs);

// How many query rows and key rows are in fast memory at a time; 1 and 1 is one vector at a time.
struct Tile {
  std::int64_t queries = 1;
  std::int64_t keys = 1;
};

// The largest square tile of a power of two rows, at most `most`, whose buffers fit; 0 = none does.
std::int64_t LargestTile(std::int64_t head_dim, std::uint64_t fast_bytes, std::int64_t most);

struct RungResult {
  std::vector<float> out;    // [tokens, head_dim]
  std::int64_t passes = 0;   // sweeps over the n positions, for each block of queries
  std::int64_t k_reads = 0;  // how often all of K came, for each block of queries
  std::int64_t v_reads = 0;  // ... and all of V
  Traffic traffic;
  std::uint64_t kv_bytes = 0;     // of the traffic: K and V read
  std::uint64_t table_bytes = 0;  // of the traffic: n x n tables written and read
  std::uint64_t peak_bytes = 0;   // of fast memory
  Operations operations;
  std::int64_t overflows = 0;  // finite values that FP16 made infinite
};

Result<RungResult> RunRung(Rung rung, const AttentionInputs& inputs, Tile tile,
                           std::uint64_t fast_bytes);

// How an output differs from the reference: in the rows that have numbers, and how many have none.
struct OutputDifference {
  double largest = 0;
  std::int64_t rows_lost = 0;  // with an infinity or NaN
};
OutputDifference CompareOutput(const std::vector<float>& out, const std::vector<double>& reference,
                               std::int64_t head_dim);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_ATTENTION_RUNGS_H_
