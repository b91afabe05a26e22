#include "server/miss_explanation.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "formats/utf8.h"

namespace folio {
namespace {

using Tokens = std::span<const std::int32_t>;

constexpr std::size_t kShownTokens = 24;  // of each side, from the spot on
constexpr std::size_t kShownBefore = 8;

std::string TextOf(const ServedModel& model, Tokens tokens) {
  std::string text;
  for (const std::int32_t token : tokens) {
    const std::string_view bytes = model.TokenBytes(token);
    text += bytes.empty() ? model.TokenPiece(token) : bytes;
  }
  return text;
}

// `count` tokens from `first` on, as far as there are any.
Tokens Window(const std::vector<std::int32_t>& tokens, std::int64_t first, std::size_t count) {
  const auto begin =
      std::min(tokens.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, first)));
  return Tokens(tokens).subspan(begin, std::min(count, tokens.size() - begin));
}

const PromptPart* PartAt(const std::vector<PromptPart>& parts, std::int64_t token) {
  const PromptPart* found = nullptr;
  for (const PromptPart& part : parts) {
    if (part.first_token <= token) found = &part;
  }
  return found;
}

std::int64_t CountCharacters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

bool IsSystem(std::string_view label) { return label == "system" || label.starts_with("system "); }

// Of "messages[3] user"; null for others.
Json MessageIndex(std::string_view label) {
  constexpr std::string_view kMessages = "messages[";
  if (IsSystem(label)) return 0;
  if (!label.starts_with(kMessages)) return nullptr;
  std::int64_t index = 0;
  const char* begin = label.data() + kMessages.size();
  std::from_chars(begin, label.data() + label.size(), index);
  return index;
}

Json HereJson(const ArchivedPrompt& prompt, const MissReport& report, const ServedModel& model) {
  const PromptPart* part = PartAt(prompt.parts, report.position);
  const std::int64_t start = part == nullptr ? 0 : part->first_token;
  const auto before = static_cast<std::size_t>(report.position - start);
  const std::string text = TextOf(model, Window(prompt.tokens, report.position, kShownTokens));
  const std::int64_t from = CountCharacters(TextOf(model, Window(prompt.tokens, start, before)));
  const std::int64_t shown_from =
      std::max<std::int64_t>(0, report.position - static_cast<std::int64_t>(kShownBefore));
  const auto shown_before = static_cast<std::size_t>(report.position - shown_from);
  return {{"part", report.part_here},
          {"message", MessageIndex(report.part_here)},
          {"token", report.position},
          {"token_in_part", report.offset_in_part},
          {"characters", Json::array({from, from + CountCharacters(text)})},
          {"before", TextOf(model, Window(prompt.tokens, shown_from, shown_before))},
          {"text", text}};
}

Json ThereJson(const std::optional<PromptArchive::Found>& nearest, const MissReport& report,
               const ServedModel& model) {
  if (!nearest) return nullptr;
  const ArchivedPrompt& prompt = *nearest->prompt;
  return {{"id", prompt.id},
          {"part", report.part_there},
          {"text", TextOf(model, Window(prompt.tokens, report.position, kShownTokens))}};
}

std::string_view Explanation(MissCause cause) {
  switch (cause) {
    case MissCause::kFullHit:
      return "all of the prompt was in the cache: only its last token was computed";
    case MissCause::kFirstSeen:
      return "no earlier prompt of this key and model begins like this one";
    case MissCause::kDiffers:
      return "the nearest earlier prompt has other text here, so that all behind it had to be "
             "computed";
    case MissCause::kGoesOn:
      return "the prompt goes on here past the nearest earlier one: what is new had to be computed";
    case MissCause::kEvicted:
      return "the nearest earlier prompt had the same text here, but its blocks were given to "
             "others meanwhile";
    case MissCause::kOtherContent:
      return "the tokens are the same here, but what they stand for is not: media, or rows of "
             "other numerics";
    case MissCause::kBlockEnd:
      return "the prompt matches to its end, but for less than a block of tokens";
    case MissCause::kForgotten:
      return "the earlier prompt is no longer in the record";
    case MissCause::kOff:
      return "the prompt cache is off";
  }
  return "";
}

