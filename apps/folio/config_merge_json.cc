#include <utility>

#include "folio/config_merge.h"

namespace folio {
namespace {

Status Merge(const Json& settings, const std::string& path, Json& into);

Status MergeObject(const Json& settings, const std::string& path, Json& into) {
  if (into.is_null()) into = Json::object();
  if (!into.is_object()) return InputError("", path, "is no object");
  for (const auto& [name, value] : settings.items()) {
    std::string inner = path;
    if (!inner.empty()) inner += '.';
    inner += name;
    if (const Status merged = Merge(value, inner, into[name]); !merged) return merged;
  }
  return {};
}

Json* ElementWithId(const Json& id, Json& array) {
  for (Json& element : array) {
    if (element.is_object() && element.contains("id") && element["id"] == id) return &element;
  }
  return nullptr;
}

Status MergeArray(const Json& settings, const std::string& path, Json& into) {
  if (into.is_null()) into = Json::array();
  if (!into.is_array()) return InputError("", path, "is no array");
  for (const Json& element : settings) {
    Json* const same = element.contains("id") ? ElementWithId(element["id"], into) : nullptr;
    if (same != nullptr) {
      *same = element;
    } else {
      into.push_back(element);
    }
  }
  return {};
}

Status Merge(const Json& settings, const std::string& path, Json& into) {
  if (settings.is_object()) return MergeObject(settings, path, into);
  if (settings.is_array()) return MergeArray(settings, path, into);
  into = settings;
  return {};
}

}  // namespace

Result<std::string> MergeJsonConfig(std::string_view old, const Json& settings) {
  Json document = Json::object();
  if (old.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    auto parsed = ParseJson(old);
    if (!parsed) return InputError("", "", "is no plain JSON (" + parsed.error().Message() + ")");
    document = *std::move(parsed);
  }
  if (const Status merged = Merge(settings, "", document); !merged) {
    return std::unexpected(merged.error());
  }
  return document.dump(2) + "\n";
}

}  // namespace folio
