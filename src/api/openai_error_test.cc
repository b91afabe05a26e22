#include "api/openai_error.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace folio {
namespace {

using Kind = ApiError::Kind;

Json Inner(const ApiError& error) { return OpenAiErrorJson(error)["error"]; }

TEST(OpenAiErrorJsonTest, AWrongFieldIsNamed) {
  EXPECT_EQ(DumpJson(OpenAiErrorJson({.kind = Kind::kInvalidRequest,
                                      .message = "input[0].role: is missing",
                                      .param = "input[0].role"})),
            R"({"error":{"message":"input[0].role: is missing","type":"invalid_request_error",)"
            R"("param":"input[0].role","code":null}})");
}

TEST(OpenAiErrorJsonTest, AnOverflowIsToldInWordsThatClientsKnow) {
  const Json error = Inner({.kind = Kind::kContextOverflow,
                            .message = "It would take 3 minutes.",
                            .prompt_tokens = 9000,
                            .limit_tokens = 8192});
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["message"],
            "This model's maximum context length is 8192 tokens. However, your request has 9000 "
            "tokens. It would take 3 minutes.");
  EXPECT_EQ(Inner({.kind = Kind::kContextOverflow, .message = "too long"})["message"], "too long");
}

TEST(OpenAiErrorJsonTest, KindsHaveTheirTypesAndCodes) {
  struct Case {
    Kind kind;
    Json type;
    Json code;
  };
  const std::vector<Case> cases = {
      {Kind::kUnauthorized, "invalid_request_error", "invalid_api_key"},
      {Kind::kForbidden, "invalid_request_error", "permission_denied"},
      {Kind::kNotFound, "invalid_request_error", nullptr},
      {Kind::kMethodNotAllowed, "invalid_request_error", "method_not_allowed"},
      {Kind::kTooLarge, "invalid_request_error", "request_too_large"},
      {Kind::kUnsupportedMedia, "invalid_request_error", "unsupported_media_type"},
      {Kind::kRateLimited, "rate_limit_error", "rate_limit_exceeded"},
      {Kind::kInternal, "server_error", nullptr},
      {Kind::kNotImplemented, "invalid_request_error", "not_implemented"},
      {Kind::kUnavailable, "server_error", "service_unavailable"},
  };
  for (const Case& c : cases) {
    const Json error = Inner({.kind = c.kind, .message = "m"});
    EXPECT_EQ(error["type"], c.type) << static_cast<int>(c.kind);
    EXPECT_EQ(error["code"], c.code) << static_cast<int>(c.kind);
    EXPECT_TRUE(error["param"].is_null());
  }
}

TEST(OpenAiErrorJsonTest, AModelThatIsNotThereHasItsOwnCode) {
  EXPECT_EQ(Inner({.kind = Kind::kNotFound, .message = "m", .param = "model"})["code"],
            "model_not_found");
}

TEST(OpenAiErrorJsonTest, AGivenCodeGoesFirst) {
  EXPECT_EQ(Inner({.kind = Kind::kInvalidRequest,
                   .message = "m",
                   .details_code = "previous_response_not_found"})["code"],
            "previous_response_not_found");
}

}  // namespace
}  // namespace folio