std::string_view DifferenceAdvice(std::string_view part) {
  if (part.starts_with("tools[")) {
    return "send the same tools, word for word: a tool that changes costs all behind it";
  }
  if (IsSystem(part)) {
    return "keep what changes (dates, ids, the state of a repository) out of the system prompt: at "
           "the end of the last user message it costs only itself";
  }
  if (part.starts_with("messages[")) {
    return "send earlier messages back as they were: one that is edited or left out costs all "
           "behind it";
  }
  return "keep what changes behind what stays";
}

std::string_view Advice(const MissReport& report) {
  switch (report.cause) {
    case MissCause::kDiffers:
      return DifferenceAdvice(report.part_here);
    case MissCause::kEvicted:
      return "give --memory more, or mark the prefix with cache_control, so that it goes last";
    case MissCause::kFirstSeen:
      return "a prefix that is sent again will be found; it can be computed ahead of time by a "
             "request with max_tokens 1";
    case MissCause::kOff:
      return "leave --no-prefix-cache away";
    default:
      return "nothing: this is as good as it gets";
  }
}

std::string_view ChangedPart(std::string_view part) {
  if (part.starts_with("tools[")) return "tools_changed";
  if (IsSystem(part)) return "system_changed";
  return "messages_changed";
}

}  // namespace

Json ExplanationJson(const PromptArchive::Found& found,
                     const std::optional<PromptArchive::Found>& nearest, const ServedModel& model) {
  const ArchivedPrompt& prompt = *found.prompt;
  const MissReport& report = found.report;
  const bool has_spot = report.position >= 0;
  return {{"id", prompt.id},
          {"model", prompt.model},
          {"prompt_tokens", prompt.tokens.size()},
          {"cached_tokens", report.cached_tokens},
          {"matched_tokens", report.matched_tokens},
          {"spliced_replies", prompt.spliced},
          {"notes", prompt.notes},
          {"reason", MissCauseName(report.cause)},
          {"explanation", Explanation(report.cause)},
          {"advice", Advice(report)},
          {"here", has_spot ? HereJson(prompt, report, model) : Json()},
          {"there", has_spot ? ThereJson(nearest, report, model) : Json()}};
}

PromptComparison ComparePrompts(const ArchivedPrompt& earlier, const ArchivedPrompt& prompt) {
  const auto [here, there] = std::ranges::mismatch(prompt.tokens, earlier.tokens);
  PromptComparison comparison{.same_model = earlier.model == prompt.model,
                              .shared_tokens = here - prompt.tokens.begin(),
                              .extends = there == earlier.tokens.end()};
  const PromptPart* part = PartAt(prompt.parts, comparison.shared_tokens);
  if (part != nullptr) comparison.part = part->label;
  const bool only_tools =
      earlier.tools_digest != prompt.tools_digest && earlier.system_digest == prompt.system_digest;
  if (only_tools && IsSystem(comparison.part)) comparison.part = "tools[0]";
  return comparison;
}

Json AnthropicDiagnostics(const ArchivedPrompt* earlier, const ArchivedPrompt& prompt) {
  if (earlier == nullptr) {
    return {{"cache_miss_reason", {{"type", "previous_message_not_found"}}}};
  }
  const PromptComparison comparison = ComparePrompts(*earlier, prompt);
  if (comparison.same_model && comparison.extends) return {{"cache_miss_reason", nullptr}};
  const auto tokens = static_cast<std::int64_t>(prompt.tokens.size());
  const std::int64_t missed = comparison.same_model ? tokens - comparison.shared_tokens : tokens;
  return {{"cache_miss_reason",
           {{"type", comparison.same_model ? ChangedPart(comparison.part) : "model_changed"},
            {"cache_missed_input_tokens", missed}}}};
}

Json OpenAiDiagnostics(const ArchivedPrompt* earlier, const ArchivedPrompt& prompt,
                       std::int64_t cached_tokens) {
  if (earlier == nullptr) return {{"type", "comparison_response_not_found"}};
  const PromptComparison comparison = ComparePrompts(*earlier, prompt);
  if (comparison.same_model && comparison.extends) return {{"type", "cache_hit"}};
  const std::string_view changed = ChangedPart(comparison.part);
  std::string_view reason = changed == "tools_changed" ? changed : "input_changed";
  if (!comparison.same_model) reason = "model_changed";
  return {{"type", "cache_miss"},
          {"reason", reason},
          {"cache_missed_tokens", static_cast<std::int64_t>(prompt.tokens.size()) - cached_tokens},
          {"comparison_reusable_tokens", comparison.same_model ? comparison.shared_tokens : 0}};
}

}  // namespace folio
