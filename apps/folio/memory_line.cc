#include "folio/memory_line.h"

namespace folio {

PredictedMemory PredictedMemoryOf(const LoadedModel& model) {
  PredictedMemory memory{.weights_predicted = model.plan().weights_bytes,
                         .weights_actual = model.weights().packing.storage_bytes(),
                         .kv_predicted = model.plan().kv_bytes,
                         .kv_actual = model.kv_storage().size()};
  for (const TransposedTensor& transposed : model.weights().transposed)
    memory.weights_actual += transposed.tensor().bytes;
  return memory;
}

std::string MemoryLine(const LoadedModel& model) {
  const PredictedMemory memory = PredictedMemoryOf(model);
  return "predicted KV cache " + HumanBytes(memory.kv_predicted) + " and weights " +
         HumanBytes(memory.weights_predicted) + ", allocated " + HumanBytes(memory.kv_actual) +
         " and " + HumanBytes(memory.weights_actual);
}

OutputJson PredictedMemoryJson(const LoadedModel& model) {
  const PredictedMemory memory = PredictedMemoryOf(model);
  return {{"predicted",
           {{"kv_bytes", memory.kv_predicted}, {"weights_bytes", memory.weights_predicted}}},
          {"actual", {{"kv_bytes", memory.kv_actual}, {"weights_bytes", memory.weights_actual}}}};
}

}  // namespace folio
