#include "api/anthropic_marks.h"

#include <algorithm>
#include <utility>

namespace folio {
namespace {

CacheRetention ReadRetention(Fields& control) {
  if (const auto type = control.Text("type"); type != "ephemeral") {
    control.Refuse("type", type ? "is '" + *type + "', not ephemeral" : "is missing");
  }
  const std::string ttl = control.Text("ttl").value_or("5m");
  if (ttl != "5m" && ttl != "1h") control.Refuse("ttl", "is '" + ttl + "', neither 5m nor 1h");
  return ttl == "1h" ? CacheRetention::k1Hour : CacheRetention::k5Minutes;
}

}  // namespace

void AnthropicMarks::Read(Fields& fields, std::int64_t message) {
  const Json* control = fields.Object("cache_control");
  if (control == nullptr) return;
  Fields inner(*control, fields.PathOf("cache_control"), fields.refusal());
  const CacheMark mark{.message = message, .retention = ReadRetention(inner)};
  ++count_;
  if (marks_.size() <= kMostMarks) marks_.push_back({mark, inner.PathOf("")});
}

void AnthropicMarks::ReadTopLevel(Fields& body, std::int64_t message) {
  const std::size_t before = marks_.size();
  Read(body, message);
  if (marks_.size() == before || before == 0) return;
  if (marks_[before - 1].mark != marks_[before].mark) return;
  marks_.pop_back();
  --count_;
}

void AnthropicMarks::KeepWithin(std::int64_t last_message) {
  for (Mark& mark : marks_) mark.mark.message = std::min(mark.mark.message, last_message);
}

void AnthropicMarks::Check(Fields& body) const {
  for (std::size_t i = 1; i < marks_.size(); ++i) {
    if (marks_[i - 1].mark.retention >= marks_[i].mark.retention) continue;
    Fields(Json::object(), marks_[i].path, body.refusal())
        .Refuse("ttl",
                "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control "
                "block. Note that blocks are processed in the following order: `tools`, "
                "`system`, `messages`.");
  }
  if (count_ <= kMostMarks) return;
  body.Refuse("", "A maximum of 4 blocks with cache_control may be provided. Found " +
                      std::to_string(count_) + ".");
}

std::vector<CacheMark> AnthropicMarks::ByMessage() const {
  std::vector<CacheMark> list;
  for (const Mark& mark : marks_) {
    if (list.empty() || list.back().message != mark.mark.message) {
      list.push_back(mark.mark);
    } else {
      list.back().retention = std::max(list.back().retention, mark.mark.retention);
    }
  }
  return list;
}

}  // namespace folio
