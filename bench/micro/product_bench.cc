// Speed of the products, of activation conversion and of packing, beside the machine's own limits.
//
//   product_bench [--isa avx512] [--types Q8_0,Q4_0] [--threads 2] [--seconds 1]
//                 [--decode] [--prefill] [--small] [--pack]
//
// What is compared runs interleaved, in rounds, and the medians are printed: machines have slow
// phases of seconds. One thread is timed by its CPU time, several by the wall. Weights of the
// decode rows are cycled through 512 MiB so that they come from memory; prefill uses one matrix.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/aligned_buffer.h"
#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "kernels/product.h"

namespace {

using folio::GgmlType;
using folio::Isa;

// With one thread its own CPU time, so that other processes don't count; else wall time.
double Now(int threads) {
  timespec now;
  clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Options {
  Isa isa = Isa::kScalar;
  std::vector<GgmlType> types;
  int threads = 2;
  double seconds = 1;
  bool decode = false;
  bool prefill = false;
  bool small = false;
  bool pack = false;
};

// One thing measured: run() takes some time and stands for `work` units of it.
struct Case {
  std::string name;
  std::string unit;
  double work;
  std::function<void()> run;
  std::vector<double> rates = {};
};

void RunInterleaved(std::vector<Case>& cases, const Options& options) {
  for (Case& each : cases) each.run();
  const double end = Now(options.threads) + options.seconds * static_cast<double>(cases.size());
  while (Now(options.threads) < end) {
    for (Case& each : cases) {
      const double start = Now(options.threads);
      each.run();
      each.rates.push_back(each.work / (Now(options.threads) - start));
    }
  }
  for (Case& each : cases) {
    std::sort(each.rates.begin(), each.rates.end());
    const std::size_t count = each.rates.size();
    std::printf("%-28s %8.3f %s (quartiles %.3f-%.3f, %zu runs)\n", each.name.c_str(),
                each.rates[count / 2], each.unit.c_str(), each.rates[count / 4],
                each.rates[count * 3 / 4], count);
  }
}

// Rows of random codes whose 16-bit fields are all small and finite: high bytes stay below 0x2c.
std::vector<std::byte> FileRows(GgmlType type, std::int64_t n, std::int64_t k) {
  const folio::GgmlTypeInfo& info = folio::TypeInfo(type);
  std::mt19937 random(1);
  std::vector<std::byte> file(
      static_cast<std::size_t>(n * (k / info.block_elements) * info.block_bytes));
  for (std::size_t i = 0; i < file.size(); ++i)
    file[i] = static_cast<std::byte>(i % 2 == 1 ? random() % 0x2c : random() % 256);
  return file;
}

// `copies` equal matrices, used in turn.
class Matrix {
 public:
  Matrix(GgmlType type, std::int64_t n, std::int64_t k, std::size_t copies = 1)
      : bytes_(folio::PackedBytes(type, n, k)), copies_(copies) {
    buffer_ = std::move(*folio::AlignedBuffer::Create(bytes_ * copies + (1 << 16), "weights"));
    const std::vector<std::byte> rows = FileRows(type, 16, k);
    const std::size_t strip = folio::PackedStripBytes(type, k);
    folio::PackStrip(type, rows.data(), 16, k, buffer_.data());
    for (std::size_t at = strip; at + strip <= bytes_ * copies; at += strip)
      std::memcpy(buffer_.data() + at, buffer_.data(), strip);
    for (std::size_t i = 0; i < copies; ++i)
      packed_.push_back({type, n, k, buffer_.data() + i * bytes_});
  }
  const folio::PackedMatrix& Next() { return packed_[next_++ % copies_]; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t copies_;
  std::size_t next_ = 0;
  folio::AlignedBuffer buffer_;
  std::vector<folio::PackedMatrix> packed_;
};

struct Rows {
  Rows(const Options& options, std::int64_t rows, std::int64_t k, folio::ThreadPool& pool)
      : x(static_cast<std::size_t>(rows * k)),
        buffer(std::move(*folio::AlignedBuffer::Create(folio::ActivationBytes(rows, k), "rows"))) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random);
    view = folio::ConvertActivations(options.isa, folio::Numerics::kInt16, x.data(), rows, k,
                                     buffer.data(), pool);
  }
  std::vector<float> x;
  folio::AlignedBuffer buffer;
  folio::Activations view;
};

// What the cases of one round use.
struct Round {
  std::vector<Case> cases;
  std::vector<std::unique_ptr<Rows>> rows;
  std::vector<std::unique_ptr<Matrix>> matrices;
  std::vector<float> y;

