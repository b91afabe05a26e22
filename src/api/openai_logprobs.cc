#include "api/openai_logprobs.h"

#include <algorithm>
#include <string>

#include "formats/utf8.h"

namespace folio {
namespace {

// The samples whose bytes begin inside the text. Vocabularies that put a space before each word
// have one byte more at the start than the text shows.
std::span<const Sample> ShownSamples(const Reply& reply, const TokenBytes& bytes) {
  std::size_t begin = 0;
  bool first = true;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < reply.samples.size() && begin < reply.text.size(); ++i) {
    const std::string_view piece = bytes(reply.samples[i].token);
    if (piece.empty()) continue;
    begin += piece.size();
    if (first && piece.front() == ' ' && !reply.text.starts_with(' ')) --begin;
    first = false;
    shown = i + 1;
  }
  return std::span(reply.samples).first(shown);
}

Json BytesJson(std::string_view bytes) {
  Json list = Json::array();
  for (const char byte : bytes) list.push_back(static_cast<unsigned char>(byte));
  return list;
}

// Whole characters as they are, other bytes as U+FFFD.
std::string Repaired(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t valid = ValidUtf8Prefix(bytes);
    text += bytes.substr(0, valid);
    if (valid == bytes.size()) break;
    text += "\xef\xbf\xbd";
    bytes.remove_prefix(valid + 1);
  }
  return text;
}

std::string Spelled(std::string_view bytes) {
  if (IsValidUtf8(bytes)) return std::string(bytes);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

Json ChatEntry(std::int32_t token, float logprob, const TokenBytes& bytes) {
  const std::string_view piece = bytes(token);
  return {{"token", Repaired(piece)}, {"logprob", logprob}, {"bytes", BytesJson(piece)}};
}

std::size_t CountCharacters(std::string_view bytes) {
  return static_cast<std::size_t>(std::ranges::count_if(
      bytes, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

Json TopJson(const Sample& sample, const TokenBytes& bytes) {
  Json top = Json::object();
  for (const TokenLogprob& other : sample.top) {
    // The same spelling twice (a control token and an empty one): the more probable stays.
    top.emplace(Spelled(bytes(other.token)), other.logprob);
  }
  return top;
}

Json ChatEntryWithTop(const Sample& sample, const TokenBytes& bytes) {
  Json entry = ChatEntry(sample.token, sample.logprob, bytes);
  entry["top_logprobs"] = Json::array();
  for (const TokenLogprob& other : sample.top) {
    entry["top_logprobs"].push_back(ChatEntry(other.token, other.logprob, bytes));
  }
  return entry;
}

Json EmptyCompletionLogprobs() {
  return {{"tokens", Json::array()},
          {"token_logprobs", Json::array()},
          {"top_logprobs", Json::array()},
          {"text_offset", Json::array()}};
}

void AddEntry(Json& lists, const Sample& sample, const TokenBytes& bytes, std::size_t offset) {
  lists["tokens"].push_back(Spelled(bytes(sample.token)));
  lists["token_logprobs"].push_back(sample.logprob);
  lists["top_logprobs"].push_back(TopJson(sample, bytes));
  lists["text_offset"].push_back(offset);
}

}  // namespace

Json ChatLogprobs(std::span<const Sample> samples, const TokenBytes& bytes) {
  Json content = Json::array();
  for (const Sample& sample : samples) {
    if (!bytes(sample.token).empty()) content.push_back(ChatEntryWithTop(sample, bytes));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json CompletionLogprobs(std::span<const Sample> samples, const TokenBytes& bytes,
                        std::size_t& offset) {
  Json lists = EmptyCompletionLogprobs();
  for (const Sample& sample : samples) {
    const std::string_view piece = bytes(sample.token);
    if (piece.empty()) continue;
    AddEntry(lists, sample, bytes, offset);
    offset += CountCharacters(piece);
  }
  return lists;
}

Json ChatLogprobs(const Reply& reply, const TokenBytes& bytes) {
  return ChatLogprobs(ShownSamples(reply, bytes), bytes);
}

Json CompletionLogprobs(const Reply& reply, const TokenBytes& bytes) {
  Json lists = EmptyCompletionLogprobs();
  std::size_t offset = 0;
  for (const Sample& sample : ShownSamples(reply, bytes)) {
    const std::string_view piece = bytes(sample.token);
    AddEntry(lists, sample, bytes, offset);
    const bool space_dropped =
        lists["tokens"].size() == 1 && piece.starts_with(' ') && !reply.text.starts_with(' ');
    offset += CountCharacters(piece) - (space_dropped ? 1 : 0);
  }
  return lists;
}

}  // namespace folio
