#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "folio/commands.h"
#include "folio/model_facts.h"
#include "folio/options.h"
#include "folio/output.h"
#include "formats/open_model.h"
#include "store/model_store.h"

namespace folio {
namespace {

struct ModelsArgs {
  bool json = false;
  std::string remove;
};

std::string Pad(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

OutputJson AsJson(const StoredModel& model, const Result<ModelFile>& file) {
  OutputJson json = {{"name", model.name}, {"path", model.path}, {"bytes", model.bytes}};
  if (!file) {
    json["error"] = file.error().Message();
    return json;
  }
  const ModelFacts facts = FactsOf(*file);
  json["architecture"] = facts.architecture;
  json["type"] = MainType(facts);
  json["parameters"] = facts.parameters;
  json["kv_bytes_per_token"] =
      facts.kv_bytes_per_token ? OutputJson(*facts.kv_bytes_per_token) : OutputJson();
  return json;
}

std::string AsLine(const StoredModel& model, const Result<ModelFile>& file,
                   std::size_t name_width) {
  std::string line = Pad(model.name, name_width) + "  ";
  if (!file) return line + "unusable: " + file.error().Message();
  const ModelFacts facts = FactsOf(*file);
  const std::string kv =
      facts.kv_bytes_per_token ? HumanBytes(*facts.kv_bytes_per_token) : std::string("unknown");
  return line + Pad(facts.architecture, 12) + "  " + Pad(MainType(facts), 6) + "  " +
         Pad(HumanBytes(model.bytes), 10) + "  " + kv;
}

Status RunList(const ModelsArgs& args) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const auto models = store->List();
  if (!models) return std::unexpected(models.error());
  if (args.json) {
    OutputJson list = OutputJson::array();
    for (const StoredModel& model : *models)
      list.push_back(AsJson(model, OpenModelFile(model.path)));
    OutputJson document;
    document["store"] = store->ModelsDir();
    document["models"] = list;
    return WriteJson(document);
  }
  if (models->empty()) return WriteOutput("no models in " + store->ModelsDir() + "\n");
  std::size_t width = 4;
  for (const StoredModel& model : *models) width = std::max(width, model.name.size());
  std::string table =
      Pad("NAME", width) + "  ARCHITECTURE  TYPE    SIZE        KV PER TOKEN (bf16)\n";
  for (const StoredModel& model : *models) {
    table += AsLine(model, OpenModelFile(model.path), width) + "\n";
  }
  return WriteOutput(OutputIsTerminal() ? ForTerminal(table) : table);
}

Status RunRemove(const ModelsArgs& args) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<StoredModel> removed = store->Remove(args.remove);
  if (!removed) return std::unexpected(removed.error());
  if (args.json) {
    OutputJson document;
    document["removed"] = removed->name;
    document["bytes"] = removed->bytes;
    return WriteJson(document);
  }
  return WriteOutput("removed " + removed->name + " (" + HumanBytes(removed->bytes) + ")\n");
}

}  // namespace

void AddModels(const Command& folio) {
  auto args = std::make_shared<ModelsArgs>();
  const Command command = folio.AddCommand("models", "what is in the store");
  command.AddFlag("--json", args->json, "print one JSON document");
  command.SetAction([args] { return RunList(*args); });
  const Command remove = command.AddCommand("rm", "delete a model from the store");
  remove.AddText("NAME", args->remove, "as `folio models` shows it").Required();
  remove.AddFlag("--json", args->json, "print one JSON document");
  remove.SetAction([args] { return RunRemove(*args); });
}

}  // namespace folio
