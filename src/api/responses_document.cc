#include "api/responses_document.h"

#include "api/openai_error.h"

namespace folio {
namespace {

std::string_view FailureCode(const ApiError& error) {
  switch (error.kind) {
    case ApiError::Kind::kContextOverflow:
      return "context_length_exceeded";
    case ApiError::Kind::kRateLimited:
      return "rate_limit_exceeded";
    case ApiError::Kind::kInvalidRequest:
      return "invalid_prompt";
    default:
      return "server_error";
  }
}

}  // namespace

Json ResponseJson(const ReplyStart& start, std::string_view status, const Json& output,
                  const Json& echo) {
  Json response = {{"id", "resp_" + start.id},
                   {"object", "response"},
                   {"created_at", start.created},
                   {"status", status},
                   {"background", false},
                   {"error", nullptr},
                   {"incomplete_details", nullptr},
                   {"model", start.model},
                   {"output", output},
                   {"usage", nullptr},
                   {"max_tool_calls", nullptr}};
  response.update(echo);
  if (!start.diagnostics.is_null()) response["prompt_cache_diagnostics"] = start.diagnostics;
  return response;
}

Json ResponseUsageJson(const ReplyTotals& totals) {
  return {{"input_tokens", totals.prompt_tokens},
          {"input_tokens_details",
           {{"cached_tokens", totals.cached_tokens},
            {"cache_write_tokens", totals.created_5m_tokens + totals.created_1h_tokens}}},
          {"output_tokens", totals.generated_tokens},
          {"output_tokens_details", {{"reasoning_tokens", totals.reasoning_tokens}}},
          {"total_tokens", totals.prompt_tokens + totals.generated_tokens}};
}

Json ResponseErrorJson(const ApiError& error) {
  return {{"code", FailureCode(error)}, {"message", OpenAiErrorMessage(error)}};
}

}  // namespace folio
