// A conversation with a model: its messages, and replies that reuse what the session holds already.
#ifndef FOLIO_APPS_FOLIO_CONVERSATION_H_
#define FOLIO_APPS_FOLIO_CONVERSATION_H_

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/generate.h"
#include "engine/session.h"
#include "text/chat_template.h"

namespace folio {

class Conversation {
 public:
  Conversation(LoadedModel& engine, bool reuse_prefix);

  // True once the caller wants the work to end; asked between chunks of the prompt.
  using Interrupted = std::function<bool()>;

  // The reply to `user`. What was said before an interruption stays in the conversation; a turn
  // that failed or said nothing does not.
  Result<Generation> Reply(const std::string& user, const GenerateOptions& options,
                           const OnText& on_text, const Interrupted& interrupted);

  // Takes the last turn back and gives its user message; empty if there is none.
  std::string Undo();
  void Reset() { turns_.clear(); }
  void SetSystem(std::string text) { system_ = std::move(text); }
  bool empty() const { return turns_.empty(); }

 private:
  Result<std::vector<TokenId>> Prompt() const;
  // Computes the prompt up to its last chunk. Gives how many tokens the session had already; an
  // interruption leaves the rest to the next turn.
  Result<std::int64_t> Prefill(std::span<const TokenId> prompt, const Interrupted& interrupted);

  LoadedModel& engine_;
  Session session_;
  bool reuse_prefix_;
  std::string system_;
  std::vector<ChatMessage> turns_;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CONVERSATION_H_
