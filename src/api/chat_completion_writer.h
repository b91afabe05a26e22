// OpenAI's chat completions: chat.completion.chunk events, or one chat.completion.
#ifndef FOLIO_API_CHAT_COMPLETION_WRITER_H_
#define FOLIO_API_CHAT_COMPLETION_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/api_request.h"
#include "api/custom_tool_input.h"
#include "api/reply_writer.h"

namespace folio {

class ChatCompletionWriter final : public ReplyWriter {
 public:
  explicit ChatCompletionWriter(const ApiRequest& request);

  std::string Begin(const ReplyStart& start) override;
  std::string KeepAlive(std::string_view note) override;
  std::string Add(int choice, const ReplyAddition& addition) override;
  std::string EndChoice(int choice, const ChoiceEnd& end) override;
  std::string Finish(const ReplyTotals& totals) override;
  std::string Fail(const ApiError& error) override;
  Json Document() const override;

 private:
  struct Call {
    std::string name;  // the model's
    bool custom = false;
    std::string arguments;  // so far: JSON, or a custom tool's text
    CustomToolInput input;  // of a custom tool
    bool whole = false;
  };
  struct Choice {
    std::string text;
    std::string reasoning;
    std::vector<Call> calls;
    Json logprobs;  // null, or {content, refusal}
    std::string finish_reason;
  };

  Json Head(const char* object) const;
  Json ChunkChoice(int choice, Json delta) const;
  std::string Chunk(Json choice) const;
  // The delta that tells a piece; null where there is none.
  Json Tell(Choice& choice, const ReplyPiece& piece);
  // What it adds to the choice's last call: more of its arguments.
  Json TellCall(Choice& choice, const ReplyPiece& piece);
  std::string CallId(const Choice& choice, std::size_t call) const;
  Json CallJson(const Choice& choice, std::size_t call) const;
  Json Message(const Choice& choice) const;

  std::vector<Tool> tools_;
  bool stream_usage_;
  ReplyStart start_;
  std::vector<Choice> choices_;
  Json usage_;
};

// {prompt_tokens, completion_tokens, total_tokens, and their details}, of both completions.
Json CompletionUsage(const ReplyTotals& totals);

}  // namespace folio

#endif  // FOLIO_API_CHAT_COMPLETION_WRITER_H_
