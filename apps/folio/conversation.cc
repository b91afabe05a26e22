#include "folio/conversation.h"

#include <chrono>
#include <utility>

#include "engine/loaded_model.h"

namespace folio {
namespace {

constexpr std::chrono::milliseconds kAskEvery{50};

}  // namespace

Outcome ReadOutcome(Stream& stream, const OnText& on_text, const Interrupted& interrupted) {
  bool cancelled = false;
  while (true) {
    if (!cancelled && interrupted()) {
      stream.Cancel();
      cancelled = true;
    }
    if (!stream.Wait(kAskEvery)) continue;
    const std::optional<Delta> delta = stream.Next();
    if (!delta) return stream.outcome();
    if (!delta->text.empty() && !cancelled) on_text(delta->text);
  }
}

Result<Outcome> ReadReply(Stream stream, const OnText& on_text, const Interrupted& interrupted) {
  ReadOutcome(stream, on_text, interrupted);
  return stream.Finish();
}

Result<RenderedPrompt> Conversation::Prompt() const {
  const LoadedModel& model = engine_.model();
  const Result<ChatTemplate>& chat_template = model.chat_template();
  if (!chat_template) return std::unexpected(chat_template.error());
  std::vector<ChatMessage> messages;
  if (!system_.empty()) messages.push_back({.role = "system", .content = system_});
  messages.insert(messages.end(), turns_.begin(), turns_.end());
  auto prompt =
      chat_template->RenderWithParts(model.tokenizer(), messages, /*add_generation_prompt=*/true);
  if (prompt && static_cast<std::int64_t>(prompt->tokens.size()) >= model.plan().context) {
    return UsageError("chat", "context",
                      "the conversation has " + std::to_string(prompt->tokens.size()) +
                          " tokens, too many for the " + std::to_string(model.plan().context) +
                          " that fit; /undo or /reset it, or start with a larger --context");
  }
  return prompt;
}

Result<Outcome> Conversation::Reply(const std::string& user, Request request, const OnText& on_text,
                                    const Interrupted& interrupted) {
  turns_.push_back({.role = "user", .content = user});
  const auto attempt = [&]() -> Result<Outcome> {
    auto prompt = Prompt();
    if (!prompt) return std::unexpected(prompt.error());
    request.prompt = std::move(prompt->tokens);
    request.parts = std::move(prompt->parts);
    Result<Stream> stream = engine_.Submit(std::move(request));
    if (!stream) return std::unexpected(stream.error());
    return ReadReply(*std::move(stream), on_text, interrupted);
  };
  Result<Outcome> outcome = attempt();
  if (outcome && !outcome->choices.front().text.empty()) {
    turns_.push_back({.role = "assistant", .content = outcome->choices.front().text});
  } else {
    turns_.pop_back();
  }
  return outcome;
}

std::string Conversation::Undo() {
  if (turns_.size() < 2) return {};
  turns_.pop_back();
  std::string user = turns_.back().content;
  turns_.pop_back();
  return user;
}

}  // namespace folio
