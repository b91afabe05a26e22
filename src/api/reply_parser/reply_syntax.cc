#include "api/reply_parser/reply_parser.h"

namespace folio {
namespace {

// By what a template renders of an assistant's calls: each family's marks are its own.
CallSyntax CallsOf(std::string_view source, std::string_view architecture) {
  const auto has = [source](std::string_view text) { return source.contains(text); };
  if (has("<|channel|>") && has("<|message|>")) return CallSyntax::kHarmony;
  if (has("[TOOL_CALLS]")) return CallSyntax::kMistral;
  if (has("<｜tool▁call▁begin｜>")) return CallSyntax::kDeepSeek;
  if (has("<function=") && has("<parameter=")) return CallSyntax::kQwenXml;
  if (has("<tool_call>")) return CallSyntax::kHermes;
  if (has("<|tool_call|>")) return CallSyntax::kGranite;
  if (has("<|start_header_id|>") && has("\"parameters\": ")) return CallSyntax::kLlama3;
  if (architecture.starts_with("gemma")) return CallSyntax::kGemma;
  return CallSyntax::kHermes;
}

ReasoningSyntax ReasoningOf(std::string_view source) {
  if (source.contains("<think>") || source.contains("</think>")) return ReasoningSyntax::kThink;
  if (source.contains("[THINK]")) return ReasoningSyntax::kBracketThink;
  return ReasoningSyntax::kNone;
}

}  // namespace

ReplySyntax ReplySyntaxOf(std::string_view template_source, std::string_view architecture) {
  const CallSyntax calls = CallsOf(template_source, architecture);
  const bool channels = calls == CallSyntax::kHarmony;
  return {.calls = calls,
          .reasoning = channels ? ReasoningSyntax::kNone : ReasoningOf(template_source)};
}

std::string_view CallSyntaxName(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kHermes:
      return "hermes";
    case CallSyntax::kQwenXml:
      return "qwen-xml";
    case CallSyntax::kLlama3:
      return "llama3";
    case CallSyntax::kMistral:
      return "mistral";
    case CallSyntax::kGranite:
      return "granite";
    case CallSyntax::kDeepSeek:
      return "deepseek";
    case CallSyntax::kHarmony:
      return "harmony";
    case CallSyntax::kGemma:
      return "gemma";
  }
  return "";
}

std::string_view CallMark(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kLlama3:
      return "<|python_tag|>";
    case CallSyntax::kMistral:
      return "[TOOL_CALLS]";
    case CallSyntax::kGranite:
      return "<|tool_call|>";
    case CallSyntax::kDeepSeek:
      return "<｜tool▁call▁begin｜>";
    case CallSyntax::kHarmony:
      return "<|channel|>";
    default:
      return {};
  }
}

bool PromptOpensReasoning(ReasoningSyntax syntax, std::string_view prompt_end) {
  while (!prompt_end.empty() && std::string_view(" \t\r\n").contains(prompt_end.back())) {
    prompt_end.remove_suffix(1);
  }
  switch (syntax) {
    case ReasoningSyntax::kThink:
      return prompt_end.ends_with("<think>");
    case ReasoningSyntax::kBracketThink:
      return prompt_end.ends_with("[THINK]");
    default:
      return false;
  }
}

}  // namespace folio
