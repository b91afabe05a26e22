#include "text/prompt_parts.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace folio {
namespace {

constexpr std::string_view kTemplate = "template";
constexpr std::string_view kReplyStart = "reply start";
constexpr std::string_view kPrompt = "prompt";
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kClosing = " \t\r\n\"}])";

std::size_t SkipSpace(std::string_view text, std::size_t at, std::size_t end) {
  while (at < end && kSpace.contains(text[at])) ++at;
  return at;
}

// Behind white space, closing tags (</think>, [/INST]) and closing brackets and quotes.
std::size_t SkipClosing(std::string_view text, std::size_t at, std::size_t end) {
  while (at < end) {
    if (kClosing.contains(text[at])) {
      ++at;
    } else if (text.substr(at, 2) == "</" || text.substr(at, 2) == "[/") {
      const std::size_t close = text.find(text[at] == '<' ? '>' : ']', at);
      if (close >= end) break;
      at = close + 1;
    } else {
      break;
    }
  }
  return at;
}

class Sharer {
 public:
  Sharer(const RenderedText& rendered, const PartNames& names)
      : rendered_(rendered), names_(names), seen_(names.labels.size(), false) {
    for (const PartStretch& stretch : rendered.stretches) {
      if (stretch.part < seen_.size()) seen_[stretch.part] = true;
    }
    FindSilentMessages();
    // Where there is nothing but turns, they are the messages only if there are as many.
    const std::size_t turns = rendered.turn_ends.size();
    const bool nothing_seen = std::ranges::find(seen_, true) == seen_.end();
    if (nothing_seen && turns != silent_.size() && turns != silent_.size() + 1) {
      turn_ = turns;
    }
  }

  std::vector<PartStart> Share() {
    std::size_t at = 0;
    for (const PartStretch& stretch : rendered_.stretches) {
      if (stretch.part >= seen_.size()) continue;
      const std::uint32_t message = names_.messages[stretch.part];
      Begin(ShareGap(at, stretch.begin, message), names_.labels[stretch.part]);
      message_ = std::max(message_, message);
      at = stretch.end;
    }
    const std::size_t size = rendered_.text.size();
    const std::size_t rest = ShareGap(at, size, 0);
    if (rest < size && rendered_.add_generation_prompt && !starts_.empty()) {
      Begin(rest, kReplyStart);
    }
    if (starts_.empty()) Begin(0, kPrompt);
    starts_.front().begin = 0;
    return std::move(starts_);
  }

 private:
  // Messages with no value in the text, in order: their first parts.
  void FindSilentMessages() {
    for (std::size_t i = 0; i < names_.messages.size();) {
      std::size_t end = i;
      bool seen = false;
      for (; end < names_.messages.size() && names_.messages[end] == names_.messages[i]; ++end) {
        seen = seen || seen_[end];
      }
      if (names_.messages[i] != 0 && !seen) silent_.push_back(i);
      i = std::max(end, i + 1);
    }
  }

  void Begin(std::size_t at, std::string_view label) {
    if (!starts_.empty() && starts_.back().label == label) return;
    starts_.push_back({static_cast<std::uint32_t>(at), label});
  }

  // The template's text [begin, end), before a value of `message` (0: of no message, or the end):
  // begins parts for the turns in it and returns where the value's part begins.
  std::size_t ShareGap(std::size_t begin, std::size_t end, std::uint32_t message) {
    std::vector<std::size_t> turns;
    while (turn_ < rendered_.turn_ends.size() && rendered_.turn_ends[turn_] <= end) {
      const std::size_t turn_end = rendered_.turn_ends[turn_++];
      if (turn_end > begin) turns.push_back(SkipSpace(rendered_.text, turn_end, end));
    }
    const bool at_start = starts_.empty();
    if (turns.empty()) return at_start ? begin : SkipClosing(rendered_.text, begin, end);

    const std::size_t silent = SilentBefore(
        message == 0 && end == rendered_.text.size() ? names_.messages.size() + 1 : message);
    // The first turn is the previous value's; at the start, turns that are no message's come first.
    std::size_t turn = at_start ? 0 : 1;
    std::size_t at = at_start ? begin : turns.front();
    if (at_start && turns.size() > silent) {
      Begin(at, kTemplate);
      turn = turns.size() - silent;
      at = turns[turn - 1];
    }
    for (std::size_t i = 0; i < silent && turn < turns.size(); ++i) {
      Begin(at, names_.labels[silent_[next_silent_ + i]]);
      at = turns[turn++];
    }
    next_silent_ += silent;
    return at;
  }

  // How many silent messages come between the latest one in the text and `message`.
  std::size_t SilentBefore(std::size_t message) {
    const auto number = [&](std::size_t i) { return names_.messages[silent_[i]]; };
    while (next_silent_ < silent_.size() && number(next_silent_) < message_) ++next_silent_;
    std::size_t count = 0;
    while (next_silent_ + count < silent_.size() && number(next_silent_ + count) < message) ++count;
    return count;
  }

  const RenderedText& rendered_;
  const PartNames& names_;
  std::vector<bool> seen_;
  std::vector<std::size_t> silent_;
  std::size_t next_silent_ = 0;
  std::size_t turn_ = 0;
  std::uint32_t message_ = 0;  // the latest one that has a value in the text so far
  std::vector<PartStart> starts_;
};

}  // namespace

std::vector<PartStart> ShareOut(const RenderedText& rendered, const PartNames& names) {
  return Sharer(rendered, names).Share();
}

void PartTokens::Add(std::size_t offset) {
  while (next_ < starts_.size() && starts_[next_].begin <= offset) {
    if (!parts_.empty() && parts_.back().first_token == tokens_) parts_.pop_back();
    parts_.push_back({std::string(starts_[next_].label), tokens_});
    ++next_;
  }
  ++tokens_;
}

void PartTokens::AddAll(std::size_t offset, std::size_t text_bytes,
                        std::span<const std::size_t> lengths) {
  const std::size_t sum = std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
  const std::size_t space = sum == text_bytes + 1 ? 1 : 0;
  const bool exact = sum == text_bytes + space;
  std::size_t at = 0;
  for (const std::size_t length : lengths) {
    std::size_t in_text = at - std::min(at, space);
    if (!exact)
      in_text = static_cast<std::size_t>(static_cast<double>(at) /
                                         static_cast<double>(std::max<std::size_t>(sum, 1)) *
                                         static_cast<double>(text_bytes));
    Add(offset + in_text);
    at += length;
  }
}

std::vector<PromptPart> PartTokens::Finish() const {
  std::vector<PromptPart> parts = parts_;
  for (PromptPart& part : parts) part.first_token += shift_;
  if (!parts.empty()) parts.front().first_token = 0;
  return parts;
}

}  // namespace folio
