// Packs a model's matrices from its mapped file: not at load, which would be most of the time
// before the first token, but between the first steps. Until then products take the file's rows
// (kernels/product.h), with the same bits. Small float32 matrices whose values are BF16's are
// packed as BF16, since products widen either exactly: routers, which most checkpoints have as BF16
// and converters to GGUF widen, are read for every token, and so cost half.
#ifndef FOLIO_MODEL_WEIGHT_PACKING_H_
#define FOLIO_MODEL_WEIGHT_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "cpu/thread_pool.h"
#include "formats/model_file.h"
#include "kernels/product.h"

namespace folio {

struct MatrixToPack {
  const ModelTensor* tensor = nullptr;
  std::int64_t first_row = 0;      // of the tensor's rows, where it holds several matrices
  std::size_t offset = 0;          // of the packed matrix in the storage
  PackedMatrix* target = nullptr;  // type and shape are set; the rest is kept up to date here
  PackedMatrix* twin = nullptr;    // always equal to the target; may be null
};

// The matrix's rows in the file: where they begin in the tensor's data, and the mapped bytes.
std::size_t FirstByte(const MatrixToPack& matrix);
std::span<const std::byte> FileData(const MatrixToPack& matrix);

class WeightPacking {
 public:
  WeightPacking() = default;
  // Reserves `storage_bytes` for the packed matrices and makes all targets usable, none of them
  // packed, for products on pools of `threads`. File and targets must outlive the object.
  static Result<WeightPacking> Create(const ModelFile& file,
                                      const std::vector<MatrixToPack>& matrices,
                                      std::size_t storage_bytes, int threads);

  bool done() const { return next_ == chunks_.size(); }
  // What was reserved for packed matrices.
  std::size_t storage_bytes() const { return storage_.size(); }

  // What a step does before it starts: nothing before the first, so that its token comes soon;
  // later it packs for a while, never so long that a reader would think the reply has ended.
  void BeforeStep(ThreadPool& pool);

  // Packs at least `bytes` more of the file, if there are as many, and lets go of its pages.
  void Pack(std::size_t bytes, ThreadPool& pool);

  // Packs what is left. `progress` gets the fraction done; it may be empty.
  void Finish(ThreadPool& pool, const std::function<void(double)>& progress);

 private:
  struct Entry {
    MatrixToPack matrix;
    UnpackedRows unpacked;
    // A float32 matrix that BF16 holds to the bit: packed as that, and used so once it is whole.
    bool narrow = false;
  };
  // Strips of one matrix that one thread packs at a time.
  struct Chunk {
    std::size_t entry;
    std::int64_t first_strip;
    std::int64_t strips;
  };

  void CutIntoChunks();
  void ChooseTypes(std::size_t first, std::size_t end);
  std::span<const std::byte> FileRows(const Chunk& chunk) const;
  void PackChunk(const Chunk& chunk) const;
  void MarkPacked(const Chunk& chunk);

  const ModelFile* file_ = nullptr;
  std::vector<Entry> entries_;
  std::vector<Chunk> chunks_;
  std::size_t next_ = 0;  // chunks before it are packed
  bool stepped_ = false;
  AlignedBuffer storage_;
  AlignedBuffer scratch_;  // of products with strips that are not packed
};

}  // namespace folio

#endif  // FOLIO_MODEL_WEIGHT_PACKING_H_
