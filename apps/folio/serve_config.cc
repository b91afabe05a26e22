#include "folio/serve_config.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

#include "cpu/isa.h"
#include "cpu/machine.h"
#include "folio/output.h"
#include "folio/text_table.h"
#include "store/model_store.h"

namespace folio {
namespace {

struct Setting {
  std::string name;
  OutputJson value;
  std::string source;
};

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

OutputJson AsJson(const OptionValue& value) {
  return std::visit([](const auto& held) { return OutputJson(held); }, value);
}

// What an option means that was not given, where only this machine knows.
void SetMeant(Setting& setting) {
  if (setting.name == "--threads") setting.value = NumCores();
  if (setting.name == "--memory") setting.value = AvailableMemory();
  if (setting.name == "--context") setting.value = "as memory allows";
  if (setting.name != "MODEL") return;
  const auto store = ModelStore::FromEnvironment();
  const auto path = store ? store->Resolve("") : Result<std::string>("");
  setting.value = OutputJson::array({path ? *path : ""});
  if (IsSet("FOLIO_MODEL")) setting.source = "environment";
}

Setting SettingOf(const OptionFact& option) {
  Setting setting{.name = option.name,
                  .value = AsJson(option.value),
                  .source = option.given ? "option" : "default"};
  if (!option.given) SetMeant(setting);
  return setting;
}

// Variables that no option stands for.
void AddVariables(std::vector<Setting>& settings) {
  const auto isa = ChooseIsa();
  settings.push_back({.name = "FOLIO_ISA",
                      .value = isa ? std::string(IsaName(*isa)) : isa.error().Message(),
                      .source = IsSet("FOLIO_ISA") ? "environment" : "default"});
  const auto store = ModelStore::FromEnvironment();
  settings.push_back({.name = "FOLIO_HOME",
                      .value = store ? store->ModelsDir() : store.error().Message(),
                      .source = IsSet("FOLIO_HOME") ? "environment" : "default"});
}

std::string AsText(const OutputJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string text;
    for (const OutputJson& each : value) text += (text.empty() ? "" : " ") + AsText(each);
    return text;
  }
  return value.dump();
}

}  // namespace

Status PrintServeConfig(const std::vector<OptionFact>& options, bool json) {
  std::vector<Setting> settings;
  for (const OptionFact& option : options) {
    if (option.name == "--print-config" || option.name == "--json") continue;
    settings.push_back(SettingOf(option));
  }
  // A folder of models stands for the default one.
  const auto folder = std::ranges::find(settings, "--models", &Setting::name);
  const auto model = std::ranges::find(settings, "MODEL", &Setting::name);
  if (folder != settings.end() && folder->source == "option" && model->source != "option") {
    model->value = OutputJson::array();
  }
  AddVariables(settings);
  if (json) {
    OutputJson document = OutputJson::object();
    for (Setting& setting : settings) {
      document[setting.name] = {{"value", std::move(setting.value)}, {"source", setting.source}};
    }
    return WriteJson(document);
  }
  TextTable table("lll");
  for (const Setting& setting : settings) {
    table.Add({setting.name, setting.source, AsText(setting.value)});
  }
  std::string text;
  for (const std::string& line : table.Lines()) text += line + "\n";
  return WriteOutput(text);
}

}  // namespace folio
