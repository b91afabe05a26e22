// The engine's Mixture-of-Experts layer with weights that the MoE lab makes up.
#ifndef FOLIO_APPS_FOLIO_LAB_MOE_LAYER_H_
#define FOLIO_APPS_FOLIO_LAB_MOE_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "model/config.h"
#include "model/moe_layer.h"
#include "model/weights.h"
#include "quant/ggml_type.h"

namespace folio {

// Packs a matrix [n, k] whose rows lie one after another, as GGUF has them, into
// PackedBytes(type, n, k) bytes.
PackedMatrix PackRows(GgmlType type, const std::byte* rows, std::int64_t n, std::int64_t k,
                      std::byte* packed);

// A layer of float weights, few enough to be written down.
struct TinyExperts {
  AlignedBuffer bytes;
  MoeWeights weights;

  // router: [experts, hidden]. The experts' matrices are random, of the seed.
  static Result<TinyExperts> Create(std::span<const float> router, std::int64_t hidden,
                                    std::int64_t expert_ffn, std::uint64_t seed);
  // One expert behind a router that has no other: its output comes with a weight of 1.
  MoeWeights Alone(std::size_t expert) const;
};

class LabMoe {
 public:
  // `pool` must outlive the object. A runtime error if there is no memory.
  static Result<std::unique_ptr<LabMoe>> Create(std::int64_t hidden, std::int64_t expert_ffn,
                                                const RouterConfig& router, std::int64_t max_rows,
                                                Isa isa, ThreadPool& pool);
  LabMoe(const LabMoe&) = delete;
  LabMoe& operator=(const LabMoe&) = delete;

  // x, out: [rows, hidden]
  void Run(const MoeWeights& weights, std::span<const float> x, std::span<float> out);
  std::vector<float> Output(const MoeWeights& weights, std::span<const float> x);
  const LayerRouting& routing() const { return layer_->routing(); }

 private:
  LabMoe(ModelConfig config, Isa isa, ThreadPool& pool)
      : config_(std::move(config)), isa_(isa), pool_(&pool) {}

  ModelConfig config_;
  Isa isa_;
  ThreadPool* pool_;
  AlignedBuffer workspace_;
  AlignedBuffer converted_;
  std::unique_ptr<MoeLayer> layer_;
};

// `count` values of a normal distribution that depend on the seed and stream alone.
std::vector<float> NormalValues(std::size_t count, std::uint64_t seed, std::uint32_t stream);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MOE_LAYER_H_
