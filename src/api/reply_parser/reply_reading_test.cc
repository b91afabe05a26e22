#include "api/reply_parser/reply_reading_test.h"

#include <cstddef>
#include <memory>
#include <random>
#include <utility>

#include "formats/json.h"
#include "formats/utf8.h"

namespace folio {
namespace {

struct Event {
  bool control = false;
  std::string text;
};

// The spelling of a control token that `reply` begins with, or empty.
std::string ControlAt(std::string_view reply, const std::vector<std::string>& controls) {
  for (const std::string& control : controls) {
    if (reply.starts_with(control)) return control;
  }
  return {};
}

std::vector<Event> EventsOf(std::string_view reply, const std::vector<std::string>& controls) {
  std::vector<Event> events;
  while (!reply.empty()) {
    if (const std::string control = ControlAt(reply, controls); !control.empty()) {
      events.push_back({.control = true, .text = control});
      reply.remove_prefix(control.size());
      continue;
    }
    if (events.empty() || events.back().control) events.push_back({});
    events.back().text += reply.front();
    reply.remove_prefix(1);
  }
  return events;
}

bool StartsCharacter(std::string_view text, std::size_t at) {
  return (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
}

// Cuts texts in front of each character for which `cut` says so.
template <typename Cut>
std::vector<Event> CutUp(const std::vector<Event>& events, Cut&& cut) {
  std::vector<Event> parts;
  for (const Event& event : events) {
    parts.push_back({.control = event.control, .text = {}});
    for (std::size_t i = 0; i < event.text.size(); ++i) {
      const bool may = !event.control && i > 0 && StartsCharacter(event.text, i);
      if (may && cut()) parts.push_back({});
      parts.back().text += event.text[i];
    }
  }
  return parts;
}

std::vector<ReplyPiece> Pieces(const Reading& reading, const std::vector<Event>& events) {
  const auto parser = MakeReplyParser(reading.syntax, reading.tools, reading.options);
  std::vector<ReplyPiece> all;
  const auto take = [&all](std::vector<ReplyPiece> pieces) {
    for (ReplyPiece& piece : pieces) {
      EXPECT_TRUE(IsValidUtf8(piece.text)) << piece.text;
      const bool end = piece.kind == ReplyPiece::Kind::kCallEnd;
      EXPECT_EQ(piece.text.empty(), end) << "an empty piece";
      all.push_back(std::move(piece));
    }
  };
  for (const Event& event : events) {
    std::vector<ReplyPiece> pieces;
    if (event.control) {
      parser->Control(event.text, pieces);
    } else {
      parser->Text(event.text, pieces);
    }
    take(std::move(pieces));
  }
  std::vector<ReplyPiece> pieces;
  parser->End(pieces);
  take(std::move(pieces));
  return all;
}

void EndCall(std::string& line, const std::string& arguments) {
  const auto object = ParseJson(arguments);
  EXPECT_TRUE(object && object->is_object()) << arguments;
  line = "call" + line.substr(4);
}

std::vector<std::string> Lines(const std::vector<ReplyPiece>& pieces) {
  std::vector<std::string> lines;
  std::string arguments;
  bool in_call = false;
  const auto append = [&lines](const std::string& label, const std::string& text) {
    if (lines.empty() || !lines.back().starts_with(label)) lines.push_back(label);
    lines.back() += text;
  };
  for (const ReplyPiece& piece : pieces) {
    switch (piece.kind) {
      case ReplyPiece::Kind::kText:
        append("text: ", piece.text);
        break;
      case ReplyPiece::Kind::kReasoning:
        append("reasoning: ", piece.text);
        break;
      case ReplyPiece::Kind::kCallStart:
        lines.push_back("open: " + piece.text + " ");
        arguments.clear();
        break;
      case ReplyPiece::Kind::kCallArguments:
        EXPECT_TRUE(in_call);
        lines.back() += piece.text;
        arguments += piece.text;
        continue;
      case ReplyPiece::Kind::kCallEnd:
        EXPECT_TRUE(in_call);
        EndCall(lines.back(), arguments);
        break;
    }
    in_call = piece.kind == ReplyPiece::Kind::kCallStart;
  }
  return lines;
}

}  // namespace

std::vector<Tool> WeatherTools() {
  Tool weather;
  weather.name = "get_weather";
  weather.parameters = Json::parse(R"({"type": "object", "properties": {
      "city": {"type": "string"}, "days": {"type": "integer"}, "flag": {"type": "boolean"},
      "list": {"type": "array"}, "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
      "maybe": {"type": ["string", "null"]}, "unit": {"enum": ["C", "F"]}}})");
  Tool now;
  now.name = "now";
  now.space = "mcp";
  return {weather, now};
}

std::vector<std::string> Read(const Reading& reading, std::string_view reply) {
  const std::vector<Event> events = EventsOf(reply, reading.controls);
  const std::vector<std::string> whole = Lines(Pieces(reading, events));
  const auto check = [&](auto&& cut, const char* how) {
    EXPECT_EQ(Lines(Pieces(reading, CutUp(events, cut))), whole) << how << ": " << reply;
  };
  check([] { return true; }, "character by character");
  for (std::size_t at = 0; at < reply.size(); ++at) {
    check([left = at]() mutable { return left-- == 0; }, "in two");
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    check([&random] { return random() % 5 == 0; }, "in random parts");
  }
  return whole;
}

}  // namespace folio