  // `repeats` products of `count` rows with the latest matrix.
  void Add(const Options& options, folio::ThreadPool& pool, std::string name, std::int64_t count,
           int repeats, std::string unit, double work) {
    Matrix* matrix = matrices.back().get();
    const std::int64_t k = matrix->Next().k;
    rows.push_back(std::make_unique<Rows>(options, count, k, pool));
    const Rows* x = rows.back().get();
    cases.push_back(
        {std::move(name), std::move(unit), work, [&options, &pool, this, x, matrix, repeats] {
           for (int i = 0; i < repeats; ++i) {
             const folio::PackedMatrix& weights = matrix->Next();
             const folio::ProductTarget target = {&weights, y.data(), weights.n};
             folio::Multiply(options.isa, x->view, {&target, 1}, pool);
           }
         }});
  }
};

void ReadAll(const std::byte* data, std::size_t bytes) {
  __m128i sum = _mm_setzero_si128();
  for (std::size_t at = 0; at < bytes; at += 64) {
    _mm_prefetch(data + at + 16384, _MM_HINT_T1);
    _mm_prefetch(data + at + 2048, _MM_HINT_T0);
    for (std::size_t i = 0; i < 64; i += 16)
      sum = _mm_xor_si128(sum, _mm_load_si128(reinterpret_cast<const __m128i*>(data + at + i)));
  }
  [[maybe_unused]] volatile int sink = _mm_cvtsi128_si32(sum);
}

void BenchDecode(const Options& options, folio::ThreadPool& pool) {
  constexpr std::int64_t kSize = 4096;
  for (const GgmlType type : options.types) {
    Round round;
    round.y.resize(4 * kSize);
    const std::size_t bytes = folio::PackedBytes(type, kSize, kSize);
    const double gigabytes = static_cast<double>(bytes) / 1e9;
    const std::string name(folio::TypeInfo(type).name);
    round.matrices.push_back(std::make_unique<Matrix>(
        type, kSize, kSize, std::max<std::size_t>(1, (std::size_t{512} << 20) / bytes)));
    Matrix* matrix = round.matrices.back().get();
    round.cases.push_back({name + " read only", "GB/s", gigabytes, [&pool, matrix, bytes] {
                             const std::byte* data = matrix->Next().data;
                             const std::size_t part = bytes / 64 / 16 * 64;
                             pool.ParallelFor(16, [&](std::int64_t task, int) {
                               ReadAll(data + static_cast<std::size_t>(task) * part, part);
                             });
                           }});
    for (const std::int64_t count : {1, 2, 4})
      round.Add(options, pool, name + " rows " + std::to_string(count), count, 1, "GB/s",
                gigabytes);
    RunInterleaved(round.cases, options);
  }
}

void BenchPrefill(const Options& options, folio::ThreadPool& pool) {
  constexpr std::int64_t kOutputs = 1536;
  for (const std::int64_t k : {4096, 576}) {
    Round round;
    round.y.resize(512 * kOutputs);
    for (const GgmlType type : options.types) {
      if (k % folio::TypeInfo(type).block_elements != 0) continue;
      round.matrices.push_back(std::make_unique<Matrix>(type, kOutputs, k));
      for (const std::int64_t count : {8, 32, 512}) {
        round.Add(options, pool,
                  std::string(folio::TypeInfo(type).name) + " k " + std::to_string(k) + " rows " +
                      std::to_string(count),
                  count, 1, "TOP/s", 2e-12 * static_cast<double>(count * kOutputs * k));
      }
    }
    RunInterleaved(round.cases, options);
  }
}

// The matrices of a 135M model, one row.
void BenchSmall(const Options& options, folio::ThreadPool& pool) {
  struct Shape {
    std::int64_t n;
    std::int64_t k;
  };
  for (const GgmlType type : options.types) {
    Round round;
    round.y.resize(49152);
    for (const Shape shape : {Shape{576, 576}, {1536, 576}, {576, 1536}, {49152, 576}}) {
      if (shape.k % folio::TypeInfo(type).block_elements != 0) continue;
      const bool head = shape.n > 10000;
      const int repeats = head ? 1 : 30;
      round.matrices.push_back(std::make_unique<Matrix>(type, shape.n, shape.k, head ? 8 : 100));
      round.Add(options, pool,
                std::string(folio::TypeInfo(type).name) + " " + std::to_string(shape.n) + " x " +
                    std::to_string(shape.k),
                1, repeats, "GB/s",
                repeats * static_cast<double>(round.matrices.back()->bytes()) / 1e9);
    }
    RunInterleaved(round.cases, options);
  }
}

void BenchPack(const Options& options, folio::ThreadPool& pool) {
  constexpr std::int64_t kLength = 4096;
  constexpr std::size_t kStrips = 64;
  std::vector<Case> cases;
  std::vector<std::vector<std::byte>> files;
  std::vector<folio::AlignedBuffer> buffers;
  for (const GgmlType type : options.types) {
    files.push_back(FileRows(type, 16 * kStrips, kLength));
    const std::size_t strip_bytes = folio::PackedStripBytes(type, kLength);
    buffers.push_back(std::move(*folio::AlignedBuffer::Create(strip_bytes * kStrips, "packed")));
    const std::byte* from = files.back().data();
    const std::size_t part = files.back().size() / kStrips;
    std::byte* to = buffers.back().data();
    cases.push_back({std::string(folio::TypeInfo(type).name) + " pack", "GB/s",
                     static_cast<double>(files.back().size()) / 1e9, [=, &pool] {
                       pool.ParallelFor(kStrips, [&](std::int64_t strip, int) {
                         const auto at = static_cast<std::size_t>(strip);
                         folio::PackStrip(type, from + at * part, 16, kLength,
                                          to + at * strip_bytes);
                       });
                     }});
  }
  std::vector<float> x(512 * kLength, 0.5F);
  auto bytes = folio::AlignedBuffer::Create(folio::ActivationBytes(512, kLength), "activations");
  for (const std::int64_t rows : {1, 512}) {
    cases.push_back({"convert " + std::to_string(rows) + " rows", "Gelement/s",
                     static_cast<double>(rows * kLength) / 1e9, [&, rows] {
                       folio::ConvertActivations(options.isa, folio::Numerics::kInt16, x.data(),
                                                 rows, kLength, bytes->data(), pool);
                     }});
  }
  RunInterleaved(cases, options);
}

std::vector<GgmlType> ParseTypes(std::string_view list) {
  std::vector<GgmlType> types;
  const std::string wrapped = "," + std::string(list) + ",";
  for (const folio::GgmlTypeInfo& info : folio::AllGgmlTypes()) {
    if (list == "all" || wrapped.find("," + std::string(info.name) + ",") != std::string::npos)
      types.push_back(info.type);
  }
  return types;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto isa = folio::ChooseIsa();
  if (!isa) return 1;
  options.isa = *isa;
  options.types = ParseTypes("Q8_0,Q4_0,Q4_1,Q4_K,Q5_0,Q6_K");
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const char* next = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--decode") options.decode = true;
    if (word == "--prefill") options.prefill = true;
    if (word == "--small") options.small = true;
    if (word == "--pack") options.pack = true;
    if (word == "--isa") options.isa = folio::IsaFromName(next).value_or(options.isa);
    if (word == "--types") options.types = ParseTypes(next);
    if (word == "--threads") options.threads = std::atoi(next);
    if (word == "--seconds") options.seconds = std::atof(next);
  }
  folio::ThreadPool pool(options.threads);
  std::printf("isa %s, %d threads\n", std::string(folio::IsaName(options.isa)).c_str(),
              options.threads);
  if (options.decode) BenchDecode(options, pool);
  if (options.prefill) BenchPrefill(options, pool);
  if (options.small) BenchSmall(options, pool);
  if (options.pack) BenchPack(options, pool);
  return 0;
}
