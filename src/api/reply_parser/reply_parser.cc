#include "api/reply_parser/reply_parser.h"

#include <utility>

#include "api/reply_parser/call_formats.h"
#include "api/reply_parser/call_text.h"
#include "api/reply_parser/harmony.h"
#include "api/reply_parser/reasoning.h"
#include "api/reply_parser/reply_stage.h"

namespace folio {
namespace {

// A parser as callers see it, of the stages that a syntax is made of.
class StagedParser : public ReplyParser {
 public:
  explicit StagedParser(std::unique_ptr<ReplyStage> stage) : stage_(std::move(stage)) {}

  void Text(std::string_view text, std::vector<ReplyPiece>& pieces) override {
    out_.Into(pieces);
    for (const char c : text) stage_->Byte(c, out_);
  }

  void Control(std::string_view spelling, std::vector<ReplyPiece>& pieces) override {
    out_.Into(pieces);
    if (stage_->Knows(spelling)) stage_->Control(spelling, out_);
  }

  void End(std::vector<ReplyPiece>& pieces) override {
    out_.Into(pieces);
    stage_->End(out_);
  }

 private:
  std::unique_ptr<ReplyStage> stage_;
  PieceWriter out_;
};

CallFormat FormatOf(CallSyntax syntax, std::span<const Tool> tools) {
  if (tools.empty()) return {};  // calls are text
  switch (syntax) {
    case CallSyntax::kQwenXml:
      return QwenXmlFormat(tools);
    case CallSyntax::kLlama3:
      return Llama3Format(tools);
    case CallSyntax::kMistral:
      return MistralFormat();
    case CallSyntax::kGranite:
      return GraniteFormat();
    case CallSyntax::kDeepSeek:
      return DeepSeekFormat();
    case CallSyntax::kGemma:
      return GemmaFormat(tools);
    default:
      return HermesFormat();
  }
}

std::unique_ptr<ReplyStage> WithReasoning(ReasoningSyntax syntax, bool inside,
                                          std::unique_ptr<ReplyStage> next) {
  switch (syntax) {
    case ReasoningSyntax::kThink:
      return std::make_unique<Reasoning>("<think>", "</think>", inside, std::move(next));
    case ReasoningSyntax::kBracketThink:
      return std::make_unique<Reasoning>("[THINK]", "[/THINK]", inside, std::move(next));
    default:
      return next;
  }
}

}  // namespace

std::unique_ptr<ReplyParser> MakeReplyParser(const ReplySyntax& syntax, std::span<const Tool> tools,
                                             const ReplyParserOptions& options) {
  const bool strict = options.marks_are_controls && !CallMark(syntax.calls).empty();
  std::unique_ptr<ReplyStage> stage;
  if (syntax.calls == CallSyntax::kHarmony) {
    stage = std::make_unique<Harmony>(/*marks_in_text=*/!strict);
  } else {
    stage = std::make_unique<CallText>(FormatOf(syntax.calls, tools), /*opens_in_text=*/!strict);
  }
  stage = WithReasoning(syntax.reasoning, options.in_reasoning, std::move(stage));
  return std::make_unique<StagedParser>(std::move(stage));
}

}  // namespace folio
