// Finished responses of OpenAI's Responses API, kept for GET, for DELETE and for requests that go
// on with one (previous_response_id) or name an item of one (item_reference). Bounded in bytes and
// in number: the one that was used longest ago goes first; going on with a response uses all those
// before it. What one owner stored doesn't exist for another. Safe from any thread.
#ifndef FOLIO_API_RESPONSE_STORE_H_
#define FOLIO_API_RESPONSE_STORE_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/api_error.h"
#include "formats/json.h"

namespace folio {

class ResponseStore {
 public:
  struct Limits {
    std::size_t bytes = std::size_t{64} << 20;  // of JSON text and what is kept beside it
    std::size_t responses = 4096;
  };
  struct Usage {
    std::size_t bytes = 0;
    std::size_t responses = 0;
  };
  // What a request's body names of what is kept: see ResponsesOptions.
  struct Found {
    Json earlier;   // the items of all turns before, inputs and outputs; a list
    Json referred;  // items by id; an object
  };
  struct Page {
    std::string after;  // an item's id, or empty: from the start
    std::size_t limit = 20;
    bool ascending = false;
  };

  ResponseStore() = default;
  explicit ResponseStore(Limits limits) : limits_(limits) {}

  // `document`: a response object, which names itself and its previous one; `items`: its own input
  // (ResponsesRequest::items). One larger than the limits is not kept.
  void Put(std::string_view owner, const Json& document, const Json& items);

  // An error (kNotFound, or kInvalidRequest for fields of a body) where the owner has no such
  // response, or where one that it goes on with is gone.
  std::expected<Json, ApiError> Get(std::string_view owner, std::string_view id);
  // {id, object: "response", deleted: true}
  std::expected<Json, ApiError> Delete(std::string_view owner, std::string_view id);
  std::expected<Found, ApiError> Find(std::string_view owner, const Json& body);
  // {object: "list", data, first_id, last_id, has_more}: the items that the response was made from,
  // those of the turns before included. Items that have no id get one.
  std::expected<Json, ApiError> InputItems(std::string_view owner, std::string_view id,
                                           const Page& page);

  Usage usage() const;

 private:
  struct Record {
    std::string id;
    std::string owner;
    std::string previous;  // or empty
    std::string document;  // JSON text
    std::string items;     // JSON text
    std::size_t bytes() const;
  };
  using Records = std::list<Record>;  // the last used one first

  // With the mutex held.
  Record* Use(std::string_view owner, std::string_view id);
  void Erase(Records::iterator record);
  std::expected<std::vector<const Record*>, ApiError> Chain(std::string_view owner,
                                                            std::string_view id);
  std::optional<Json> ItemOf(std::string_view owner, std::string_view item_id);

  Limits limits_;
  mutable std::mutex mutex_;
  Records records_;
  std::unordered_map<std::string, Records::iterator> by_id_;
  std::size_t bytes_ = 0;
};

}  // namespace folio

#endif  // FOLIO_API_RESPONSE_STORE_H_
