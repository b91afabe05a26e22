#include "server/session_table.h"

#include <algorithm>

namespace folio {

bool SessionTable::IsTurn(const std::string& session, std::int64_t prompt_tokens) {
  const std::lock_guard lock(mutex_);
  const auto known = by_name_.find(session);
  if (known != by_name_.end()) {
    sessions_.splice(sessions_.begin(), sessions_, known->second);
  } else {
    sessions_.push_front({.name = session});
    by_name_[session] = sessions_.begin();
    if (sessions_.size() > most_) {
      by_name_.erase(sessions_.back().name);
      sessions_.pop_back();
    }
  }
  Session& of = sessions_.front();
  const bool is_turn = 2 * prompt_tokens >= of.longest;
  of.longest = std::max(of.longest, prompt_tokens);
  return is_turn;
}

}  // namespace folio
