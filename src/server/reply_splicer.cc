#include "server/reply_splicer.h"

#include <algorithm>
#include <iterator>

namespace folio {
namespace {

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

// The same for every way to write the same value.
std::string CanonicalJson(const std::string& text) {
  const auto parsed = ParseJson(text.empty() ? "{}" : text);
  // Sorted members, no white space.
  return parsed ? nlohmann::json(*parsed).dump(-1, ' ', false,
                                               nlohmann::json::error_handler_t::replace)
                : text;
}

void AddField(Sha256& hasher, std::string_view field) {
  hasher.Update(std::to_string(field.size()) + ":");
  hasher.Update(field);
}

// What a reply of this value is looked for by.
std::string KeyOf(std::string_view owner, std::string_view model, const GeneratedReply& reply) {
  Sha256 hasher;
  AddField(hasher, owner);
  AddField(hasher, model);
  AddField(hasher, Trimmed(reply.text));
  for (const auto& [name, arguments] : reply.calls) {
    AddField(hasher, name);
    AddField(hasher, CanonicalJson(arguments));
  }
  return hasher.HexDigest();
}

std::string Text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// An assistant's message as the reply that it was.
GeneratedReply ValueOf(const Json& message) {
  GeneratedReply value{.text = Text(message, "content")};
  const auto calls = message.find("tool_calls");
  if (calls == message.end()) return value;
  for (const Json& call : *calls) {
    const Json function = call.value("function", Json::object());
    value.calls.emplace_back(Text(function, "name"), Text(function, "arguments"));
  }
  return value;
}

// What of a prompt's end a rendering that goes on may write with other tokens.
constexpr std::size_t kTailTokens = 8;

Sha256Digest DigestOf(std::span<const std::int32_t> tokens) {
  Sha256 hasher;
  hasher.Update(std::as_bytes(tokens));
  return hasher.Digest().value_or(Sha256Digest{});
}

std::string TextOf(const SpliceVocabulary& vocabulary, std::span<const std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) text += vocabulary.bytes(token);
  return text;
}

std::size_t BytesOf(const GeneratedReply& reply) {
  std::size_t bytes =
      512 + reply.text.size() + reply.reasoning.size() + reply.tokens.size() * sizeof(std::int32_t);
  for (const auto& [name, arguments] : reply.calls) bytes += name.size() + arguments.size();
  return bytes;
}

bool IsEnd(const SpliceVocabulary& vocabulary, std::int32_t token) {
  return std::ranges::find(vocabulary.end_tokens, token) != vocabulary.end_tokens.end();
}

// The stretch as rendered says all that the reply did.
bool SaysAll(std::string_view rendered, const GeneratedReply& reply) {
  const auto says = [&](std::string_view part) {
    return rendered.find(part) != std::string_view::npos;
  };
  return says(Trimmed(reply.text)) && says(Trimmed(reply.reasoning)) &&
         std::ranges::all_of(reply.calls, [&](const auto& call) { return says(call.first); });
}

// Parts behind the stretch move with it; those inside stay inside.
void MoveParts(std::vector<PromptPart>& parts, std::int64_t begin, std::int64_t end,
               std::int64_t new_end) {
  for (PromptPart& part : parts) {
    if (part.first_token >= end) {
      part.first_token += new_end - end;
    } else if (part.first_token > begin) {
      part.first_token = std::min(part.first_token, new_end);
    }
  }
}

}  // namespace

ReplyPlace PlaceAfter(std::string owner, std::string model, std::size_t messages,
                      std::span<const std::int32_t> prompt) {
  const std::size_t tail = std::min(kTailTokens, prompt.size());
  const auto before = prompt.first(prompt.size() - tail);
  return {.owner = std::move(owner),
          .model = std::move(model),
          .messages = messages,
          .digested = before.size(),
          .digest = DigestOf(before),
          .tail = {prompt.end() - static_cast<std::ptrdiff_t>(tail), prompt.end()}};
}

void ReplySplicer::Keep(const ReplyPlace& place, GeneratedReply reply) {
  const std::size_t bytes = BytesOf(reply);
  if (bytes > most_bytes_) return;
  std::string key = KeyOf(place.owner, place.model, reply);
  const std::lock_guard lock(mutex_);
  while (bytes_ + bytes > most_bytes_) {
    bytes_ -= entries_.front().bytes;
    const auto [first, last] = by_key_.equal_range(entries_.front().key);
    by_key_.erase(std::find_if(first, last,
                               [&](const auto& item) { return item.second == entries_.begin(); }));
    entries_.pop_front();
  }
  bytes_ += bytes;
  entries_.push_back({.key = key, .place = place, .reply = std::move(reply), .bytes = bytes});
  by_key_.emplace(std::move(key), std::prev(entries_.end()));
}

bool ReplySplicer::SpliceOne(const Entry& entry, const SpliceVocabulary& vocabulary,
                             Engine::Prompt& prompt) const {
  std::vector<std::int32_t>& tokens = prompt.tokens;
  const ReplyPlace& place = entry.place;
  if (place.digested + place.tail.size() >= tokens.size()) return false;
  if (DigestOf(std::span(tokens).first(place.digested)) != place.digest) return false;
  const auto tail_begin = tokens.begin() + static_cast<std::ptrdiff_t>(place.digested);
  const auto [from, tail] =
      std::mismatch(tail_begin, tokens.end(), place.tail.begin(), place.tail.end());
  const auto to = std::find_if(from, tokens.end(),
                               [&](std::int32_t token) { return IsEnd(vocabulary, token); });
  if (to == tokens.end()) return false;
  // What was in front of the reply, where it is written anew, and the reply without its end.
  std::vector<std::int32_t> own(tail, place.tail.end());
  const std::string begun = TextOf(vocabulary, own);
  const std::vector<std::int32_t>& reply = entry.reply.tokens;
  const bool ended = !reply.empty() && IsEnd(vocabulary, reply.back());
  own.insert(own.end(), reply.begin(), reply.end() - (ended ? 1 : 0));
  const std::string rendered = TextOf(vocabulary, std::span(from, to));
  if (std::ranges::equal(std::span(from, to), own) || !rendered.starts_with(begun) ||
      !SaysAll(rendered, entry.reply)) {
    return false;
  }
  const std::int64_t begin = from - tokens.begin();
  const std::int64_t end = to - tokens.begin();
  const auto after = tokens.erase(from, to);
  tokens.insert(after, own.begin(), own.end());
  MoveParts(prompt.parts, begin, end, begin + static_cast<std::int64_t>(own.size()));
  return true;
}

std::size_t ReplySplicer::Splice(std::string_view owner, std::string_view model,
                                 const Json& messages, const SpliceVocabulary& vocabulary,
                                 Engine::Prompt& prompt) {
  std::size_t spliced = 0;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (Text(messages[i], "role") != "assistant") continue;
    const auto [first, last] = by_key_.equal_range(KeyOf(owner, model, ValueOf(messages[i])));
    for (auto found = first; found != last; ++found) {
      const Entry& entry = *found->second;
      if (entry.place.messages != i || !SpliceOne(entry, vocabulary, prompt)) continue;
      ++spliced;
      break;
    }
  }
  return spliced;
}

}  // namespace folio
