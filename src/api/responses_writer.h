// Replies in OpenAI's Responses API: a stream of events, or one response object.
//
//   response.created, response.in_progress,
//   for each item: output_item.added, its content, output_item.done,
//   response.completed | response.incomplete | response.failed
//
// Items are made of the reply's pieces as they come: a message of text, a reasoning item, a call
// of a function or of a custom tool. Every event has a `sequence_number` one higher than the last
// one's. Reasoning is shown as the client asked: as a summary, or else as reasoning_text; the item
// when it is done carries both forms that apply, and encrypted_content to be sent back.
//
// A call that the end of the reply cut short is not done: it stands as incomplete in the output of
// response.incomplete, and no client runs it. Only choice 0 is told: the API has no others.
#ifndef FOLIO_API_RESPONSES_WRITER_H_
#define FOLIO_API_RESPONSES_WRITER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/custom_tool_input.h"
#include "api/reply_writer.h"
#include "api/responses_request.h"
#include "api/tool.h"

namespace folio {

// The item that a reply is in the midst of.
struct OpenResponseItem {
  enum class Kind : std::uint8_t { kMessage, kReasoning, kFunction, kCustom };
  Kind kind = Kind::kMessage;
  Json item;         // as it was added
  std::string text;  // so far: of the message, the reasoning, the arguments or the input
  Json logprobs = Json::array();
  CustomToolInput input;  // of kCustom
};

class ResponsesWriter final : public ReplyWriter {
 public:
  explicit ResponsesWriter(const ResponsesRequest& request);

  std::string Begin(const ReplyStart& start) override;
  std::string KeepAlive(std::string_view note) override;
  std::string Add(int choice, const ReplyAddition& addition) override;
  std::string EndChoice(int choice, const ChoiceEnd& end) override;
  std::string Finish(const ReplyTotals& totals) override;
  std::string Fail(const ApiError& error) override;
  Json Document() const override { return document_; }

 private:
  using ItemKind = OpenResponseItem::Kind;

  std::string Event(std::string_view type, const Json& members);
  std::string ResponseEvent(std::string_view type);
  // Of the open item's content: item_id, output_index, then `members`.
  std::string ItemEvent(std::string_view type, const Json& members);
  std::string Open(ItemKind kind, Json item);
  std::string OpenCall(const std::string& name);
  std::string AddPiece(const ReplyPiece& piece, Json& logprobs);
  std::string AddText(ItemKind kind, const std::string& text, Json& logprobs);
  std::string AddArguments(const std::string& json);
  std::string Delta(const std::string& text, Json logprobs);
  // Ends the open item, if there is one; a call's text without its last events if it is cut.
  std::string Close(bool is_cut);
  std::string ContentDone();
  Json DoneItem(const char* status) const;
  std::string ItemId(std::string_view prefix) const;
  bool IsCall() const;
  // "output_text", "reasoning_text", "reasoning_summary_text", ...: what the events' names say.
  std::string_view ContentName() const;
  Json ContentPlace() const;
  Json ContentPart(Json text) const;

  Json echo_;
  std::vector<Tool> tools_;
  bool summary_;
  ReplyStart start_;
  Json output_ = Json::array();
  std::optional<OpenResponseItem> open_;
  Json waiting_logprobs_ = Json::array();  // of tokens whose text isn't told yet
  FinishReason reason_ = FinishReason::kStop;
  std::int64_t sequence_ = 0;
  Json document_;  // null until the end
};

}  // namespace folio

#endif  // FOLIO_API_RESPONSES_WRITER_H_
