// Bodies of Anthropic's dialect for tests.
#ifndef FOLIO_API_ANTHROPIC_TEST_BODY_H_
#define FOLIO_API_ANTHROPIC_TEST_BODY_H_

#include <gtest/gtest.h>

#include <expected>
#include <string>

#include "api/anthropic_request.h"

namespace folio {

using ParsedMessages = std::expected<AnthropicRequest, ApiError>;

inline Json BodyOf(const std::string& text) {
  auto parsed = ParseJson(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed.value_or(Json());
}

// A body of one user message with these further members.
inline ParsedMessages WithMembers(const std::string& members) {
  return ParseMessages(BodyOf(R"({"max_tokens":9,"messages":[{"role":"user","content":"hi"}])" +
                              (members.empty() ? "" : "," + members) + "}"));
}

// A body of these messages, closed by one of the user's, so that there is something to answer.
inline ParsedMessages WithMessages(const std::string& messages,
                                   const AnthropicOptions& options = {}) {
  return ParseMessages(
      BodyOf(R"({"max_tokens":9,"messages":[)" + messages + R"(,{"role":"user","content":"go"}]})"),
      options);
}

inline std::string RefusalOf(const ParsedMessages& request) {
  return request ? "" : request.error().message;
}

// The messages without the closing one, as text.
inline std::string MessagesOf(const ParsedMessages& request) {
  if (!request) return "refused: " + request.error().message;
  Json messages = request->api.messages;
  messages.erase(messages.size() - 1);
  return DumpJson(messages);
}

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_TEST_BODY_H_
