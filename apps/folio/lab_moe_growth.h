// E6 measured: a layer of the engine with ever more experts of one size, 8 of them a token.
#ifndef FOLIO_APPS_FOLIO_LAB_MOE_GROWTH_H_
#define FOLIO_APPS_FOLIO_LAB_MOE_GROWTH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "cpu/thread_pool.h"
#include "folio/lab_moe.h"
#include "folio/lab_moe_sizes.h"
#include "model/weights.h"

namespace folio {

constexpr std::array<int, 6> kGrowthExperts = {8, 16, 64, 128, 384, 896};
constexpr int kGrowthTopK = 8;

// As many experts as the largest layer has, and its router: the weights of every smaller layer are
// among them. All experts have the same random numbers, each in memory of its own.
class ExpertStore {
 public:
  static std::size_t Bytes(const MoeSetting& setting);
  // A runtime error if so much memory is not free.
  static Result<ExpertStore> Create(const MoeSetting& setting);

  // So many layers of `experts` experts have no expert in common.
  int Layers(int experts) const { return kGrowthExperts.back() / experts; }
  MoeWeights Layer(int experts, int layer) const;

 private:
  explicit ExpertStore(const MoeSetting& setting);

  std::int64_t hidden_;
  AlignedBuffer experts_bytes_;
  AlignedBuffer router_bytes_;
  std::vector<FfnWeights> experts_;
};

struct GrowthPoint {
  ExpertSizes sizes;
  ParameterCount parameters;
  std::uint64_t total_bytes = 0;   // of the layer
  std::uint64_t router_bytes = 0;  // read for every token
  std::uint64_t token_bytes = 0;   // read for one token: the router and top_k experts
  // Medians of a token's seconds; 0: not measured.
  double one_layer_seconds =
      0;                       // the same layer for every token: it comes from cache where it fits
  double in_turn_seconds = 0;  // another layer each time, as in a model: it comes from memory
};

// What can be counted without running.
std::vector<GrowthPoint> CountGrowth(const MoeSetting& setting);

// Runs each layer one token at a time, the sizes in turn.
Status MeasureGrowth(const MoeSetting& setting, ThreadPool& pool, std::vector<GrowthPoint>& points);

// Weights that LabMoe can be given: F32, BF16, Q8_0, Q4_0 and MXFP4.
Result<GgmlType> GrowthType(const std::string& name);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_MOE_GROWTH_H_
