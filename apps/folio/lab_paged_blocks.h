// What paging wastes, and what one block is.
#ifndef FOLIO_APPS_FOLIO_LAB_PAGED_BLOCKS_H_
#define FOLIO_APPS_FOLIO_LAB_PAGED_BLOCKS_H_

#include "base/error.h"
#include "folio/lab.h"
#include "folio/lab_model_shape.h"
#include "quant/kv_type.h"

namespace folio {

// P7: one pool filled with requests of very different lengths, against reserving the longest for
// each.
LabStep PagingWaste();
// P8: one block's tensor in a layer, and where its numbers lie.
Result<LabStep> BlockTensor(const LabModelShape& shape, KvType type);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_PAGED_BLOCKS_H_
