// Dequantize behind a C name, so that test_quant.py can call it through ctypes.
#include "quant/dequantize.h"

extern "C" {

// 0, or 1 when Folio doesn't know the type id.
int folio_dequantize(std::uint32_t type_id, const void* blocks, std::int64_t elements, float* out) {
  const auto type = folio::GgmlTypeFromId(type_id);
  if (!type) return 1;
  folio::Dequantize(*type, static_cast<const std::byte*>(blocks), elements, out);
  return 0;
}
}
