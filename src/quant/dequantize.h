// Reference unpacking of every type: what a stored block means, as floats. Bit for bit what the
// `gguf` Python package's quants.dequantize gives.
#ifndef FOLIO_QUANT_DEQUANTIZE_H_
#define FOLIO_QUANT_DEQUANTIZE_H_

#include <cstddef>
#include <cstdint>

#include "quant/ggml_type.h"

namespace folio {

// out[0, elements) = the values stored in `blocks`. `elements` is a multiple of the type's
// block_elements. Only MXFP4 with an exponent below 2 and the float types make denormals; call it
// where they are not flushed if those matter.
void Dequantize(GgmlType type, const std::byte* blocks, std::int64_t elements, float* out);

}  // namespace folio

#endif  // FOLIO_QUANT_DEQUANTIZE_H_
