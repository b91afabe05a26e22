#include "kernels/product.h"

#include <algorithm>
#include <array>

#include "kernels/activations.h"
#include "kernels/packed_layout.h"
#include "kernels/product_slice.h"
#include "kernels/product_strips.h"

namespace folio {
namespace {

// How one product is cut: into groups of rows whose activations stay in a core's cache, and groups
// of strips. A strip that must be packed first meets all rows in one task.
struct Cut {
  std::int64_t strips;
  std::int64_t strips_per_task;
  std::int64_t strip_groups;
  std::int64_t rows_per_slice;
  std::int64_t rows_per_task;
  std::int64_t row_groups;

  std::int64_t Tasks() const { return strip_groups * row_groups; }
};

// Activations of a row group fill at most half of a 2 MiB second-level cache.
constexpr std::int64_t kRowGroupBytes = 1 << 20;
// Tasks for each thread: enough that a slow core takes fewer, few enough that claiming one costs
// nothing.
constexpr std::int64_t kTasksPerThread = 8;
constexpr std::int64_t kFewestTasksPerThread = 2;
// Products of the same activations at most: query, key and value.
constexpr std::int64_t kMostTargets = 4;

std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t RowsPerSlice(std::int64_t rows, std::int64_t k) {
  const std::int64_t row_bytes = CeilDiv(k, 32) * kActivationBlockBytes;
  const std::int64_t fitting =
      std::clamp(kRowGroupBytes / row_bytes, std::int64_t{kTileRows}, std::int64_t{kMaxSliceRows});
  return std::min(rows, fitting / kTileRows * kTileRows);
}

// Of `jobs` products that share a loop. Many products are cut into fewer tasks each, but never so
// few that one with most of the rows leaves a thread idle.
std::int64_t WantedTasks(std::size_t jobs, int threads) {
  if (threads == 1) return 1;
  const std::int64_t together = kTasksPerThread * kMostTargets / static_cast<std::int64_t>(jobs);
  return threads * std::clamp(together, kFewestTasksPerThread, kTasksPerThread);
}

Cut CutProduct(const PackedMatrix& weights, std::int64_t rows, std::int64_t wanted) {
  Cut cut;
  cut.strips = CeilDiv(weights.n, kLanes);
  cut.rows_per_slice = RowsPerSlice(rows, weights.k);
  cut.rows_per_task = weights.unpacked == nullptr ? cut.rows_per_slice : rows;
  cut.row_groups = CeilDiv(rows, cut.rows_per_task);
  cut.strips_per_task = std::max<std::int64_t>(1, CeilDiv(cut.strips, wanted));
  cut.strip_groups = CeilDiv(cut.strips, cut.strips_per_task);
  return cut;
}

ProductSlice SliceOf(const Activations& x, const ProductTarget& target, const Cut& cut,
                     std::int64_t task) {
  const PackedMatrix& weights = *target.weights;
  const std::int64_t strip = task % cut.strip_groups * cut.strips_per_task;
  const std::int64_t row = task / cut.strip_groups * cut.rows_per_task;
  ProductSlice slice;
  slice.type = weights.type;
  slice.n = weights.n;
  slice.k = weights.k;
  slice.strips = weights.data;
  slice.strip_bytes = static_cast<std::int64_t>(PackedStripBytes(weights.type, weights.k));
  slice.strip_begin = strip;
  slice.strip_end = std::min(cut.strips, strip + cut.strips_per_task);
  slice.x = x.floats;
  slice.activations = const_cast<std::byte*>(x.packed);
  slice.rows = x.rows;
  slice.row_begin = row;
  slice.row_end = std::min(x.rows, row + cut.rows_per_task);
  slice.y = target.y;
  slice.ldy = target.ldy;
  return slice;
}

}  // namespace

void Multiply(Isa isa, const Activations& x, std::span<const ProductTarget> targets,
              ThreadPool& pool) {
  std::array<ProductJob, kMostTargets> jobs;
  const std::size_t count = std::min(targets.size(), jobs.size());
  for (std::size_t i = 0; i < count; ++i) jobs[i] = {.x = x, .target = targets[i]};
  Multiply(isa, std::span(jobs).first(count), pool);
  if (count < targets.size()) Multiply(isa, x, targets.subspan(count), pool);
}

void Multiply(Isa isa, std::span<ProductJob> jobs, ThreadPool& pool) {
  if (jobs.empty()) return;
  const std::int64_t wanted = WantedTasks(jobs.size(), pool.size());
  const auto cut_of = [&](const ProductJob& job) {
    return CutProduct(*job.target.weights, job.x.rows, wanted);
  };
  std::int64_t tasks = 0;
  for (ProductJob& job : jobs) {
    if (job.x.rows > 0) tasks += cut_of(job).Tasks();
    job.end_task = tasks;
  }
  pool.ParallelFor(tasks, [&](std::int64_t task, int thread) {
    const ProductJob& job = *std::ranges::upper_bound(jobs, task, {}, &ProductJob::end_task);
    const Cut cut = cut_of(job);
    const std::int64_t in_job = task - (job.end_task - cut.Tasks());
    const PackedMatrix& weights = *job.target.weights;
    MultiplyStrips(ProductKernel(isa, weights.type), SliceOf(job.x, job.target, cut, in_job),
                   cut.rows_per_slice, weights, thread);
  });
}

SliceKernel ProductKernel(Isa isa, GgmlType) {
  switch (isa) {
    case Isa::kScalar:
      return MultiplySliceScalar;
    case Isa::kAvx2:
      return MultiplySliceAvx2;
    case Isa::kAvx512:
      return MultiplySliceAvx512;
  }
  return MultiplySliceScalar;
}

bool ProductHasPath(GgmlType type, Isa isa) {
  return isa == Isa::kScalar || ProductKernel(isa, type) != MultiplySliceScalar;
}

}  // namespace folio
