// Products of activation rows with a weight matrix, in the definitions of docs/design/numerics.md.
//
//   y[r][n] = sum over k of x[r][k] * W[n][k]        x: [rows, k] fp32    W: [n, k] stored in a
//   GGUF type
//
// A weight matrix is repacked once into strips of 16 output rows (the lanes of a 512-bit register);
// the same packed layout serves every ISA. Strips that are not packed yet are packed into a
// thread's scratch, used and forgotten. An output's bits depend on its own activation row and
// weight row only: never on how many rows are computed with it, on the ISA, on how strips are
// spread over threads, or on whether they were packed before.
#ifndef FOLIO_KERNELS_PRODUCT_H_
#define FOLIO_KERNELS_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/isa.h"
#include "cpu/thread_pool.h"
#include "quant/ggml_type.h"

namespace folio {

// How the activations of a quantised product are rounded (the `int` definition's number of planes).
enum class Numerics {
  kInt8,   // one int8 plane per 32 elements: llama.cpp's trade
  kInt16,  // two int8 planes, 16 bits: exact for all practical purposes
};

constexpr std::int64_t kStripRows = 16;

// Where products take strips from that are not packed yet.
struct UnpackedRows {
  const std::byte* rows = nullptr;  // of the whole matrix, one after another, as GGUF has them
  std::byte* scratch = nullptr;     // [threads of the pool][scratch_bytes], 64-byte aligned
  std::size_t scratch_bytes = 0;    // a multiple of 64, at least StripScratchBytes
};

// A weight matrix in the packed layout. Does not own its bytes.
struct PackedMatrix {
  GgmlType type = GgmlType::kF32;
  std::int64_t n = 0;               // output features; a last short strip is padded with zero rows
  std::int64_t k = 0;               // input features, a multiple of the type's block_elements
  const std::byte* data = nullptr;  // 64-byte aligned, PackedBytes(type, n, k) long
  const UnpackedRows* unpacked = nullptr;  // null once all strips are packed
  std::int64_t packed_strips = 0;  // with `unpacked`: so many, from the first on, are packed
};

// Bytes of a packed matrix: those of the file, n rounded up to a whole strip (and per-strip padding
// to 64 bytes).
std::size_t PackedBytes(GgmlType type, std::int64_t n, std::int64_t k);
// Bytes of one strip of 16 output rows, a multiple of 64.
std::size_t PackedStripBytes(GgmlType type, std::int64_t k);

// Bytes of a thread's scratch for strips of this matrix: what stays in a core's second cache, but
// two strips at least.
std::size_t StripScratchBytes(GgmlType type, std::int64_t k);
// Bytes of a row of k elements as GGUF has it.
std::int64_t FileRowBytes(GgmlType type, std::int64_t k);

// Packs strip `strip` (output rows [16*strip, 16*strip + rows), rows <= 16) of a matrix whose file
// rows for just this strip start at `file_rows` (rows of k elements, one after another, as GGUF has
// them). Writes PackedStripBytes bytes.
void PackStrip(GgmlType type, const std::byte* file_rows, std::int64_t rows, std::int64_t k,
               std::byte* packed_strip);

// out[0, k) = output row `row` of the matrix as floats; the bits of Dequantize on the file's row.
void UnpackRow(const PackedMatrix& matrix, std::int64_t row, float* out);

// Activations in the form that products read: integers per 32 elements for quantised weights, fp32
// for float weights. One conversion serves every product that takes the same rows (Q, K and V; gate
// and up). The struct is a view of caller-owned bytes; see ActivationBytes.
struct Activations {
  Numerics numerics = Numerics::kInt16;
  std::int64_t rows = 0;
  std::int64_t k = 0;
  const float* floats = nullptr;  // [rows, k], the source
  const std::byte* packed =
      nullptr;  // the integer form, made by ConvertActivations; null if only float weights follow
};

// Bytes that ConvertActivations writes for rows of k elements.
std::size_t ActivationBytes(std::int64_t rows, std::int64_t k);

// Rounds x [rows, k] to integers per block of 32 (k padded with zeros to a multiple of 32) into
// `packed`, 64-byte aligned.
Activations ConvertActivations(Isa isa, Numerics numerics, const float* x, std::int64_t rows,
                               std::int64_t k, std::byte* packed, ThreadPool& pool);

// The same for one tile: rows [first_row, first_row + kActivationTileRows) of `rows`, or up to the
// last. For those who spread the tiles over threads themselves; all of a matrix's tiles make what
// ConvertActivations does.
constexpr std::int64_t kActivationTileRows = 8;
void ConvertActivationTile(Isa isa, Numerics numerics, const float* x, std::int64_t rows,
                           std::int64_t k, std::int64_t first_row, std::byte* packed);

// One output: y[r * ldy + n] for all rows and all n of `weights`.
struct ProductTarget {
  const PackedMatrix* weights = nullptr;
  float* y = nullptr;
  std::int64_t ldy = 0;
};

// Computes several products of the same activations (same k) as one parallel loop.
void Multiply(Isa isa, const Activations& x, std::span<const ProductTarget> targets,
              ThreadPool& pool);

// One of many products with activations of their own, such as those of a layer's experts.
struct ProductJob {
  Activations x;
  ProductTarget target;
  std::int64_t end_task = 0;  // Multiply's own
};

// Computes them as one parallel loop. A job without rows costs nothing.
void Multiply(Isa isa, std::span<ProductJob> jobs, ThreadPool& pool);

// The ISA paths there are for this type: Multiply takes the best one not above `isa`. For tests and
// `folio verify`.
bool ProductHasPath(GgmlType type, Isa isa);

}  // namespace folio

#endif  // FOLIO_KERNELS_PRODUCT_H_
