#include "formats/huggingface/config_fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/metadata_value.h"

namespace folio {
namespace {

constexpr std::size_t kMostNumbers = 4096;  // of a list: some hundred RoPE factors

const Json& EmptyObject() {
  static const Json empty = Json::object();
  return empty;
}

}  // namespace

std::string DescribeJson(const Json& value) {
  if (value.is_string()) return QuotedExcerpt(value.get_ref<const std::string&>());
  if (value.is_number() || value.is_boolean()) return DumpJson(value);
  return std::string(JsonKind(value));
}

ConfigFields::ConfigFields(std::string path, const Json& object)
    : ConfigFields(std::move(path), "", object) {}

ConfigFields::ConfigFields(std::string path, std::string prefix, const Json& object)
    : path_(std::move(path)), prefix_(std::move(prefix)), object_(&object) {
  if (object.is_object()) return;
  object_ = &EmptyObject();
  status_ = InputError(path_, prefix_.substr(0, prefix_.size() - (prefix_.empty() ? 0 : 1)),
                       "is " + DescribeJson(object) + "; an object is needed");
}

const Json* ConfigFields::Find(std::string_view field) const {
  const auto found = object_->find(field);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::uint64_t ConfigFields::Uint(std::string_view field) {
  if (!Has(field)) Refuse(field, "is missing");
  return UintOr(field, 0);
}

std::uint64_t ConfigFields::UintOr(std::string_view field, std::uint64_t fallback) {
  const Json* value = Find(field);
  if (value == nullptr) return fallback;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  RefuseKind(field, *value, "an integer of at least 0");
  return 0;
}

double ConfigFields::Float(std::string_view field) {
  if (!Has(field)) Refuse(field, "is missing");
  return FloatOr(field, 0.0);
}

double ConfigFields::FloatOr(std::string_view field, double fallback) {
  const Json* value = Find(field);
  if (value == nullptr) return fallback;
  if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
  RefuseKind(field, *value, "a number");
  return 0.0;
}

bool ConfigFields::BoolOr(std::string_view field, bool fallback) {
  const Json* value = Find(field);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  RefuseKind(field, *value, "true or false");
  return false;
}

std::string ConfigFields::StringOr(std::string_view field, std::string_view fallback) {
  const Json* value = Find(field);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  RefuseKind(field, *value, "a string");
  return {};
}

std::vector<float> ConfigFields::Floats(std::string_view field) {
  const Json* value = Find(field);
  if (value == nullptr) {
    Refuse(field, "is missing");
    return {};
  }
  const bool numbers = value->is_array() && value->size() <= kMostNumbers &&
                       std::ranges::all_of(*value, [](const Json& item) {
                         return item.is_number() && std::isfinite(item.get<double>());
                       });
  if (!numbers) {
    RefuseKind(field, *value, "a list of numbers");
    return {};
  }
  return value->get<std::vector<float>>();
}

ConfigFields ConfigFields::Object(std::string_view field) const {
  const Json* value = Find(field);
  return {path_, prefix_ + std::string(field) + ".", value == nullptr ? EmptyObject() : *value};
}

void ConfigFields::Take(const ConfigFields& inner) {
  if (status_) status_ = inner.status_;
}

void ConfigFields::RequireFalse(std::string_view field) {
  if (BoolOr(field, false)) Refuse(field, "is true; supported is only false");
}

void ConfigFields::RequireAbsent(std::string_view field) {
  if (const Json* value = Find(field))
    Refuse(field, "is " + DescribeJson(*value) + "; supported is only null");
}

void ConfigFields::RequireWord(std::string_view field, std::string_view fallback,
                               std::initializer_list<std::string_view> allowed) {
  const std::string word = StringOr(field, fallback);
  if (std::ranges::find(allowed, word) != allowed.end()) return;
  std::string list;
  for (const std::string_view one : allowed) list += (list.empty() ? "" : ", ") + std::string(one);
  Refuse(field, "is " + QuotedExcerpt(word) + "; supported is only " + list);
}

void ConfigFields::Refuse(std::string_view field, std::string why) {
  if (status_) status_ = InputError(path_, prefix_ + std::string(field), std::move(why));
}

void ConfigFields::RefuseKind(std::string_view field, const Json& value, std::string_view needed) {
  Refuse(field, "is " + DescribeJson(value) + "; " + std::string(needed) + " is needed");
}

}  // namespace folio
