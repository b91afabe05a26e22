// For tests of the families' syntaxes: what a parser tells of a reply, however it comes.
#ifndef FOLIO_API_REPLY_PARSER_REPLY_READING_TEST_H_
#define FOLIO_API_REPLY_PARSER_REPLY_READING_TEST_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/reply_parser/reply_parser.h"

namespace folio {

// get_weather(city, days, more...), and mcp__now() of a namespace.
std::vector<Tool> WeatherTools();

struct Reading {
  ReplySyntax syntax;
  ReplyParserOptions options;
  std::vector<Tool> tools = WeatherTools();
  // Spellings that come as control tokens.
  std::vector<std::string> controls;
};

// Each of "text: ...", "reasoning: ...", "call: NAME ARGUMENTS" and, for one without an end,
// "open: NAME ARGUMENTS"; neighbours of a kind joined. The reply is read whole, cut in two at each
// character, in single characters and in random parts: a failure of the test if that differs.
std::vector<std::string> Read(const Reading& reading, std::string_view reply);

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_REPLY_READING_TEST_H_
