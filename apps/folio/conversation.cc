#include "folio/conversation.h"

#include <algorithm>
#include <chrono>

namespace folio {

Conversation::Conversation(LoadedModel& engine, bool reuse_prefix)
    : engine_(engine), session_(engine), reuse_prefix_(reuse_prefix) {}

Result<std::vector<TokenId>> Conversation::Prompt() const {
  const Result<ChatTemplate>& chat_template = engine_.chat_template();
  if (!chat_template) return std::unexpected(chat_template.error());
  std::vector<ChatMessage> messages;
  if (!system_.empty()) messages.push_back({.role = "system", .content = system_});
  messages.insert(messages.end(), turns_.begin(), turns_.end());
  return chat_template->Render(engine_.tokenizer(), messages, /*add_generation_prompt=*/true);
}

Result<std::int64_t> Conversation::Prefill(std::span<const TokenId> prompt,
                                           const Interrupted& interrupted) {
  if (!reuse_prefix_) session_.Truncate(0);
  const std::vector<TokenId>& held = session_.tokens();
  const auto differ = std::ranges::mismatch(prompt, held).in1;
  const auto common = static_cast<std::size_t>(differ - prompt.begin());
  if (static_cast<std::int64_t>(prompt.size()) > session_.context()) {
    return UsageError("chat", "context",
                      "the conversation has " + std::to_string(prompt.size()) +
                          " tokens, more than the " + std::to_string(session_.context()) +
                          " that fit; /undo or /reset it, or start with a larger --context");
  }
  const auto chunk = static_cast<std::size_t>(engine_.options().max_batch_tokens);
  for (std::size_t end = common + chunk; end < prompt.size(); end += chunk) {
    if (const auto done = session_.SetPrompt(prompt.first(end)); !done) return done;
    if (interrupted()) break;
  }
  return static_cast<std::int64_t>(std::min(common, prompt.size() - 1));
}

Result<Generation> Conversation::Reply(const std::string& user, const GenerateOptions& options,
                                       const OnText& on_text, const Interrupted& interrupted) {
  turns_.push_back({.role = "user", .content = user});
  const auto attempt = [&]() -> Result<Generation> {
    const auto prompt = Prompt();
    if (!prompt) return std::unexpected(prompt.error());
    const auto start = std::chrono::steady_clock::now();
    const auto cached = Prefill(*prompt, interrupted);
    const std::chrono::duration<double> prefill = std::chrono::steady_clock::now() - start;
    if (!cached) return std::unexpected(cached.error());
    if (interrupted()) {
      Generation nothing;
      nothing.finish_reason = FinishReason::kCancelled;
      return nothing;
    }
    Result<Generation> generation = Generate(session_, *prompt, options, on_text);
    if (generation) {
      generation->cached_tokens = *cached;
      generation->prefill_seconds += prefill.count();
    }
    return generation;
  };
  Result<Generation> generation = attempt();
  if (generation && !generation->text.empty()) {
    turns_.push_back({.role = "assistant", .content = generation->text});
  } else {
    turns_.pop_back();
  }
  return generation;
}

std::string Conversation::Undo() {
  if (turns_.size() < 2) return {};
  turns_.pop_back();
  std::string user = turns_.back().content;
  turns_.pop_back();
  return user;
}

}  // namespace folio
