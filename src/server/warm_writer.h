// What /v1/cache/warm answers: no reply, but what of the prompt was computed.
#ifndef FOLIO_SERVER_WARM_WRITER_H_
#define FOLIO_SERVER_WARM_WRITER_H_

#include <string>
#include <string_view>

#include "api/reply_writer.h"

namespace folio {

// Never streamed. {id, object, created, model, prompt_tokens, cached_tokens, computed_tokens}.
class WarmWriter final : public ReplyWriter {
 public:
  std::string Begin(const ReplyStart& start) override;
  std::string KeepAlive(std::string_view /*note*/) override { return {}; }
  std::string Add(int /*choice*/, const ReplyAddition& /*addition*/) override { return {}; }
  std::string EndChoice(int /*choice*/, const ChoiceEnd& /*end*/) override { return {}; }
  std::string Finish(const ReplyTotals& totals) override;
  std::string Fail(const ApiError& /*error*/) override { return {}; }
  Json Document() const override;

 private:
  ReplyStart start_;
  ReplyTotals totals_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_WARM_WRITER_H_
