// The input items of OpenAI's Responses API, read one after the other into a conversation
// (api/responses_conversation.h says how items become messages) and the tools that come with them:
//   * messages of user, assistant, system (developer is the same), with a text or parts of text;
//   * function_call and custom_tool_call, and their outputs; a custom tool's call is a function's
//     with the argument "input", and one of a namespace is called SPACE__NAME;
//   * reasoning: our own encrypted_content, else the content, else the summary;
//   * additional_tools: more tools;
//   * all other types are left out, with a note, and so are outputs of calls left out.
// Ids but call_id, status and phase never get into the messages. Images and files are refused, or
// replaced by a note to the model.
#ifndef FOLIO_API_RESPONSES_ITEMS_H_
#define FOLIO_API_RESPONSES_ITEMS_H_

#include <optional>
#include <string>
#include <vector>

#include "api/api_request.h"
#include "api/fields.h"
#include "api/responses_conversation.h"
#include "api/responses_tools.h"

namespace folio {

class ResponsesItems {
 public:
  struct Options {
    bool drop_media = false;  // else media is refused
    // Of marks that don't say it.
    CacheRetention retention = CacheRetention::k1Hour;
  };

  // Both must outlive this.
  ResponsesItems(Options options, ResponsesTools& tools, std::optional<Error>& refusal)
      : options_(options), tools_(&tools), refusal_(&refusal) {}

  void AddInstructions(std::string text) { conversation_.AddMessage("system", std::move(text)); }
  void Add(const Json& item, const std::string& path);

  Json TakeMessages() { return conversation_.Take(); }
  // At most four, the last ones.
  std::vector<CacheMark> TakeMarks();

 private:
  void AddMessage(Fields& item);
  void AddCall(Fields& item, bool custom);
  void AddOutput(Fields& item);
  void AddReasoning(Fields& item);
  void LeaveOut(Fields& item, const std::string& type);
  // A content or output: a string or a list of parts.
  std::string TextOf(Fields& item, std::string_view name);
  std::string PartText(const Json& part, const std::string& path);
  std::string MediaText(Fields& part, const std::string& type);
  void ReadMark(Fields& part);
  void Mark();

  Options options_;
  ResponsesTools* tools_;
  std::optional<Error>* refusal_;
  ResponsesConversation conversation_;
  std::vector<CacheMark> marks_;
  std::optional<CacheRetention> mark_;  // of the item being read
  std::vector<std::string> left_out_calls_;
};

// {id, type: "item_reference"}, the type perhaps left out.
bool IsItemReference(const Json& item);

// Of "30m" and "12h": the shortest of ours that is as long. Nothing for other texts.
std::optional<CacheRetention> RetentionOf(std::string_view ttl);

}  // namespace folio

#endif  // FOLIO_API_RESPONSES_ITEMS_H_
