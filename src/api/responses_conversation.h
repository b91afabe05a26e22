// Puts the items of OpenAI's Responses API together to the messages that a chat template sees
// (api/openai_messages.h). Items are finer than messages: what a model said in one go is a
// reasoning item, a message and any number of calls. They become ONE assistant message:
//
//   * it gathers reasoning, text and calls up to the next output or message of another role, so
//     that parallel calls stand together before their outputs;
//   * text ends it for what isn't a call: another text, or reasoning after text, begins a new one,
//     unless calls wait for their outputs, which must follow their message at once.
//
// So a list of items that ends with an output or with another's message gives messages that stay as
// they are, whatever items follow.
#ifndef FOLIO_API_RESPONSES_CONVERSATION_H_
#define FOLIO_API_RESPONSES_CONVERSATION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/json.h"

namespace folio {

class ResponsesConversation {
 public:
  // `role`: "system" or "user".
  void AddMessage(std::string_view role, std::string text);
  void AddAssistantText(std::string_view text);
  void AddReasoning(std::string_view text);
  // `arguments`: JSON text.
  void AddCall(std::string call_id, std::string name, std::string arguments);
  void AddOutput(std::string call_id, std::string text);

  // Where the message stands that the last item went into; -1: there is none.
  std::int64_t last_index() const;
  // All messages. Nothing may be added after it.
  Json Take();

 private:
  struct Assistant {
    std::string content;
    std::string reasoning;
    Json calls = Json::array();
    bool has_text = false;  // perhaps an empty one
  };

  void BeginAssistant(bool after_text);
  void EndAssistant();

  Json messages_ = Json::array();
  Assistant assistant_;  // while open_
  bool open_ = false;
};

}  // namespace folio

#endif  // FOLIO_API_RESPONSES_CONVERSATION_H_
