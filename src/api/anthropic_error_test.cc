#include "api/anthropic_error.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace folio {
namespace {

TEST(AnthropicErrorTest, HasTheApisShape) {
  EXPECT_EQ(DumpJson(AnthropicErrorJson({.kind = ApiError::Kind::kInvalidRequest,
                                         .message = "messages[0].role: is missing",
                                         .param = "messages[0].role"},
                                        "req_1")),
            R"({"type":"error","error":{"type":"invalid_request_error",)"
            R"("message":"messages[0].role: is missing"},"request_id":"req_1"})");
}

TEST(AnthropicErrorTest, EveryKindHasTheApisName) {
  using Kind = ApiError::Kind;
  const std::vector<std::pair<Kind, std::string>> names = {
      {Kind::kInvalidRequest, "invalid_request_error"},
      {Kind::kUnauthorized, "authentication_error"},
      {Kind::kForbidden, "permission_error"},
      {Kind::kNotFound, "not_found_error"},
      {Kind::kMethodNotAllowed, "invalid_request_error"},
      {Kind::kContextOverflow, "invalid_request_error"},
      {Kind::kTooLarge, "request_too_large"},
      {Kind::kUnsupportedMedia, "invalid_request_error"},
      {Kind::kRateLimited, "rate_limit_error"},
      {Kind::kInternal, "api_error"},
      {Kind::kNotImplemented, "invalid_request_error"},
      {Kind::kUnavailable, "overloaded_error"},
  };
  for (const auto& [kind, name] : names) {
    EXPECT_EQ(AnthropicErrorJson({.kind = kind})["error"]["type"], name);
  }
}

TEST(AnthropicErrorTest, OverflowIsToldInTheWordsThatClientsLookFor) {
  const ApiError error{.kind = ApiError::Kind::kContextOverflow,
                       .message = "of the engine",
                       .prompt_tokens = 40000,
                       .limit_tokens = 32768};
  EXPECT_EQ(AnthropicErrorJson(error)["error"]["message"],
            "prompt is too long: 40000 tokens > 32768 maximum");
}

TEST(AnthropicErrorTest, ThreadsHaveTheDetailsThatTheSdkReads) {
  EXPECT_EQ(DumpJson(AnthropicErrorJson({.kind = ApiError::Kind::kInvalidRequest,
                                         .message = "m",
                                         .details_code = "thread_unsupported_request"})),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"m",)"
            R"("details":{"error_code":"thread_unsupported_request","unsupported":["thread"]}}})");
  EXPECT_EQ(DumpJson(AnthropicErrorJson({.kind = ApiError::Kind::kNotFound,
                                         .message = "m",
                                         .details_code = "thread_not_found"})["error"]["details"]),
            R"({"error_code":"thread_not_found"})");
}

}  // namespace
}  // namespace folio
