// The experts of a model whose experts don't all fit into memory: the hot ones, packed, in slots of
// one budget; the others are read when a router chooses them, while those at hand are computed.
//
//   cache.Begin(layer, dispatch);
//   for (auto some = cache.Next(); !some.empty(); some = cache.Next()) compute(some);
//
// A layer whose rows need more experts than there are slots goes in waves. Neither waves nor their
// order change a bit: an expert's products see its own rows only, and rows are combined at the end.
#ifndef FOLIO_MODEL_EXPERT_CACHE_H_
#define FOLIO_MODEL_EXPERT_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "formats/model_file.h"
#include "model/expert_reader.h"
#include "model/expert_slots.h"
#include "model/moe_dispatch.h"
#include "model/weight_packing.h"

namespace folio {

// The matrices of the experts of all layers that have any, layer by layer.
struct ExpertMatrices {
  std::vector<MatrixToPack> matrices;  // an expert's lie together; `offset` counts from its slot
  int layers = 0;
  int of_a_layer = 0;
  std::size_t slot_bytes = 0;  // of the largest expert

  std::int64_t experts() const { return std::int64_t{layers} * of_a_layer; }
  std::span<const MatrixToPack> Of(std::int32_t expert) const {
    const std::size_t each = matrices.size() / static_cast<std::size_t>(experts());
    return std::span(matrices).subspan(static_cast<std::size_t>(expert) * each, each);
  }
};

struct ExpertCacheStats {
  std::int64_t experts = 0;      // of all layers
  std::int64_t slots = 0;        // so many of them fit
  std::int64_t resident = 0;     // and so many are there
  std::uint64_t hits = 0;        // experts that rows of a step chose, in memory
  std::uint64_t misses = 0;      // or not
  std::uint64_t bytes_read = 0;  // of the file
  double wait_seconds = 0;       // in which nothing could be computed for want of an expert
};

class ExpertCache {
 public:
  // Bytes that it takes with so many slots.
  static std::uint64_t Bytes(const ExpertMatrices& experts, std::int64_t slots);

  // Makes all experts' targets empty: their data is set while they are in memory. `file` and the
  // targets must outlive the object.
  static Result<std::unique_ptr<ExpertCache>> Create(const ModelFile& file, ExpertMatrices experts,
                                                     std::int64_t slots);

  // The rows of the layer (of those with experts) that go through experts now. Reading starts.
  void Begin(int layer, const Dispatch& dispatch);
  // Some of the experts that have rows, none twice: in memory until the next call. Waits for the
  // disk only if none is at hand. Empty: that was all.
  std::span<const std::int32_t> Next();

  // Of the layer that is through: experts that could not be read, and the first reason.
  std::span<const std::int32_t> failed() const { return failed_; }
  const Error& error() const { return error_; }

  ExpertCacheStats stats() const;

 private:
  ExpertCache(ExpertMatrices experts, std::int64_t slots, AlignedBuffer storage,
              std::unique_ptr<ExpertReader> reader);

  std::int32_t IdOf(std::int32_t expert) const { return first_ + expert; }
  void StartReads();
  void TakeReads();
  void PutInMemory(std::int32_t id, std::byte* slot) const;

  ExpertMatrices experts_;
  ExpertSlots slots_;
  AlignedBuffer storage_;   // [slots][slot_bytes]
  std::int32_t first_ = 0;  // of the layer's experts among all
  // Of the layer's experts, as it numbers them.
  std::vector<std::int32_t> ready_;    // in memory, not yet handed out
  std::vector<std::int32_t> handed_;   // by the last Next
  std::vector<std::int32_t> waiting_;  // for a slot; the next one last
  std::vector<std::int32_t> failed_;
  Error error_;
  std::int64_t in_flight_ = 0;
  std::vector<ExpertRead> done_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
  std::uint64_t bytes_read_ = 0;
  double wait_seconds_ = 0;
  std::unique_ptr<ExpertReader> reader_;  // last: its threads end before what they write to
};

}  // namespace folio

#endif  // FOLIO_MODEL_EXPERT_CACHE_H_
