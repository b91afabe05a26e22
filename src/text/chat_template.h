// Chat templates (Jinja, as Hugging Face renders them) through `minijinja` behind bridge/.
#ifndef FOLIO_TEXT_CHAT_TEMPLATE_H_
#define FOLIO_TEXT_CHAT_TEMPLATE_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "folio/prompt_part.h"
#include "text/tokenizer.h"

namespace folio {

struct ChatMessage {
  std::string role;  // "system", "user", "assistant", "tool"
  std::string content;
};

struct RenderedPrompt {
  std::vector<TokenId> tokens;
  std::vector<PromptPart> parts;  // the first at token 0
};

// A template that compiled and passed its trial (a forked helper with CPU, memory and output
// limits).
class ChatTemplate {
 public:
  // The template of the model file; an error if it has none or if it fails its trial.
  static Result<ChatTemplate> FromModel(const ModelFile& file, const Tokenizer& tokenizer);
  static Result<ChatTemplate> FromFile(const std::string& path, const Tokenizer& tokenizer);
  static Result<ChatTemplate> FromSource(std::string_view source, const std::string& name,
                                         const Tokenizer& tokenizer);
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // The conversation as tokens. `messages_json` is a JSON array of message objects, `extra_json` an
  // object of further template variables (tools, documents, flags) or empty. Control tokens come
  // from the template only: spellings in callers' values stay text. Arguments of tool calls given
  // as JSON text become objects, and lists of text parts become text where the template can't take
  // lists. BOS is put first where the model wants it and the template doesn't write it. Thread
  // safe.
  Result<std::vector<TokenId>> Render(const Tokenizer& tokenizer, std::string_view messages_json,
                                      std::string_view extra_json,
                                      bool add_generation_prompt) const;
  Result<std::vector<TokenId>> Render(const Tokenizer& tokenizer,
                                      const std::vector<ChatMessage>& messages,
                                      bool add_generation_prompt) const;
  // Render's tokens, and which message, tool, variable or system prompt they belong to. A message
  // with several values has a part for each: its content, "... tool_calls". Found by rendering
  // again with the values marked, so it takes about three times as long; exact where the template
  // prints a value as it is, trimmed or as JSON. Where it transforms it, the borders of its part
  // may be a few words off; where it looks into values too closely for marks, only turns are told
  // apart, and "prompt" is the part of a text of which nothing is known.
  Result<RenderedPrompt> RenderWithParts(const Tokenizer& tokenizer, std::string_view messages_json,
                                         std::string_view extra_json,
                                         bool add_generation_prompt) const;
  Result<RenderedPrompt> RenderWithParts(const Tokenizer& tokenizer,
                                         const std::vector<ChatMessage>& messages,
                                         bool add_generation_prompt) const;
  // As the model's author wrote it.
  const std::string& source() const;

  // The text only, as Hugging Face's apply_chat_template(tokenize=False) gives it, with nothing
  // about the conversation changed: for people to read and for tests, not to be tokenised.
  Result<std::string> RenderText(std::string_view messages_json, std::string_view extra_json,
                                 bool add_generation_prompt) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace folio

#endif  // FOLIO_TEXT_CHAT_TEMPLATE_H_
