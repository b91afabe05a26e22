// Reads replies as the server does, for the tests in tests/e2e: a JSON request a line on stdin:
//   {"template": "its source", "architecture": "...", "tools": [{"name": ..., "parameters": ...}],
//    "prompt_end": "...", "controls": bool, "events": [{"text": "..."} | {"control": "..."}]}
//     -> {"syntax": "hermes", "pieces": [["text", "..."], ["start", "NAME"], ["arguments", "..."],
//        ["end", ""], ...]}
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "api/reply_parser/reply_parser.h"

namespace {

using folio::Json;

const char* KindName(folio::ReplyPiece::Kind kind) {
  constexpr const char* kNames[] = {"text", "reasoning", "start", "arguments", "end"};
  return kNames[static_cast<int>(kind)];
}

std::vector<folio::Tool> ToolsOf(const Json& list) {
  std::vector<folio::Tool> tools;
  for (const Json& one : list) {
    folio::Tool tool;
    tool.name = one["name"].get<std::string>();
    tool.parameters = one["parameters"];
    tools.push_back(tool);
  }
  return tools;
}

Json Answer(const Json& request) {
  const folio::ReplySyntax syntax = folio::ReplySyntaxOf(
      request["template"].get<std::string>(), request["architecture"].get<std::string>());
  const std::vector<folio::Tool> tools = ToolsOf(request["tools"]);
  const auto parser =
      folio::MakeReplyParser(syntax, tools,
                             {.in_reasoning = folio::PromptOpensReasoning(
                                  syntax.reasoning, request["prompt_end"].get<std::string>()),
                              .marks_are_controls = request["controls"].get<bool>()});
  std::vector<folio::ReplyPiece> pieces;
  for (const Json& event : request["events"]) {
    if (event.contains("control")) {
      parser->Control(event["control"].get<std::string>(), pieces);
    } else {
      parser->Text(event["text"].get<std::string>(), pieces);
    }
  }
  parser->End(pieces);
  Json told = Json::array();
  for (const folio::ReplyPiece& piece : pieces) told.push_back({KindName(piece.kind), piece.text});
  return {{"syntax", folio::CallSyntaxName(syntax.calls)}, {"pieces", told}};
}

}  // namespace

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << folio::DumpJson(Answer(Json::parse(line))) << "\n" << std::flush;
    }
  } catch (const std::exception& error) {
    std::cerr << "reply_driver: " << error.what() << "\n";
    return 1;
  }
}
