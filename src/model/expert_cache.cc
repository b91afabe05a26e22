#include "model/expert_cache.h"

#include <algorithm>
#include <chrono>
#include <ranges>
#include <utility>

namespace folio {
namespace {

// So many rows after it, a row counts half for who stays in memory.
constexpr double kHalfLifeRows = 128;
// Enough to keep a disk busy; memory is packed from the page cache as quickly as it is copied.
constexpr int kReaders = 2;

}  // namespace

std::uint64_t ExpertCache::Bytes(const ExpertMatrices& experts, std::int64_t slots) {
  return static_cast<std::uint64_t>(slots) * experts.slot_bytes +
         kReaders * ExpertReader::BufferBytes(experts.matrices) +
         ExpertSlots::Bytes(slots, experts.experts()) +
         experts.matrices.size() * sizeof(MatrixToPack);
}

Result<std::unique_ptr<ExpertCache>> ExpertCache::Create(const ModelFile& file,
                                                         ExpertMatrices experts,
                                                         std::int64_t slots) {
  Result<AlignedBuffer> storage =
      AlignedBuffer::Create(static_cast<std::size_t>(slots) * experts.slot_bytes, "experts");
  if (!storage) return std::unexpected(storage.error());
  Result<std::unique_ptr<ExpertReader>> reader =
      ExpertReader::Create(file, kReaders, ExpertReader::BufferBytes(experts.matrices));
  if (!reader) return std::unexpected(reader.error());
  return std::unique_ptr<ExpertCache>(
      new ExpertCache(std::move(experts), slots, *std::move(storage), *std::move(reader)));
}

ExpertCache::ExpertCache(ExpertMatrices experts, std::int64_t slots, AlignedBuffer storage,
                         std::unique_ptr<ExpertReader> reader)
    : experts_(std::move(experts)),
      slots_(slots, experts_.experts(), kHalfLifeRows),
      storage_(std::move(storage)),
      reader_(std::move(reader)) {
  for (std::int64_t id = 0; id < experts_.experts(); ++id)
    PutInMemory(static_cast<std::int32_t>(id), nullptr);
}

// Null: it is no longer there.
void ExpertCache::PutInMemory(std::int32_t id, std::byte* slot) const {
  for (const MatrixToPack& matrix : experts_.Of(id))
    matrix.target->data = slot == nullptr ? nullptr : slot + matrix.offset;
}

void ExpertCache::Begin(int layer, const Dispatch& dispatch) {
  first_ = layer * experts_.of_a_layer;
  ready_.clear();
  handed_.clear();
  waiting_.clear();
  failed_.clear();
  slots_.PassTime(static_cast<double>(dispatch.rows()) / experts_.layers);
  for (const std::int32_t expert : dispatch.busy_experts()) {
    slots_.NoteRows(IdOf(expert), dispatch.count(expert));
    const std::int32_t slot = slots_.SlotOf(IdOf(expert));
    if (slot >= 0) {
      slots_.Use(slot);
      ready_.push_back(expert);
    } else {
      waiting_.push_back(expert);
    }
  }
  std::ranges::reverse(waiting_);
  hits_ += ready_.size();
  misses_ += waiting_.size();
  StartReads();
}

std::span<const std::int32_t> ExpertCache::Next() {
  for (const std::int32_t expert : handed_) slots_.EndUse(slots_.SlotOf(IdOf(expert)));
  handed_.clear();
  StartReads();
  while (ready_.empty() && in_flight_ > 0) {
    TakeReads();
    StartReads();  // slots of reads that failed
  }
  std::swap(handed_, ready_);
  return handed_;
}

// As far as there are slots that nobody uses.
void ExpertCache::StartReads() {
  while (!waiting_.empty()) {
    const std::int32_t id = IdOf(waiting_.back());
    const auto given = slots_.Give(id);
    if (!given) return;
    if (given->evicted >= 0) PutInMemory(given->evicted, nullptr);
    reader_->Start(
        {.expert = id,
         .matrices = experts_.Of(id),
         .slot = storage_.data() + static_cast<std::size_t>(given->slot) * experts_.slot_bytes,
         .status = {}});
    ++in_flight_;
    waiting_.pop_back();
  }
}

void ExpertCache::TakeReads() {
  const auto start = std::chrono::steady_clock::now();
  reader_->Collect(done_);
  wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  in_flight_ -= static_cast<std::int64_t>(done_.size());
  for (const ExpertRead& read : done_) {
    const std::int32_t expert = read.expert - first_;
    if (!read.status) {
      slots_.Free(slots_.SlotOf(read.expert));
      if (failed_.empty()) error_ = read.status.error();
      failed_.push_back(expert);
      continue;
    }
    for (const MatrixToPack& matrix : read.matrices) bytes_read_ += FileData(matrix).size();
    PutInMemory(read.expert, read.slot);
    ready_.push_back(expert);
  }
}

ExpertCacheStats ExpertCache::stats() const {
  return {.experts = experts_.experts(),
          .slots = slots_.slots(),
          .resident = slots_.filled(),
          .hits = hits_,
          .misses = misses_,
          .bytes_read = bytes_read_,
          .wait_seconds = wait_seconds_};
}

}  // namespace folio
