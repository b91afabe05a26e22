#include "model/weight_packing.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace folio {
namespace {

// Of the file, packed by one thread at a time.
constexpr std::int64_t kChunkBytes = 192 << 10;
// Of the file, packed before its pages are let go: both copies of so much are in memory at once.
constexpr std::size_t kPortionBytes = std::size_t{8} << 20;
// Longest packing before a step.
constexpr std::chrono::milliseconds kPackingTime{500};

std::int64_t Strips(const PackedMatrix& matrix) { return (matrix.n + kStripRows - 1) / kStripRows; }

}  // namespace

std::size_t FirstByte(const MatrixToPack& matrix) {
  return static_cast<std::size_t>(matrix.first_row *
                                  FileRowBytes(matrix.target->type, matrix.target->k));
}

std::span<const std::byte> FileData(const MatrixToPack& matrix) {
  const PackedMatrix& shape = *matrix.target;
  return matrix.tensor->data.subspan(
      FirstByte(matrix), static_cast<std::size_t>(shape.n * FileRowBytes(shape.type, shape.k)));
}

Result<WeightPacking> WeightPacking::Create(const ModelFile& file,
                                            const std::vector<MatrixToPack>& matrices,
                                            std::size_t storage_bytes, int threads) {
  std::size_t scratch_bytes = 0;
  for (const MatrixToPack& matrix : matrices) {
    scratch_bytes =
        std::max(scratch_bytes, StripScratchBytes(matrix.target->type, matrix.target->k));
  }
  Result<AlignedBuffer> storage = AlignedBuffer::Create(storage_bytes, "weights");
  if (!storage) return std::unexpected(storage.error());
  Result<AlignedBuffer> scratch =
      AlignedBuffer::Create(scratch_bytes * static_cast<std::size_t>(threads), "weights");
  if (!scratch) return std::unexpected(scratch.error());

  WeightPacking packing;
  packing.file_ = &file;
  packing.storage_ = *std::move(storage);
  packing.scratch_ = *std::move(scratch);
  for (const MatrixToPack& matrix : matrices) {
    packing.entries_.push_back({matrix,
                                {.rows = FileData(matrix).data(),
                                 .scratch = packing.scratch_.data(),
                                 .scratch_bytes = scratch_bytes}});
  }
  // In file order, so that a file which is not in memory is read from front to back.
  std::ranges::sort(packing.entries_, {}, [](const Entry& entry) {
    const MatrixToPack& matrix = entry.matrix;
    return std::tuple(matrix.tensor->file, matrix.tensor->offset, matrix.first_row);
  });
  for (const Entry& entry : packing.entries_) {
    PackedMatrix& target = *entry.matrix.target;
    target.data = packing.storage_.data() + entry.matrix.offset;
    target.unpacked = &entry.unpacked;
    target.packed_strips = 0;
    if (entry.matrix.twin != nullptr) *entry.matrix.twin = target;
  }
  packing.CutIntoChunks();
  return packing;
}

void WeightPacking::CutIntoChunks() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const PackedMatrix& matrix = *entries_[i].matrix.target;
    const std::int64_t strips = Strips(matrix);
    const std::int64_t step =
        std::max<std::int64_t>(1, kChunkBytes / (FileRowBytes(matrix.type, matrix.k) * kStripRows));
    for (std::int64_t strip = 0; strip < strips; strip += step)
      chunks_.push_back({i, strip, std::min(step, strips - strip)});
  }
}

std::span<const std::byte> WeightPacking::FileRows(const Chunk& chunk) const {
  const Entry& entry = entries_[chunk.entry];
  const PackedMatrix& matrix = *entry.matrix.target;
  const std::int64_t row_bytes = FileRowBytes(matrix.type, matrix.k);
  const std::int64_t first = chunk.first_strip * kStripRows;
  const std::int64_t rows = std::min(chunk.strips * kStripRows, matrix.n - first);
  return FileData(entry.matrix)
      .subspan(static_cast<std::size_t>(first * row_bytes),
               static_cast<std::size_t>(rows * row_bytes));
}

void WeightPacking::PackChunk(const Chunk& chunk) const {
  const Entry& entry = entries_[chunk.entry];
  const PackedMatrix& matrix = *entry.matrix.target;
  const std::int64_t strip_bytes =
      static_cast<std::int64_t>(PackedStripBytes(matrix.type, matrix.k));
  const std::int64_t file_strip_bytes = FileRowBytes(matrix.type, matrix.k) * kStripRows;
  const std::byte* from = FileRows(chunk).data();
  std::byte* to = storage_.data() + entry.matrix.offset +
                  static_cast<std::size_t>(chunk.first_strip * strip_bytes);
  for (std::int64_t i = 0; i < chunk.strips; ++i) {
    const std::int64_t row = (chunk.first_strip + i) * kStripRows;
    PackStrip(matrix.type, from + i * file_strip_bytes, std::min(kStripRows, matrix.n - row),
              matrix.k, to + i * strip_bytes);
  }
}

void WeightPacking::MarkPacked(const Chunk& chunk) {
  const MatrixToPack& matrix = entries_[chunk.entry].matrix;
  matrix.target->packed_strips = chunk.first_strip + chunk.strips;
  if (matrix.target->packed_strips == Strips(*matrix.target)) matrix.target->unpacked = nullptr;
  if (matrix.twin != nullptr) *matrix.twin = *matrix.target;
}

void WeightPacking::Pack(std::size_t bytes, ThreadPool& pool) {
  const std::size_t first = next_;
  std::size_t end = first;
  for (std::size_t sum = 0; end < chunks_.size() && sum < bytes; ++end)
    sum += FileRows(chunks_[end]).size();
  pool.ParallelFor(static_cast<std::int64_t>(end - first), [&](std::int64_t task, int) {
    PackChunk(chunks_[first + static_cast<std::size_t>(task)]);
  });
  for (; next_ < end; ++next_) {
    MarkPacked(chunks_[next_]);
    file_->LetGo(*entries_[chunks_[next_].entry].matrix.tensor, FileRows(chunks_[next_]));
  }
  if (done()) scratch_ = AlignedBuffer();
}

void WeightPacking::BeforeStep(ThreadPool& pool) {
  if (!std::exchange(stepped_, true)) return;
  const auto end = std::chrono::steady_clock::now() + kPackingTime;
  while (!done() && std::chrono::steady_clock::now() < end) Pack(kPortionBytes, pool);
}

void WeightPacking::Finish(ThreadPool& pool, const std::function<void(double)>& progress) {
  while (!done()) {
    Pack(kPortionBytes, pool);
    if (progress) progress(static_cast<double>(next_) / static_cast<double>(chunks_.size()));
  }
}

}  // namespace folio
