#include "store/model_store.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "store/file_name.h"

namespace folio {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".gguf";
constexpr const char* kDefaultModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string NameOf(const std::string& relative) {
  if (const auto split = ParseSplitName(relative)) return split->stem;
  return relative.substr(0, relative.size() - kSuffix.size());
}

bool EndsWithComponents(std::string_view name, std::string_view tail) {
  if (!name.ends_with(tail)) return false;
  return name.size() == tail.size() || name[name.size() - tail.size() - 1] == '/';
}

}  // namespace

Result<ModelStore> ModelStore::FromEnvironment() {
  if (std::string home = Environment("FOLIO_HOME"); !home.empty()) return ModelStore(home);
  if (std::string data = Environment("XDG_DATA_HOME"); !data.empty()) {
    return ModelStore(data + "/folio");
  }
  if (std::string home = Environment("HOME"); !home.empty()) {
    return ModelStore(home + "/.local/share/folio");
  }
  return UsageError("model store", "FOLIO_HOME", "is not set, and neither is HOME");
}

std::string ModelStore::DefaultModelPath() const { return ModelsDir() + "/" + kDefaultModel; }

Result<std::vector<StoredModel>> ModelStore::List() const {
  std::map<std::string, StoredModel> by_name;
  const fs::path root = ModelsDir();
  std::error_code error;
  if (!fs::exists(root, error)) return std::vector<StoredModel>{};
  fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;  // a file that vanished meanwhile is not listed
    const std::string relative = it->path().lexically_relative(root).string();
    if (!relative.ends_with(kSuffix) || !it->is_regular_file(ignored)) continue;
    StoredModel& model = by_name[NameOf(relative)];
    model.files.push_back(it->path().string());
    const std::uintmax_t bytes = it->file_size(ignored);
    if (!ignored) model.bytes += bytes;
  }
  if (error) return RuntimeError(root.string(), "list", error.message());
  std::vector<StoredModel> models;
  for (auto& [name, model] : by_name) {
    std::ranges::sort(model.files);
    model.name = name;
    model.path = model.files.front();
    models.push_back(std::move(model));
  }
  return models;
}

Result<StoredModel> ModelStore::Find(std::string_view wanted) const {
  Result<std::vector<StoredModel>> models = List();
  if (!models) return std::unexpected(models.error());
  std::string_view name = wanted;
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  std::vector<StoredModel*> matches;
  for (StoredModel& model : *models) {
    if (model.name == name) return std::move(model);
    if (EndsWithComponents(model.name, name)) matches.push_back(&model);
  }
  if (matches.size() == 1) return std::move(*matches.front());
  if (matches.empty()) {
    return InputError(std::string(wanted), "model",
                      "no such file, and no model of this name in " + ModelsDir() +
                          " (`folio models` lists them)");
  }
  std::string names;
  for (const StoredModel* match : matches) names += (names.empty() ? "" : ", ") + match->name;
  return InputError(std::string(wanted), "model", "could be any of: " + names);
}

Result<StoredModel> ModelStore::Remove(std::string_view name) const {
  Result<StoredModel> model = Find(name);
  if (!model) return model;
  std::error_code error;
  for (const std::string& file : model->files) {
    if (!fs::remove(file, error) && error) return RuntimeError(file, "remove", error.message());
  }
  // remove() takes empty folders only, which ends the walk upwards.
  fs::path folder = fs::path(model->path).parent_path();
  while (folder != fs::path(ModelsDir()) && fs::remove(folder, error)) {
    folder = folder.parent_path();
  }
  return model;
}

Result<std::string> ModelStore::Resolve(std::string_view model) const {
  std::string wanted(model);
  if (wanted.empty()) wanted = Environment("FOLIO_MODEL");
  std::error_code error;
  if (wanted.empty()) {
    if (fs::exists(DefaultModelPath(), error)) return DefaultModelPath();
    return InputError(DefaultModelPath(), "default model",
                      "is not there; `./run` fetches it, or name a model, or `folio pull` one");
  }
  if (fs::exists(wanted, error)) return wanted;
  const Result<StoredModel> stored = Find(wanted);
  if (!stored) return std::unexpected(stored.error());
  return stored->path;
}

}  // namespace folio
