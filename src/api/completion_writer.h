// OpenAI's completions: text_completion events, or one text_completion. The choices of several
// prompts are numbered through all of them.
#ifndef FOLIO_API_COMPLETION_WRITER_H_
#define FOLIO_API_COMPLETION_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/api_request.h"
#include "api/reply_writer.h"

namespace folio {

class CompletionWriter final : public ReplyWriter {
 public:
  explicit CompletionWriter(const ApiRequest& request);

  std::string Begin(const ReplyStart& start) override;
  std::string KeepAlive(std::string_view note) override;
  std::string Add(int choice, const ReplyAddition& addition) override;
  std::string EndChoice(int choice, const ChoiceEnd& end) override;
  std::string Finish(const ReplyTotals& totals) override;
  std::string Fail(const ApiError& error) override;
  Json Document() const override;

 private:
  struct Choice {
    std::string text;
    Json logprobs;  // null, or {tokens, token_logprobs, top_logprobs, text_offset}
    std::string finish_reason;
  };
  Json Head() const;
  std::string Chunk(int choice, const std::string& text, Json logprobs, Json finish_reason) const;

  bool stream_usage_;
  ReplyStart start_;
  std::vector<Choice> choices_;
  Json usage_;
};

}  // namespace folio

#endif  // FOLIO_API_COMPLETION_WRITER_H_
