#include "api/anthropic_message.h"

#include <algorithm>
#include <utility>

#include "api/encrypted_content.h"
#include "base/sha256.h"

namespace folio {
namespace {

Json ArgumentsJson(const std::string& text) {
  auto parsed = ParseJson(text);
  return parsed ? *std::move(parsed) : Json::object();
}

}  // namespace

Json AnthropicBlockStartJson(const AnthropicBlock& block) {
  switch (block.kind) {
    case AnthropicBlock::Kind::kText:
      return {{"type", "text"}, {"text", ""}};
    case AnthropicBlock::Kind::kThinking:
      return {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
    case AnthropicBlock::Kind::kToolUse:
      break;
  }
  return {{"type", "tool_use"}, {"id", block.id}, {"name", block.name}, {"input", Json::object()}};
}

Json AnthropicBlockJson(const AnthropicBlock& block, bool omit_thinking) {
  Json json = AnthropicBlockStartJson(block);
  switch (block.kind) {
    case AnthropicBlock::Kind::kText:
      json["text"] = block.text;
      break;
    case AnthropicBlock::Kind::kThinking:
      if (!omit_thinking) json["thinking"] = block.text;
      json["signature"] = ThinkingSignature(block.text, omit_thinking);
      break;
    case AnthropicBlock::Kind::kToolUse:
      json["input"] = ArgumentsJson(block.text);
      break;
  }
  return json;
}

std::string ThinkingSignature(std::string_view thinking, bool omit_thinking) {
  if (omit_thinking) return EncryptedContent(thinking);
  Sha256 hash;
  hash.Update(thinking);
  return "sha256-" + hash.HexDigest();
}

Json AnthropicUsageJson(const ReplyTotals& totals) {
  const auto part = [](std::int64_t& rest, std::int64_t wanted) {
    const std::int64_t taken = std::clamp<std::int64_t>(wanted, 0, rest);
    rest -= taken;
    return taken;
  };
  std::int64_t rest = std::max<std::int64_t>(totals.prompt_tokens, 0);
  const std::int64_t read = part(rest, totals.cached_tokens);
  const std::int64_t created_1h = part(rest, totals.created_1h_tokens);
  const std::int64_t created_5m = part(rest, totals.created_5m_tokens);
  return {{"input_tokens", rest},
          {"cache_creation_input_tokens", created_5m + created_1h},
          {"cache_read_input_tokens", read},
          {"cache_creation",
           {{"ephemeral_5m_input_tokens", created_5m}, {"ephemeral_1h_input_tokens", created_1h}}},
          {"output_tokens", totals.generated_tokens},
          {"output_tokens_details", {{"thinking_tokens", totals.reasoning_tokens}}},
          {"server_tool_use", nullptr},
          {"service_tier", "standard"}};
}

Json AnthropicMessageJson(const ReplyStart& start, Json usage) {
  return {
      {"id", "msg_" + start.id},  {"type", "message"},         {"role", "assistant"},
      {"model", start.model},     {"content", Json::array()},  {"stop_reason", nullptr},
      {"stop_sequence", nullptr}, {"usage", std::move(usage)}, {"diagnostics", start.diagnostics}};
}

}  // namespace folio
