#include "api/call_spelling.h"

namespace folio {
namespace {

// {"name": NAME, "arguments": {...}}, one or several in a list or a tag.
CallSpelling ObjectSpelling(const std::string& arguments) {
  CallSpelling spelling;
  spelling.call_begin = "{\"name\": \"";
  spelling.name_end = "\", \"" + arguments + "\": ";
  spelling.call_end = "}";
  return spelling;
}

CallSpelling Hermes() {
  CallSpelling spelling = ObjectSpelling("arguments");
  spelling.call_begin = "<tool_call>\n" + spelling.call_begin;
  spelling.call_end += "\n</tool_call>";
  spelling.between = "\n";
  spelling.marks = {"<tool_call>", "</tool_call>"};
  return spelling;
}

CallSpelling QwenXml() {
  return {.begin = "",
          .call_begin = "<tool_call>\n<function=",
          .name_end = ">\n",
          .call_end = "</function>\n</tool_call>",
          .between = "\n",
          .end = "",
          .marks = {"<tool_call>", "</tool_call>"},
          .xml_arguments = true};
}

CallSpelling ListBehind(const std::string& mark) {
  CallSpelling spelling = ObjectSpelling("arguments");
  spelling.begin = mark + "[";
  spelling.between = ", ";
  spelling.end = "]";
  spelling.marks = {mark};
  return spelling;
}

// The calls are the reply.
CallSpelling Bare() {
  CallSpelling spelling = ObjectSpelling("parameters");
  spelling.between = "; ";
  return spelling;
}

CallSpelling DeepSeek() {
  return {.begin = "<｜tool▁calls▁begin｜>",
          .call_begin = "<｜tool▁call▁begin｜>",
          .name_end = "<｜tool▁sep｜>",
          .call_end = "<｜tool▁call▁end｜>",
          .between = "",
          .end = "<｜tool▁calls▁end｜>",
          .marks = {"<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>",
                    "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"}};
}

CallSpelling Harmony() {
  return {.begin = "",
          .call_begin = "<|channel|>commentary to=functions.",
          .name_end = " <|constrain|>json<|message|>",
          .call_end = "<|call|>",
          .between = "<|start|>assistant",
          .end = "",
          .marks = {"<|channel|>", "<|constrain|>", "<|message|>", "<|call|>", "<|start|>"},
          .text_begins_alike = true};
}

}  // namespace

CallSpelling SpellingOf(CallSyntax syntax) {
  switch (syntax) {
    case CallSyntax::kHermes:
      break;
    case CallSyntax::kQwenXml:
      return QwenXml();
    case CallSyntax::kLlama3:
    case CallSyntax::kGemma:
      return Bare();
    case CallSyntax::kMistral:
      return ListBehind("[TOOL_CALLS]");
    case CallSyntax::kGranite:
      return ListBehind("<|tool_call|>");
    case CallSyntax::kDeepSeek:
      return DeepSeek();
    case CallSyntax::kHarmony:
      return Harmony();
  }
  return Hermes();
}

}  // namespace folio
