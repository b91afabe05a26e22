#include "folio/model_facts.h"

#include <string_view>

#include "kvcache/kv_sizing.h"

namespace folio {

ModelFacts FactsOf(const ModelFile& file) {
  ModelFacts facts{.architecture = {},
                   .name = {},
                   .types = {},
                   .config = ReadModelConfig(file),
                   .kv_bytes_per_token = {}};
  facts.architecture =
      std::string(file.GetStringOr("general.architecture", "").value_or(std::string_view()));
  facts.name = std::string(file.GetStringOr("general.name", "").value_or(std::string_view()));
  for (const ModelTensor& tensor : file.tensors()) {
    facts.parameters += static_cast<std::uint64_t>(tensor.elements);
    facts.tensor_bytes += tensor.bytes;
    TypeTotals& totals = facts.types[std::string(TypeInfo(tensor.type).name)];
    ++totals.tensors;
    totals.bytes += tensor.bytes;
  }
  if (facts.config)
    facts.kv_bytes_per_token = KvBytesPerToken(KvSpecOf(*facts.config), KvType::kBf16);
  return facts;
}

std::string MainType(const ModelFacts& facts) {
  std::string main;
  std::uint64_t most = 0;
  for (const auto& [name, totals] : facts.types) {
    if (totals.bytes > most) {
      most = totals.bytes;
      main = name;
    }
  }
  return main;
}

}  // namespace folio
