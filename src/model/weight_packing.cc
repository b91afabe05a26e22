#include "model/weight_packing.h"

#include <algorithm>
#include <chrono>
#include <cstring>
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

// Of the file: a matrix that is looked at as a whole before it is packed.
constexpr std::size_t kMostNarrowed = std::size_t{16} << 20;

bool IsBf16(std::span<const std::byte> floats) {
  std::uint32_t low_bits = 0;
  for (std::size_t i = 0; i + 4 <= floats.size(); i += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, floats.data() + i, 4);
    low_bits |= bits << 16;
  }
  return low_bits == 0;
}

// The high halves of `count` float32s, as BF16 has them.
std::vector<std::byte> HighHalves(const std::byte* floats, std::int64_t count) {
  std::vector<std::byte> halves(static_cast<std::size_t>(2 * count));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::memcpy(halves.data() + 2 * i, floats + 4 * i + 2, 2);
  }
  return halves;
}

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

void WeightPacking::ChooseTypes(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end; ++i) {
    if (chunks_[i].first_strip > 0) continue;
    Entry& entry = entries_[chunks_[i].entry];
    const std::span<const std::byte> rows = FileData(entry.matrix);
    entry.narrow =
        entry.matrix.target->type == GgmlType::kF32 && rows.size() <= kMostNarrowed && IsBf16(rows);
  }
}

void WeightPacking::PackChunk(const Chunk& chunk) const {
  const Entry& entry = entries_[chunk.entry];
  const PackedMatrix& matrix = *entry.matrix.target;
  const GgmlType type = entry.narrow ? GgmlType::kBF16 : matrix.type;
  const std::int64_t strip_bytes = static_cast<std::int64_t>(PackedStripBytes(type, matrix.k));
  const std::int64_t file_strip_bytes = FileRowBytes(matrix.type, matrix.k) * kStripRows;
  const std::byte* from = FileRows(chunk).data();
  std::byte* to = storage_.data() + entry.matrix.offset +
                  static_cast<std::size_t>(chunk.first_strip * strip_bytes);
  for (std::int64_t i = 0; i < chunk.strips; ++i) {
    const std::int64_t row = (chunk.first_strip + i) * kStripRows;
    const std::int64_t rows = std::min(kStripRows, matrix.n - row);
    const std::byte* file_rows = from + i * file_strip_bytes;
    const std::vector<std::byte> narrowed =
        entry.narrow ? HighHalves(file_rows, rows * matrix.k) : std::vector<std::byte>();
    PackStrip(type, entry.narrow ? narrowed.data() : file_rows, rows, matrix.k,
              to + i * strip_bytes);
  }
}

void WeightPacking::MarkPacked(const Chunk& chunk) {
  const MatrixToPack& matrix = entries_[chunk.entry].matrix;
  const bool narrow = entries_[chunk.entry].narrow;
  const std::int64_t packed = chunk.first_strip + chunk.strips;
  const bool whole = packed == Strips(*matrix.target);
  if (narrow && !whole) return;  // its strips are of the other type: nothing may read them yet
  if (narrow) matrix.target->type = GgmlType::kBF16;
  matrix.target->packed_strips = packed;
  if (whole) matrix.target->unpacked = nullptr;
  if (matrix.twin != nullptr) *matrix.twin = *matrix.target;
}

void WeightPacking::Pack(std::size_t bytes, ThreadPool& pool) {
  const std::size_t first = next_;
  std::size_t end = first;
  for (std::size_t sum = 0; end < chunks_.size() && sum < bytes; ++end)
    sum += FileRows(chunks_[end]).size();
  ChooseTypes(first, end);
  pool.ParallelFor(static_cast<std::int64_t>(end - first), [&](std::int64_t task, int) {
    PackChunk(chunks_[first + static_cast<std::size_t>(task)]);
  });
  for (; next_ < end; ++next_) {
    const Chunk& chunk = chunks_[next_];
    file_->LetGo(*entries_[chunk.entry].matrix.tensor, FileRows(chunk));
    MarkPacked(chunk);
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
