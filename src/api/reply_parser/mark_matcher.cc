#include "api/reply_parser/mark_matcher.h"

#include <utility>

namespace folio {

MarkMatcher::MarkMatcher(std::vector<std::string_view> marks) : marks_(std::move(marks)) {
  for (const std::string_view mark : marks_) first_ += mark.front();
}

MarkMatcher::Fit MarkMatcher::FitOf(std::string_view text, std::string_view& mark) const {
  for (const std::string_view candidate : marks_) {
    if (!candidate.starts_with(text)) continue;
    mark = candidate;
    return candidate.size() == text.size() ? Fit::kWhole : Fit::kStart;
  }
  return Fit::kNone;
}

std::string_view MarkMatcher::Take(char c, std::string& released) {
  if (held_.empty() && !first_.contains(c)) {
    released += c;
    return {};
  }
  held_ += c;
  std::string_view mark;
  while (!held_.empty()) {
    const Fit fit = FitOf(held_, mark);
    if (fit == Fit::kStart) return {};
    if (fit == Fit::kWhole) {
      held_.clear();
      return mark;
    }
    released += held_.front();
    held_.erase(held_.begin());
  }
  return {};
}

void MarkMatcher::Release(std::string& released) {
  released += held_;
  held_.clear();
}

}  // namespace folio
