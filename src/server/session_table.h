// Which conversations are long, so that their prefixes outlive the short requests around them: a
// title, a commit message, a memory to extract.
#ifndef FOLIO_SERVER_SESSION_TABLE_H_
#define FOLIO_SERVER_SESSION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

namespace folio {

// Thread safe. Remembers the latest `most` sessions.
class SessionTable {
 public:
  explicit SessionTable(std::size_t most = 1024) : most_(most) {}

  // Whether a prompt of so many tokens is a turn of its session, and not a short request beside it:
  // it has at least half the tokens of the session's longest. Notes its length.
  bool IsTurn(const std::string& session, std::int64_t prompt_tokens);

 private:
  struct Session {
    std::string name;
    std::int64_t longest = 0;
  };
  std::mutex mutex_;
  std::size_t most_;
  std::list<Session> sessions_;  // latest first
  std::unordered_map<std::string, std::list<Session>::iterator> by_name_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_SESSION_TABLE_H_
