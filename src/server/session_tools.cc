#include "server/session_tools.h"

#include <utility>

#include "base/sha256.h"

namespace folio {
namespace {

// The system prompt and the first question: other requests of a client (a title, a summary of one
// file) have a system prompt of their own.
constexpr std::size_t kBeginning = 2;

std::string BeginningOf(const std::string& owner, const Json& messages) {
  Sha256 hasher;
  hasher.Update(DumpJson(Json::array({owner, messages[0], messages[1]})));
  return hasher.HexDigest();
}

}  // namespace

void SessionTools::Apply(const std::string& owner, ApiRequest& request) {
  if (!request.messages.is_array() || request.messages.size() < kBeginning) return;
  std::string beginning = BeginningOf(owner, request.messages);
  const std::lock_guard lock(mutex_);
  if (request.tool_choice.kind != ToolChoice::Kind::kNone && !request.tools.empty()) {
    Remember(std::move(beginning), request);
  } else {
    Restore(beginning, request);
  }
}

void SessionTools::Forget(std::list<Conversation>::iterator conversation) {
  bytes_ -= conversation->bytes;
  by_beginning_.erase(conversation->beginning);
  conversations_.erase(conversation);
}

void SessionTools::Remember(std::string beginning, const ApiRequest& request) {
  if (const auto known = by_beginning_.find(beginning); known != by_beginning_.end()) {
    Forget(known->second);
  }
  const std::size_t bytes = DumpJson(ToolsForTemplate(request.tools)).size();
  if (bytes > most_bytes_) return;
  while (bytes_ + bytes > most_bytes_) Forget(std::prev(conversations_.end()));
  conversations_.push_front({.beginning = beginning,
                             .messages = request.messages.size(),
                             .tools = request.tools,
                             .bytes = bytes});
  by_beginning_[std::move(beginning)] = conversations_.begin();
  bytes_ += bytes;
}

void SessionTools::Restore(const std::string& beginning, ApiRequest& request) {
  const auto known = by_beginning_.find(beginning);
  if (known == by_beginning_.end()) return;
  conversations_.splice(conversations_.begin(), conversations_, known->second);
  const Conversation& conversation = conversations_.front();
  if (request.messages.size() < conversation.messages) return;
  request.tools = conversation.tools;
  request.tool_choice = {.kind = ToolChoice::Kind::kNone};
  request.shows_uncalled_tools = true;
  AddNote(request.notes, "shown its conversation's tools, which it didn't offer");
}

}  // namespace folio
