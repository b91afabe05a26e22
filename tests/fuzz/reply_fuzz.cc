// Replies as a model may write them, odd ones above all. An input's first three bytes choose the
// syntax, the options and how the reply is cut; \x01 and a byte are a control token; the rest is
// text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/reply_parser/reply_parser.h"
#include "formats/utf8.h"

namespace {

using folio::ReplyPiece;

void Require(bool holds) {
  if (!holds) std::abort();
}

constexpr std::string_view kControls[] = {"<tool_call>",
                                          "</tool_call>",
                                          "<think>",
                                          "</think>",
                                          "[TOOL_CALLS]",
                                          "[ARGS]",
                                          "[CALL_ID]",
                                          "[THINK]",
                                          "[/THINK]",
                                          "<|python_tag|>",
                                          "<|tool_call|>",
                                          "<|/tool_call|>",
                                          "<|start|>",
                                          "<|channel|>",
                                          "<|constrain|>",
                                          "<|message|>",
                                          "<|end|>",
                                          "<|call|>",
                                          "<|return|>",
                                          "<｜tool▁calls▁begin｜>",
                                          "<｜tool▁call▁begin｜>",
                                          "<｜tool▁sep｜>",
                                          "<｜tool▁call▁end｜>",
                                          "<｜tool▁calls▁end｜>",
                                          "<|unheard-of|>"};

struct Event {
  bool control = false;
  std::string text;
};

struct Input {
  folio::ReplySyntax syntax;
  folio::ReplyParserOptions options;
  std::vector<folio::Tool> tools;
  std::vector<Event> events;
};

std::vector<folio::Tool> Tools() {
  folio::Tool tool;
  tool.name = "f";
  tool.parameters = folio::Json::parse(
      R"({"properties": {"s": {"type": "string"}, "n": {"type": "number"}, "x": {"$ref": "#"}}})");
  folio::Tool custom;
  custom.kind = folio::Tool::Kind::kCustom;
  custom.name = "custom";
  return {tool, custom};
}

std::vector<Event> EventsOf(std::string_view data) {
  std::vector<Event> events;
  while (!data.empty()) {
    if (data.front() == '\x01' && data.size() > 1) {
      const auto index = static_cast<unsigned char>(data[1]) % std::size(kControls);
      events.push_back({.control = true, .text = std::string(kControls[index])});
      data.remove_prefix(2);
      continue;
    }
    const std::string_view text = data.substr(0, data.find('\x01', 1));
    data.remove_prefix(text.size());
    const std::size_t valid = folio::ValidUtf8Prefix(text);
    if (valid > 0) events.push_back({.control = false, .text = std::string(text.substr(0, valid))});
  }
  return events;
}

void Add(std::vector<ReplyPiece>& all, const std::vector<ReplyPiece>& pieces) {
  for (const ReplyPiece& piece : pieces) {
    const bool end = piece.kind == ReplyPiece::Kind::kCallEnd;
    Require(piece.text.empty() == end && folio::IsValidUtf8(piece.text));
    const bool joins = !end && piece.kind != ReplyPiece::Kind::kCallStart && !all.empty() &&
                       all.back().kind == piece.kind;
    if (joins) {
      all.back().text += piece.text;
    } else {
      all.push_back(piece);
    }
  }
}

// What is told if each text is cut in front of the characters that `cut` chooses.
template <typename Cut>
std::vector<ReplyPiece> Read(const Input& input, Cut&& cut) {
  const auto parser = folio::MakeReplyParser(input.syntax, input.tools, input.options);
  std::vector<ReplyPiece> all;
  std::vector<ReplyPiece> pieces;
  const auto flush = [&] {
    Add(all, pieces);
    pieces.clear();
  };
  for (const Event& event : input.events) {
    if (event.control) {
      parser->Control(event.text, pieces);
      flush();
      continue;
    }
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= event.text.size(); ++i) {
      const bool end = i == event.text.size();
      const bool character = end || (static_cast<unsigned char>(event.text[i]) & 0xC0U) != 0x80U;
      if (!end && (!character || !cut())) continue;
      parser->Text(std::string_view(event.text).substr(begin, i - begin), pieces);
      begin = i;
      flush();
    }
  }
  parser->End(pieces);
  flush();
  return all;
}

void CheckGrammar(const std::vector<ReplyPiece>& pieces, std::size_t written) {
  const std::string* arguments = nullptr;
  bool open = false;
  std::size_t told = 0;
  for (const ReplyPiece& piece : pieces) {
    told += piece.text.size();
    if (piece.kind == ReplyPiece::Kind::kCallArguments) {
      Require(open && arguments == nullptr);
      arguments = &piece.text;
      continue;
    }
    if (piece.kind == ReplyPiece::Kind::kCallEnd) {
      Require(open && arguments != nullptr);
      const auto object = folio::ParseJson(*arguments);
      Require(object && object->is_object());
    }
    open = piece.kind == ReplyPiece::Kind::kCallStart;
    arguments = nullptr;
  }
  Require(told <= 8 * written + 64);  // a control character becomes six
}

void CheckNothingIsLost(const Input& input, const std::vector<ReplyPiece>& pieces) {
  std::string text;
  for (const Event& event : input.events) {
    if (event.control) return;
    text += event.text;
  }
  const bool plain = text.find_first_of("<[{`") == text.npos;
  const bool channels = input.syntax.calls == folio::CallSyntax::kHarmony;
  const bool verbatim =
      !channels && input.tools.empty() && input.syntax.reasoning == folio::ReasoningSyntax::kNone;
  if (input.options.in_reasoning || (!plain && !verbatim)) return;
  Require(pieces.size() == (text.empty() ? 0 : 1));
  if (!text.empty()) Require(pieces[0].kind == ReplyPiece::Kind::kText && pieces[0].text == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  Input input;
  input.syntax.calls = static_cast<folio::CallSyntax>(data[0] % 8);
  input.syntax.reasoning = static_cast<folio::ReasoningSyntax>(data[0] / 8 % 3);
  const bool channels = input.syntax.calls == folio::CallSyntax::kHarmony;
  if (channels) input.syntax.reasoning = folio::ReasoningSyntax::kNone;
  input.options = {.in_reasoning = !channels && (data[1] & 1U) != 0,
                   .marks_are_controls = (data[1] & 2U) != 0};
  if (input.syntax.reasoning == folio::ReasoningSyntax::kNone) input.options.in_reasoning = false;
  if ((data[1] & 4U) == 0) input.tools = Tools();
  input.events = EventsOf({reinterpret_cast<const char*>(data) + 3, size - 3});

  const auto whole = Read(input, [] { return false; });
  std::size_t written = 0;
  for (const Event& event : input.events) written += event.text.size();
  CheckGrammar(whole, written);
  CheckNothingIsLost(input, whole);
  Require(Read(input, [] { return true; }) == whole);
  std::minstd_rand random(data[2] + 1U);
  Require(Read(input, [&random] { return random() % 4 == 0; }) == whole);
  return 0;
}
