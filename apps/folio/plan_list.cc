#include "folio/plan_list.h"

#include <array>
#include <string_view>
#include <vector>

#include "folio/text_table.h"
#include "plan/config_shape.h"
#include "plan/gguf_architectures.h"
#include "plan/known_models.h"

namespace folio {
namespace {

struct NamedList {
  const char* key;  // of the JSON
  const char* title;
  std::vector<std::string_view> names;
};

std::array<NamedList, 3> Lists() {
  std::vector<std::string_view> architectures;
  for (const GgufArchitecture& one : GgufArchitectures()) architectures.push_back(one.name);
  return {{{"models", "Models by name", KnownModelNames()},
           {"model_types", "model_type of a config.json", PlannableModelTypes()},
           {"gguf_architectures", "general.architecture of a GGUF file", architectures}}};
}

}  // namespace

OutputJson KnownJson() {
  OutputJson json;
  for (const NamedList& list : Lists()) json[list.key] = list.names;
  return json;
}

std::string KnownText() {
  constexpr std::size_t kColumns = 100;
  std::string text;
  for (const NamedList& list : Lists()) {
    if (!text.empty()) text += "\n";
    text += std::string(list.title) + "\n";
    std::string line = "  ";
    for (const std::string_view name : list.names)
      line += std::string(name) + (name == list.names.back() ? "" : ", ");
    for (const std::string& part : Wrapped(line, kColumns)) text += part + "\n";
  }
  return text;
}

}  // namespace folio
