// Anthropic's Messages as a reply: server-sent events
//
//   message_start, (content_block_start, content_block_delta*, content_block_stop)*,
//   message_delta, message_stop
//
// with pings between them, or one message. Pieces of a kind that follow one another are one block;
// each call is a block, cut short or not. A message has one choice: others are not told.
#ifndef FOLIO_API_ANTHROPIC_WRITER_H_
#define FOLIO_API_ANTHROPIC_WRITER_H_

#include <string>
#include <string_view>
#include <vector>

#include "api/anthropic_message.h"
#include "api/anthropic_request.h"
#include "api/reply_writer.h"

namespace folio {

class AnthropicWriter final : public ReplyWriter {
 public:
  explicit AnthropicWriter(const AnthropicReplyOptions& options) : options_(options) {}

  std::string Begin(const ReplyStart& start) override;
  std::string KeepAlive(std::string_view note) override;
  std::string Add(int choice, const ReplyAddition& addition) override;
  std::string EndChoice(int choice, const ChoiceEnd& end) override;
  std::string Finish(const ReplyTotals& totals) override;
  std::string Fail(const ApiError& error) override;
  Json Document() const override;

 private:
  std::string AddPiece(const ReplyPiece& piece);
  // More of a block of `kind`: of the open one, or of a new one.
  std::string AddText(AnthropicBlock::Kind kind, const std::string& text);
  std::string OpenBlock(AnthropicBlock block);
  std::string CloseBlock();  // nothing if none is open
  std::string DeltaEvent(Json delta) const;
  std::string StopReason() const;
  Json StopSequence() const;

  AnthropicReplyOptions options_;
  ReplyStart start_;
  std::vector<AnthropicBlock> blocks_;  // the last one is open if `open_`
  bool open_ = false;
  int calls_ = 0;
  ChoiceEnd end_;
  ReplyTotals totals_;
};

}  // namespace folio

#endif  // FOLIO_API_ANTHROPIC_WRITER_H_
