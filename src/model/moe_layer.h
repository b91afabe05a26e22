// A Mixture-of-Experts feed-forward layer: route, dispatch, the experts, combine. Reads top to
// bottom in moe_layer.cc.
//
//   out[row] = sum over the row's top_k experts of weight * down(act(gate(x)) * up(x))
//
// A row's bits depend on that row alone: an expert's products see only that its rows came together,
// and the sum runs over the row's own choices, best first.
#ifndef FOLIO_MODEL_MOE_LAYER_H_
#define FOLIO_MODEL_MOE_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "kernels/product.h"
#include "model/config.h"
#include "model/moe_dispatch.h"
#include "model/moe_router.h"
#include "model/weights.h"

namespace folio {

// What the router made of one layer's rows. Valid until the next Run.
struct LayerRouting {
  std::span<const RoutedExpert> chosen;  // [rows, top_k], best first
  std::span<const float> scores;         // [rows, experts]
  std::int64_t first_bad_row = -1;       // whose logits are infinite or no numbers; -1: none
  // Rows whose experts could not all be read (any number of times each), and why: their outputs
  // mean nothing.
  std::span<const std::int32_t> unread_rows;
  const Error* read_error = nullptr;
};

class MoeLayer {
 public:
  // Bytes of workspace for calls of at most `max_rows` rows.
  static std::size_t WorkspaceBytes(const ModelConfig& config, std::int64_t max_rows);

  // Bytes of its lists: who goes where, what runs.
  static std::size_t ListBytes(const ModelConfig& config, std::int64_t max_rows);

  // `workspace` must outlive the object.
  MoeLayer(const ModelConfig& config, Isa isa, Numerics numerics, std::int64_t max_rows,
           std::byte* workspace);

  // x: the normed rows, converted and as floats [rows, hidden]. out: [rows, hidden].
  void Run(const MoeWeights& weights, const Activations& x, float* out, ThreadPool& pool);

  const LayerRouting& routing() const { return routing_; }

 private:
  struct Buffers {
    float* logits = nullptr;    // [rows, experts]
    float* scores = nullptr;    // [rows, experts]
    float* gathered = nullptr;  // [slots, hidden]: rows in the experts' order, then their outputs
    float* gate = nullptr;      // [slots, expert_ffn]
    float* up = nullptr;        // [slots, expert_ffn]
    std::byte* converted = nullptr;  // of the gathered rows, then of the gated ones
    std::size_t total = 0;
  };
  // Rows of one expert that a thread gathers and converts at a time.
  struct Tile {
    std::int32_t expert;
    std::int64_t first;  // of the expert's rows
    std::int64_t rows;
  };

  static Buffers LayOut(const ModelConfig& config, std::int64_t max_rows, std::byte* base);

  void RouteRows(const MoeWeights& weights, const Activations& x, ThreadPool& pool);
  void PlaceConverted();
  void RunCached(const MoeWeights& weights, const Activations& x, ThreadPool& pool);
  void RunExperts(const MoeWeights& weights, std::span<const std::int32_t> experts,
                  const Activations& x, ThreadPool& pool);
  void CutIntoTiles(std::span<const std::int32_t> experts);
  // Views of an expert's rows within a buffer of all slots.
  Activations RowsOf(std::int32_t expert, const float* floats, std::int64_t k) const;
  void ConvertTile(const Tile& tile, const float* floats, std::int64_t k) const;
  void Gather(const Activations& x, ThreadPool& pool);
  void GateAndUp(const MoeWeights& weights, std::span<const std::int32_t> experts,
                 ThreadPool& pool);
  void Activate(const MoeWeights& weights, ThreadPool& pool);
  void Down(const MoeWeights& weights, std::span<const std::int32_t> experts, ThreadPool& pool);
  void Combine(const MoeWeights& weights, std::int64_t rows, float* out, ThreadPool& pool) const;

  const ModelConfig* config_;
  Isa isa_;
  Numerics numerics_;
  Buffers buffers_;
  Dispatch dispatch_;
  LayerRouting routing_;
  std::vector<RoutedExpert> chosen_;       // [rows, top_k]
  std::vector<std::size_t> converted_at_;  // [experts]: offset of an expert's converted rows
  std::vector<Tile> tiles_;                // of the experts that run together
  std::vector<ProductJob> jobs_;
  std::vector<std::int32_t> unread_rows_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_MOE_LAYER_H_
