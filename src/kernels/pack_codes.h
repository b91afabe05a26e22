// Reads the fields of a file's quantised blocks: the integer codes, before any repacking. Layouts
// are those of the GGUF block structs.
#ifndef FOLIO_KERNELS_PACK_CODES_H_
#define FOLIO_KERNELS_PACK_CODES_H_

#include <cstdint>

#include "quant/ggml_type.h"

namespace folio {

// codes[0, 32) = the unsigned codes of elements [32 j, 32 j + 32) of a file block. Q8_0's are its
// signed bytes.
void ReadCodes(GgmlType type, const std::uint8_t* file_block, int j, std::uint8_t* codes);

// What is stored is code ^ StoredFlip: types with a signed code have their top bit turned, so that
// it is a sign.
std::uint8_t StoredFlip(GgmlType type);

}  // namespace folio

#endif  // FOLIO_KERNELS_PACK_CODES_H_
