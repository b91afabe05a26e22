#include "server/rendered_request.h"

#include <utility>

#include "api/tool_block.h"

namespace folio {
namespace {

using Tokens = std::vector<std::int32_t>;

// Enough of a prompt's end to see what it opens.
constexpr std::size_t kEndTokens = 16;

std::string EndOf(const ServedModel& model, const Tokens& tokens) {
  const std::size_t count = std::min(tokens.size(), kEndTokens);
  std::string text;
  for (const std::int32_t token : std::span(tokens).last(count)) {
    const std::string_view bytes = model.TokenBytes(token);
    text += bytes.empty() ? model.TokenPiece(token) : bytes;
  }
  return text;
}

std::expected<Engine::Prompt, ApiError> RenderConversation(const ServedModel& model,
                                                           const ApiRequest& request) {
  Json messages = request.messages;
  Json variables = TemplateVariables(request);
  if (model.needs_tool_block()) AddToolBlock(messages, variables);
  auto prompt = model.engine().RenderChat(DumpJson(messages), DumpJson(variables));
  if (!prompt) {
    // What a template refuses is the conversation's shape; nothing to be tried again.
    ApiError error = ApiErrorOf(prompt.error());
    error.kind = ApiError::Kind::kInvalidRequest;
    error.param = "messages";
    return std::unexpected(std::move(error));
  }
  return *std::move(prompt);
}

std::expected<Engine::Prompt, ApiError> ReadPrompt(const ServedModel& model,
                                                   const ApiPrompt& prompt) {
  if (const auto* ids = std::get_if<Tokens>(&prompt)) return Engine::Prompt{.tokens = *ids};
  auto tokens = model.engine().Tokenize(std::get<std::string>(prompt));
  if (!tokens) return std::unexpected(ApiErrorOf(tokens.error()));
  return Engine::Prompt{.tokens = *std::move(tokens)};
}

std::expected<void, ApiError> CheckLength(const ServedModel& model, const Engine::Prompt& prompt) {
  const auto tokens = static_cast<std::int64_t>(prompt.tokens.size());
  const std::int64_t most = model.engine().LongestPrompt();
  if (tokens <= most) return {};
  return std::unexpected(ApiError{
      .kind = ApiError::Kind::kContextOverflow, .prompt_tokens = tokens, .limit_tokens = most});
}

// The labels are ChatTemplate::RenderWithParts'.
bool IsPartOf(std::string_view label, std::int64_t message) {
  if (message < 0) return label.starts_with("tools[");
  if (message == 0 && (label == "system" || label.starts_with("system "))) return true;
  return label.starts_with("messages[" + std::to_string(message) + "]");
}

}  // namespace

std::int64_t TokensUpTo(const Engine::Prompt& prompt, std::int64_t message) {
  const std::vector<PromptPart>& parts = prompt.parts;
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (!IsPartOf(parts[i].label, message)) continue;
    return i + 1 < parts.size() ? parts[i + 1].first_token
                                : static_cast<std::int64_t>(prompt.tokens.size());
  }
  return 0;
}

std::expected<std::int64_t, ApiError> PromptTokens(const ServedModel& model,
                                                   const ApiRequest& request,
                                                   const PromptEdit& edit) {
  auto prompt = RenderConversation(model, request);
  if (!prompt) return std::unexpected(prompt.error());
  if (edit) edit(*prompt);
  return static_cast<std::int64_t>(prompt->tokens.size());
}

std::expected<RenderedRequest, ApiError> RenderRequest(const ServedModel& model,
                                                       const ApiRequest& request,
                                                       const PromptEdit& edit) {
  RenderedRequest rendered;
  if (request.prompts.empty()) {
    auto prompt = RenderConversation(model, request);
    if (!prompt) return std::unexpected(prompt.error());
    rendered.in_reasoning =
        PromptOpensReasoning(model.syntax().reasoning, EndOf(model, prompt->tokens));
    if (edit) rendered.spliced = edit(*prompt);
    rendered.prompts.push_back(*std::move(prompt));
    for (const CacheMark& mark : request.marks) {
      rendered.mark_tokens.push_back(TokensUpTo(rendered.prompts.front(), mark.message));
    }
  }
  for (const ApiPrompt& text : request.prompts) {
    auto prompt = ReadPrompt(model, text);
    if (!prompt) return std::unexpected(prompt.error());
    rendered.prompts.push_back(*std::move(prompt));
  }
  for (const Engine::Prompt& prompt : rendered.prompts) {
    if (auto fits = CheckLength(model, prompt); !fits) return std::unexpected(fits.error());
    rendered.prompt_tokens += static_cast<std::int64_t>(prompt.tokens.size());
  }
  return rendered;
}

}  // namespace folio
