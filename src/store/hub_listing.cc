#include "store/hub_listing.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "store/file_name.h"

namespace folio {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 16;  // a real listing nests 4 deep
constexpr std::array<std::string_view, 4> kPreferred = {"Q4_K_M", "Q4_0", "Q4_1", "Q8_0"};

std::string StringAt(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<std::uint64_t> UintAt(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_unsigned()) return std::nullopt;
  return it->get<std::uint64_t>();
}

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

bool IsCommit(std::string_view text) {
  return text.size() == 40 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// "Q4_K" is in "m-Q4_K.gguf" but not in "m-Q4_K_M.gguf".
bool HasWord(std::string_view name, std::string_view word) {
  const auto continues = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !continues(name[at - 1]);
    const bool ends = end == name.size() || !continues(name[end]);
    if (starts && ends) return true;
  }
  return false;
}

struct Model {
  std::string name;  // a file's name, or the stem that a split model's files share
  std::vector<HubFile> parts;
  int expected = 1;
};

std::vector<Model> GroupModels(const HubListing& listing) {
  std::map<std::string, Model> by_name;
  for (const HubFile& file : listing.gguf_files) {
    const auto split = ParseSplitName(file.name);
    const std::string key = split ? SplitFileName(*split, 1) : file.name;
    Model& model = by_name[key];
    model.name = split ? split->stem : file.name;
    model.expected = split ? split->count : 1;
    model.parts.push_back(file);
  }
  std::vector<Model> models;
  for (auto& [key, model] : by_name) {
    std::ranges::sort(model.parts, {}, &HubFile::name);
    models.push_back(std::move(model));
  }
  return models;
}

std::vector<const Model*> Matching(const std::vector<Model>& models, std::string_view quant) {
  std::vector<const Model*> matches;
  for (const Model& model : models) {
    if (model.name == quant || model.parts.front().name == quant) return {&model};
    if (HasWord(UpperCase(model.name), UpperCase(quant))) matches.push_back(&model);
  }
  return matches;
}

std::vector<const Model*> MatchingDefault(const std::vector<Model>& models) {
  if (models.size() == 1) return {&models.front()};
  for (const std::string_view quant : kPreferred) {
    if (auto matches = Matching(models, quant); !matches.empty()) return matches;
  }
  return {};
}

std::string Names(const std::vector<const Model*>& models) {
  constexpr std::size_t kShown = 12;
  std::string names;
  for (std::size_t i = 0; i < models.size() && i < kShown; ++i) {
    names += (i == 0 ? "" : ", ") + models[i]->name;
  }
  if (models.size() > kShown) names += ", ...";
  return names;
}

}  // namespace

Result<HubListing> ParseHubListing(const std::string& repo, std::string_view json) {
  const auto keep = [](int depth, Json::parse_event_t, Json&) { return depth <= kDeepest; };
  const Json document = Json::parse(json, keep, /*allow_exceptions=*/false);
  if (!document.is_object() || !document.contains("siblings") || !document["siblings"].is_array()) {
    return RuntimeError(repo, "listing", "the server's answer is not a repository listing");
  }
  HubListing listing;
  const std::string revision = StringAt(document, "sha");
  listing.revision = IsCommit(revision) ? revision : "main";
  for (const Json& entry : document["siblings"]) {
    if (!entry.is_object()) continue;
    HubFile file{
        .name = StringAt(entry, "rfilename"), .bytes = UintAt(entry, "size"), .sha256 = {}};
    if (!file.name.ends_with(".gguf")) continue;
    if (const Status safe = CheckRelativeName(file.name, repo); !safe) {
      return std::unexpected(safe.error());
    }
    if (const auto lfs = entry.find("lfs"); lfs != entry.end() && lfs->is_object()) {
      const std::string sha256 = StringAt(*lfs, "sha256");
      if (IsSha256Hex(sha256)) file.sha256 = sha256;
    }
    // A vision projector is no language model.
    if (UpperCase(file.name).find("MMPROJ") == std::string::npos) {
      listing.gguf_files.push_back(std::move(file));
    }
  }
  return listing;
}

Result<std::vector<HubFile>> ChooseHubFiles(const std::string& repo, const HubListing& listing,
                                            std::string_view quant) {
  const std::vector<Model> models = GroupModels(listing);
  if (models.empty()) return InputError(repo, "listing", "has no GGUF file");
  const auto matches = quant.empty() ? MatchingDefault(models) : Matching(models, quant);
  if (matches.size() != 1) {
    std::vector<const Model*> all;
    for (const Model& model : models) all.push_back(&model);
    const std::string wanted = quant.empty() ? "no QUANT given" : "'" + std::string(quant) + "'";
    if (matches.empty()) return InputError(repo, "QUANT", wanted + "; there are: " + Names(all));
    return InputError(repo, "QUANT", wanted + " could be any of: " + Names(matches));
  }
  const Model& model = *matches.front();
  if (static_cast<int>(model.parts.size()) != model.expected) {
    return InputError(repo, model.name,
                      "the listing has " + std::to_string(model.parts.size()) + " of its " +
                          std::to_string(model.expected) + " parts");
  }
  return model.parts;
}

}  // namespace folio
