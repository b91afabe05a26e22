// The tools of conversations whose clients drop them for one request: to compact a conversation,
// clients send it again with a task at its end and without tools, so that the prompt differs from
// its first tokens on and all of it is computed again, when it is longest.
#ifndef FOLIO_SERVER_SESSION_TOOLS_H_
#define FOLIO_SERVER_SESSION_TOOLS_H_

#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/api_request.h"

namespace folio {

// Thread safe. Keeps the tools of the latest conversations, `most_bytes` of them as JSON.
class SessionTools {
 public:
  explicit SessionTools(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // What the model is to see. A request that offers tools: remembers them. One that doesn't, and
  // goes on with a conversation that did (it begins with the same two messages and has as many as
  // that had last): gives it those tools, to be seen but not called, and says so in its notes.
  // `owner`: the conversations of others are none of this one's.
  void Apply(const std::string& owner, ApiRequest& request);

 private:
  struct Conversation {
    std::string beginning;
    std::size_t messages = 0;
    std::vector<Tool> tools;
    std::size_t bytes = 0;
  };
  void Remember(std::string beginning, const ApiRequest& request);
  void Restore(const std::string& beginning, ApiRequest& request);
  void Forget(std::list<Conversation>::iterator conversation);

  std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Conversation> conversations_;  // latest first
  std::unordered_map<std::string, std::list<Conversation>::iterator> by_beginning_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_SESSION_TOOLS_H_
