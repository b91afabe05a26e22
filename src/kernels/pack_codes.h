// Reads the fields of a file's quantised blocks: the integer codes and the raw scales, before any
// repacking. Layouts are those of the GGUF block structs.
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

// Byte offsets in the file block of the 16-bit head fields and of the sub-scale bytes; -1 if there
// is none.
struct FileScales {
  int first = -1;   // d
  int second = -1;  // m, dmin, or the high scale bits of IQ4_XS
  int sub = -1;
};
FileScales FileScaleOffsets(GgmlType type);

}  // namespace folio

#endif  // FOLIO_KERNELS_PACK_CODES_H_
