#include "api/schema_order.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace folio {
namespace {

// Place in `required` by name.
using Ranks = std::unordered_map<std::string_view, std::size_t>;

struct Member {
  std::size_t rank = std::numeric_limits<std::size_t>::max();
  std::string_view name;
  const Json* value = nullptr;
};

Ranks RanksOf(const Json& schema) {
  Ranks ranks;
  const auto required = schema.find("required");
  if (required == schema.end() || !required->is_array()) return ranks;
  for (const Json& name : *required) {
    if (name.is_string()) ranks.emplace(name.get_ref<const std::string&>(), ranks.size());
  }
  return ranks;
}

std::vector<Member> SortedMembers(const Json& object, const Ranks& ranks) {
  std::vector<Member> members;
  for (const auto& [name, value] : object.items()) {
    Member member{.name = name, .value = &value};
    if (const auto found = ranks.find(name); found != ranks.end()) member.rank = found->second;
    members.push_back(member);
  }
  std::ranges::sort(members, [](const Member& a, const Member& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.name < b.name;
  });
  return members;
}

// Appended without a search for the same name among those before it.
void Append(Json& object, std::string_view name, Json value) {
  object.get_ref<Json::object_t&>().emplace_back(std::string(name), std::move(value));
}

Json OrderedProperties(const Json& properties, const Ranks& ranks) {
  Json out = Json::object();
  for (const Member& member : SortedMembers(properties, ranks)) {
    Append(out, member.name, OrderedSchema(*member.value));
  }
  return out;
}

}  // namespace

Json OrderedSchema(const Json& schema) {
  if (schema.is_array()) {
    Json out = Json::array();
    for (const Json& item : schema) out.push_back(OrderedSchema(item));
    return out;
  }
  if (!schema.is_object()) return schema;
  const Ranks ranks = RanksOf(schema);
  Json out = Json::object();
  for (const Member& member : SortedMembers(schema, {})) {
    const bool properties = member.name == "properties" && member.value->is_object();
    Append(out, member.name,
           properties ? OrderedProperties(*member.value, ranks) : OrderedSchema(*member.value));
  }
  return out;
}

}  // namespace folio
