// The latest prompts that were sent, so that a miss can be shown where it happened: both texts,
// side by side. What one owner sent doesn't exist for another.
#ifndef FOLIO_SERVER_PROMPT_ARCHIVE_H_
#define FOLIO_SERVER_PROMPT_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "folio/engine.h"

namespace folio {

struct ArchivedPrompt {
  std::string id;  // of the reply, without a dialect's prefix
  std::uint64_t engine_id = 0;
  std::string owner;
  std::string model;
  std::vector<std::int32_t> tokens;
  std::vector<PromptPart> parts;
  // SHA-256 of the request's tools and of its system message: a template without a place for tools
  // has them in the system message's text.
  std::string tools_digest;
  std::string system_digest;
  std::vector<std::string> notes;  // ApiRequest::notes
  std::size_t spliced = 0;         // earlier replies whose own tokens stand in it
};

// Thread safe. Holds at most so many bytes; the oldest prompts go first.
class PromptArchive {
 public:
  explicit PromptArchive(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // One that is larger than all may be is not kept, but still returned.
  std::shared_ptr<const ArchivedPrompt> Add(ArchivedPrompt prompt);
  // What the cache had of it: known when it arrived, and again when it was computed.
  void SetReport(const std::string& id, const MissReport& report);

  struct Found {
    std::shared_ptr<const ArchivedPrompt> prompt;
    MissReport report;
  };
  // Nothing if the owner has none of that name. `id` may carry a dialect's prefix: "msg_...".
  std::optional<Found> Find(std::string_view owner, std::string_view id) const;
  std::optional<Found> FindByEngine(std::string_view owner, std::string_view model,
                                    std::uint64_t engine_id) const;

 private:
  struct Entry {
    std::shared_ptr<const ArchivedPrompt> prompt;
    MissReport report;
    std::size_t bytes = 0;
  };

  std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_id_;
};

// Without "chatcmpl-", "cmpl-", "resp_", "msg_", "req_", "warm_".
std::string_view BareId(std::string_view id);

}  // namespace folio

#endif  // FOLIO_SERVER_PROMPT_ARCHIVE_H_
