#include "api/response_store.h"

#include <algorithm>
#include <utility>

#include "api/responses_items.h"

namespace folio {
namespace {

// Of a record's nodes and index entry.
constexpr std::size_t kRecordBytes = 512;

std::string TextOf(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// What was stored was JSON; its own limits were checked when it came.
Json Restored(const std::string& text) { return Json::parse(text, nullptr, false); }

void Append(Json& list, const Json& items) {
  for (const Json& item : items) list.push_back(item);
}

ApiError NotFound(std::string_view id) {
  return {.kind = ApiError::Kind::kNotFound,
          .message = "Response with id '" + std::string(id) + "' not found."};
}

ApiError PreviousNotFound(const std::string& id) {
  return {.kind = ApiError::Kind::kInvalidRequest,
          .message = "Previous response with id '" + id + "' not found.",
          .param = "previous_response_id",
          .details_code = "previous_response_not_found"};
}

ApiError ItemNotFound(const std::string& id, std::size_t place) {
  return {.kind = ApiError::Kind::kNotFound,
          .message = "Item with id '" + id + "' not found.",
          .param = "input[" + std::to_string(place) + "].id"};
}

}  // namespace

std::size_t ResponseStore::Record::bytes() const {
  return kRecordBytes + 2 * id.size() + owner.size() + previous.size() + document.size() +
         items.size();
}

void ResponseStore::Erase(Records::iterator record) {
  bytes_ -= record->bytes();
  by_id_.erase(record->id);
  records_.erase(record);
}

ResponseStore::Record* ResponseStore::Use(std::string_view owner, std::string_view id) {
  const auto found = by_id_.find(std::string(id));
  if (found == by_id_.end() || found->second->owner != owner) return nullptr;
  records_.splice(records_.begin(), records_, found->second);
  return &*found->second;
}

void ResponseStore::Put(std::string_view owner, const Json& document, const Json& items) {
  Record record{.id = TextOf(document, "id"),
                .owner = std::string(owner),
                .previous = TextOf(document, "previous_response_id"),
                .document = DumpJson(document),
                .items = DumpJson(items)};
  const std::size_t bytes = record.bytes();
  if (bytes > limits_.bytes || limits_.responses == 0) return;
  const std::lock_guard lock(mutex_);
  if (const auto same = by_id_.find(record.id); same != by_id_.end()) Erase(same->second);
  records_.push_front(std::move(record));
  by_id_[records_.front().id] = records_.begin();
  bytes_ += bytes;
  while (bytes_ > limits_.bytes || records_.size() > limits_.responses) {
    Erase(std::prev(records_.end()));
  }
}

std::expected<Json, ApiError> ResponseStore::Get(std::string_view owner, std::string_view id) {
  std::string document;
  {
    const std::lock_guard lock(mutex_);
    const Record* record = Use(owner, id);
    if (record == nullptr) return std::unexpected(NotFound(id));
    document = record->document;
  }
  return Restored(document);
}

std::expected<Json, ApiError> ResponseStore::Delete(std::string_view owner, std::string_view id) {
  const std::lock_guard lock(mutex_);
  if (Use(owner, id) == nullptr) return std::unexpected(NotFound(id));
  Erase(records_.begin());
  return Json{{"id", id}, {"object", "response"}, {"deleted", true}};
}

// The oldest first. A response is stored after those that it names, so that there is no circle; one
// that is stored again under its id could make one, which ends where all records were seen.
std::expected<std::vector<const ResponseStore::Record*>, ApiError> ResponseStore::Chain(
    std::string_view owner, std::string_view id) {
  std::vector<const Record*> chain;
  for (std::string next(id); !next.empty(); next = chain.back()->previous) {
    const Record* record = Use(owner, next);
    if (record == nullptr || chain.size() >= records_.size()) {
      return std::unexpected(PreviousNotFound(next));
    }
    chain.push_back(record);
  }
  std::ranges::reverse(chain);
  return chain;
}

// Ids of output items name their response: PREFIX_ID_INDEX is of resp_ID (ResponsesWriter).
std::optional<Json> ResponseStore::ItemOf(std::string_view owner, std::string_view item_id) {
  const std::size_t first = item_id.find('_');
  const std::size_t last = item_id.rfind('_');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::string_view id = item_id.substr(first + 1, last - first - 1);
  const Record* record = Use(owner, "resp_" + std::string(id));
  if (record == nullptr) return std::nullopt;
  const Json document = Restored(record->document);
  for (const Json& item : document["output"]) {
    if (TextOf(item, "id") == item_id) return item;
  }
  return std::nullopt;
}

std::expected<ResponseStore::Found, ApiError> ResponseStore::Find(std::string_view owner,
                                                                  const Json& body) {
  Found found{.earlier = Json::array(), .referred = Json::object()};
  const std::lock_guard lock(mutex_);
  if (const std::string previous = TextOf(body, "previous_response_id"); !previous.empty()) {
    const auto chain = Chain(owner, previous);
    if (!chain) return std::unexpected(chain.error());
    for (const Record* record : *chain) {
      Append(found.earlier, Restored(record->items));
      Append(found.earlier, Restored(record->document)["output"]);
    }
  }
  if (!body.is_object() || !body.contains("input")) return found;
  std::size_t place = 0;
  for (const Json& item : body["input"]) {
    if (IsItemReference(item)) {
      const std::string id = TextOf(item, "id");
      auto referred = ItemOf(owner, id);
      if (!referred) return std::unexpected(ItemNotFound(id, place));
      found.referred[id] = *std::move(referred);
    }
    ++place;
  }
  return found;
}

std::expected<Json, ApiError> ResponseStore::InputItems(std::string_view owner, std::string_view id,
                                                        const Page& page) {
  Json all = Json::array();
  {
    const std::lock_guard lock(mutex_);
    const auto chain = Chain(owner, id);
    if (!chain) return std::unexpected(NotFound(id));
    for (const Record* record : *chain) {
      Append(all, Restored(record->items));
      if (record->id != id) Append(all, Restored(record->document)["output"]);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!TextOf(all[i], "id").empty() || !all[i].is_object()) continue;
    all[i]["id"] = "item_" + std::string(id) + "_" + std::to_string(i);
  }
  if (!page.ascending) std::ranges::reverse(all);
  const auto after =
      std::ranges::find(all, page.after, [](const Json& item) { return TextOf(item, "id"); });
  auto begin = page.after.empty() || after == all.end() ? all.begin() : std::next(after);
  const auto left = static_cast<std::size_t>(all.end() - begin);
  const auto end = begin + static_cast<std::ptrdiff_t>(std::min(left, page.limit));
  Json data = Json::array();
  for (auto item = begin; item != end; ++item) data.push_back(*item);
  return Json{{"object", "list"},
              {"first_id", data.empty() ? Json() : data.front()["id"]},
              {"last_id", data.empty() ? Json() : data.back()["id"]},
              {"has_more", end != all.end()},
              {"data", std::move(data)}};
}

ResponseStore::Usage ResponseStore::usage() const {
  const std::lock_guard lock(mutex_);
  return {.bytes = bytes_, .responses = records_.size()};
}

}  // namespace folio
