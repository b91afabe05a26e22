// What was predicted of memory before a model was loaded, and what its parts then took.
#ifndef FOLIO_APPS_FOLIO_MEMORY_LINE_H_
#define FOLIO_APPS_FOLIO_MEMORY_LINE_H_

#include <cstdint>
#include <string>

#include "engine/loaded_model.h"
#include "folio/output.h"

namespace folio {

struct PredictedMemory {
  std::uint64_t weights_predicted = 0;
  std::uint64_t weights_actual = 0;
  std::uint64_t kv_predicted = 0;
  std::uint64_t kv_actual = 0;
};

// Predicted by the planner's arithmetic from the file's header; actual is what the buffers hold.
PredictedMemory PredictedMemoryOf(const LoadedModel& model);

// "predicted KV cache 45.00 MiB and weights 84.76 MiB, allocated 45.00 MiB and 84.76 MiB"
std::string MemoryLine(const LoadedModel& model);
OutputJson PredictedMemoryJson(const LoadedModel& model);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_MEMORY_LINE_H_
