#include "api/fields.h"

#include <array>
#include <cstdio>
#include <utility>

namespace folio {
namespace {

std::string Shown(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace

Fields::Fields(const Json& object, std::string path, std::optional<Error>& refusal)
    : object_(&object), path_(std::move(path)), refusal_(&refusal) {
  if (object.is_object()) return;
  RefuseKind("", object, "an object");
  object_ = nullptr;
}

std::string Fields::PathOf(std::string_view name) const {
  if (name.empty()) return path_;
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void Fields::Refuse(std::string_view name, std::string why) {
  if (refused()) return;
  *refusal_ = Error{ErrorKind::kInput, "", PathOf(name), std::move(why)};
}

void Fields::RefuseKind(std::string_view name, const Json& found, std::string_view wanted) {
  Refuse(name, "is " + std::string(JsonKind(found)) + ", not " + std::string(wanted));
}

const Json* Fields::Find(std::string_view name) const {
  if (object_ == nullptr) return nullptr;
  const auto found = object_->find(name);
  return found == object_->end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::int64_t> Fields::Whole(std::string_view name, std::int64_t low,
                                          std::int64_t high) {
  const Json* found = Find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number_integer()) {
    RefuseKind(name, *found, "a whole number");
    return std::nullopt;
  }
  const bool large =
      found->is_number_unsigned() && !std::in_range<std::int64_t>(found->get<std::uint64_t>());
  const auto value = found->get<std::int64_t>();
  if (!large && value >= low && value <= high) return value;
  Refuse(name, "is " + found->dump() + ", not from " + std::to_string(low) + " to " +
                   std::to_string(high));
  return std::nullopt;
}

std::optional<float> Fields::Real(std::string_view name, float low, float high) {
  const Json* found = Find(name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) {
    RefuseKind(name, *found, "a number");
    return std::nullopt;
  }
  const auto value = found->get<double>();
  if (value >= low && value <= high) return static_cast<float>(value);
  Refuse(name, "is " + Shown(value) + ", not from " + Shown(low) + " to " + Shown(high));
  return std::nullopt;
}

std::optional<bool> Fields::Flag(std::string_view name) {
  const Json* found = Find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  RefuseKind(name, *found, "true or false");
  return std::nullopt;
}

std::optional<std::string> Fields::Text(std::string_view name) {
  const Json* found = Find(name);
  if (found == nullptr) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  RefuseKind(name, *found, "a string");
  return std::nullopt;
}

const Json* Fields::List(std::string_view name) {
  const Json* found = Find(name);
  if (found == nullptr || found->is_array()) return found;
  RefuseKind(name, *found, "a list");
  return nullptr;
}

const Json* Fields::Object(std::string_view name) {
  const Json* found = Find(name);
  if (found == nullptr || found->is_object()) return found;
  RefuseKind(name, *found, "an object");
  return nullptr;
}

std::string ItemPath(std::string_view list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

}  // namespace folio
