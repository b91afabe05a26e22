#include "folio/serve_models.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "server/wall_clock.h"
#include "store/model_store.h"

namespace folio {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string id;
  std::string path;
  std::vector<std::string> aliases;
  bool of_folder = false;
};

std::string IdOf(const std::string& path) {
  const fs::path file(path);
  return (file.extension() == ".gguf" ? file.stem() : file.filename()).string();
}

// "ALIAS=MODEL", unless a file is called so.
std::string TakeAlias(std::string& name) {
  const std::size_t mark = name.find('=');
  std::error_code ignored;
  if (mark == std::string::npos || mark == 0 || name.find('/') < mark ||
      fs::exists(name, ignored)) {
    return {};
  }
  std::string alias = name.substr(0, mark);
  name.erase(0, mark + 1);
  return alias;
}

Result<Named> NamedOf(std::string name, const ModelStore& store) {
  Named named;
  std::string alias = TakeAlias(name);
  auto path = store.Resolve(name);
  if (!path) return std::unexpected(path.error());
  named.path = *std::move(path);
  named.id = alias.empty() ? IdOf(named.path) : std::move(alias);
  for (std::string other : {std::move(name), IdOf(named.path)}) {
    if (!other.empty() && other != named.id) named.aliases.push_back(std::move(other));
  }
  return named;
}

// A file of a split model that is not its first.
bool IsLaterPart(const std::string& stem) {
  const std::size_t of = stem.rfind("-of-");
  return of != std::string::npos && of >= 6 && stem[of - 6] == '-' &&
         stem.substr(of - 5, 5) != "00001";
}

bool IsModel(const fs::directory_entry& entry) {
  std::error_code ignored;
  if (entry.is_directory(ignored)) return fs::exists(entry.path() / "config.json", ignored);
  return entry.path().extension() == ".gguf" && !IsLaterPart(entry.path().stem().string());
}

Result<std::vector<Named>> ModelsIn(const std::string& folder) {
  std::vector<Named> found;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const std::string path = entry.path().string();
    if (IsModel(entry)) found.push_back({.id = IdOf(path), .path = path, .of_folder = true});
  }
  if (code) return InputError(folder, "", code.message());
  if (found.empty()) return InputError(folder, "", "has no model");
  std::ranges::sort(found, {}, &Named::id);
  return found;
}

Result<std::vector<Named>> AllNamed(const ServeModels& given) {
  const auto store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  std::vector<std::string> names = given.names;
  if (names.empty() && given.folder.empty()) names.emplace_back();
  std::vector<Named> all;
  for (const std::string& name : names) {
    auto named = NamedOf(name, *store);
    if (!named) return std::unexpected(named.error());
    all.push_back(*std::move(named));
  }
  if (given.folder.empty()) return all;
  auto more = ModelsIn(given.folder);
  if (!more) return std::unexpected(more.error());
  for (Named& model : *more) {
    std::error_code ignored;
    const bool is_named = std::ranges::any_of(
        all, [&](const Named& other) { return fs::equivalent(other.path, model.path, ignored); });
    if (!is_named) all.push_back(std::move(model));
  }
  return all;
}

Status CheckNames(const std::vector<Named>& models) {
  std::set<std::string> taken;
  for (const Named& model : models) {
    if (taken.insert(model.id).second) continue;
    return UsageError("serve", "MODEL",
                      "two models are called '" + model.id + "': give one as NAME=" + model.path);
  }
  return {};
}

HostedModel Hosted(const Named& named, const EngineOptions& options) {
  HostedModel model{
      .id = named.id, .aliases = named.aliases, .known_since = SecondsSince1970(), .open = {}};
  model.open = [options](std::uint64_t memory, std::uint64_t first_request) {
    EngineOptions own = options;
    own.memory = memory;
    own.first_request = first_request;
    return Engine::Open(own);
  };
  return model;
}

}  // namespace

Result<std::vector<HostedModel>> HostedModelsOf(
    const ServeModels& given, const std::function<void(const std::string& line)>& say) {
  const auto named = AllNamed(given);
  if (!named) return std::unexpected(named.error());
  if (const Status names = CheckNames(*named); !names) return std::unexpected(names.error());
  std::vector<HostedModel> models;
  std::vector<EngineOptions> options;
  std::uint64_t all_least = 0;
  for (const Named& one : *named) {
    EngineOptions own = given.options;
    own.model = one.path;
    own.max_prompts_bytes /= named->size();
    models.push_back(Hosted(one, own));
    if (named->size() == 1) return models;  // it gets all there is
    own.memory = given.memory;
    own.contexts = 1;
    const auto plan = Engine::Plan(own);
    if (!plan && one.of_folder) {
      say("left out " + one.id + ": " + plan.error().Message());
      models.pop_back();
      continue;
    }
    if (!plan) return std::unexpected(plan.error());
    models.back().least_bytes = plan->memory.total_bytes;
    all_least += plan->memory.total_bytes;
    own.contexts = given.options.contexts;
    options.push_back(std::move(own));
  }
  if (models.empty()) return InputError(given.folder, "", "has no model that can be served");
  for (std::size_t i = 0; i < models.size(); ++i) {
    options[i].memory =
        GrantOfMemory(given.memory, models[i].least_bytes, all_least, models.size());
    const auto plan = Engine::Plan(options[i]);
    if (!plan) return std::unexpected(plan.error());
    models[i].context = plan->context;
  }
  return models;
}

}  // namespace folio
