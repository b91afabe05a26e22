// A conversation with a model: its messages, and replies whose common beginning the engine has
// cached.
#ifndef FOLIO_APPS_FOLIO_CONVERSATION_H_
#define FOLIO_APPS_FOLIO_CONVERSATION_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "folio/engine.h"
#include "text/chat_template.h"

namespace folio {

// Receives text as it becomes final.
using OnText = std::function<void(std::string_view text)>;
// True once the caller wants the work to end; asked many times a second.
using Interrupted = std::function<bool()>;

// Reads a stream of one choice to its end, or until `interrupted`. What it ended with is in the
// outcome, errors too.
Outcome ReadOutcome(Stream& stream, const OnText& on_text, const Interrupted& interrupted);
// The same; an error is the choice's.
Result<Outcome> ReadReply(Stream stream, const OnText& on_text, const Interrupted& interrupted);

class Conversation {
 public:
  explicit Conversation(Engine& engine) : engine_(engine) {}

  // The reply to `user`, with the options of `request`. What was said before an interruption stays
  // in the conversation; a turn that failed or said nothing does not.
  Result<Outcome> Reply(const std::string& user, Request request, const OnText& on_text,
                        const Interrupted& interrupted);

  // Takes the last turn back and gives its user message; empty if there is none.
  std::string Undo();
  void Reset() { turns_.clear(); }
  void SetSystem(std::string text) { system_ = std::move(text); }
  bool empty() const { return turns_.empty(); }

 private:
  Result<RenderedPrompt> Prompt() const;

  Engine& engine_;
  std::string system_;
  std::vector<ChatMessage> turns_;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_CONVERSATION_H_
