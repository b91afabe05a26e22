#include "sampling/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace folio {

StopMatcher::StopMatcher(std::span<const std::string> stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    Pattern pattern{.text = stop, .border = std::vector<std::size_t>(stop.size(), 0)};
    std::size_t length = 0;
    for (std::size_t i = 1; i < stop.size(); ++i) {
      while (length > 0 && stop[i] != stop[length]) length = pattern.border[length - 1];
      if (stop[i] == stop[length]) ++length;
      pattern.border[i] = length;
    }
    patterns_.push_back(std::move(pattern));
  }
}

void StopMatcher::Advance(Pattern& pattern, char byte) {
  std::size_t& state = pattern.state;
  while (state > 0 && pattern.text[state] != byte) state = pattern.border[state - 1];
  if (pattern.text[state] == byte) ++state;
}

std::string StopMatcher::Push(std::string_view piece) {
  if (stopped()) return {};
  for (const char byte : piece) {
    pending_ += byte;
    for (Pattern& pattern : patterns_) {
      Advance(pattern, byte);
      const bool complete = pattern.state == pattern.text.size();
      if (complete && pattern.text.size() > matched_.size()) {
        matched_ = pattern.text;
      }
    }
    if (stopped()) {
      pending_.resize(pending_.size() - matched_.size());
      return std::exchange(pending_, {});
    }
  }
  std::size_t hold = 0;
  for (const Pattern& pattern : patterns_) hold = std::max(hold, pattern.state);
  std::string shown = pending_.substr(0, pending_.size() - hold);
  pending_.erase(0, shown.size());
  return shown;
}

std::string StopMatcher::Finish() {
  for (Pattern& pattern : patterns_) pattern.state = 0;
  return std::exchange(pending_, {});
}

}  // namespace folio
