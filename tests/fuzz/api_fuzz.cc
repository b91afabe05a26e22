// Request bodies, lines of a batch and its records as anybody may send them. Each input is read as
// all of them: what is accepted must keep what the reader's header promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/batch_format.h"
#include "api/openai_reply.h"
#include "api/openai_request.h"
#include "formats/utf8.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckMessages(const folio::Json& messages) {
  Require(messages.is_array() && !messages.empty());
  for (const folio::Json& message : messages) {
    Require(message["role"].is_string() && message["role"] != "developer");
    Require(message["content"].is_string());
  }
}

void CheckRequest(const folio::Result<folio::ApiRequest>& request) {
  if (!request) {
    const folio::Error& error = request.error();
    Require(error.kind == folio::ErrorKind::kInput && !error.Message().empty());
    Require(folio::ParseJson(folio::DumpJson(folio::ErrorJson(error))).has_value());
    return;
  }
  Require(request->messages.empty() != request->prompts.empty());
  if (!request->messages.is_null()) CheckMessages(request->messages);
  const folio::SamplingParams& sampling = request->request.sampling;
  Require(sampling.temperature >= 0 && sampling.temperature <= 100);
  Require(sampling.top_p > 0 && sampling.top_p <= 1 && sampling.top_k >= 0);
  Require(request->request.choices >= 1 && request->request.max_tokens != 0);
  for (const std::string& stop : request->request.stop) Require(!stop.empty());
}

void CheckLine(std::string_view text) {
  const folio::BatchLine line = folio::ReadBatchLine(text);
  if (!line.refusal) Require(line.custom_id && line.body.is_object());
  folio::BatchRecord record{.id = "0",
                            .custom_id = line.custom_id,
                            .status_code = 200,
                            .body = line.body,
                            .error = line.refusal};
  const std::string written = folio::BatchRecordLine(record);
  Require(folio::IsValidUtf8(written) && written.find('\n') == written.size() - 1);
  // A body that nests to the limit nests past it inside a record.
  const auto head = folio::ReadBatchRecord(written);
  if (head)
    Require(head->answered == !line.refusal && head->custom_id == line.custom_id.value_or(""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto body = folio::ParseJson(text)) {
    CheckRequest(folio::ParseChatCompletion(*body));
    CheckRequest(folio::ParseCompletion(*body));
  } else {
    Require(!body.error().why.empty());
  }
  CheckLine(text);
  if (const auto head = folio::ReadBatchRecord(text)) {
    Require(text.starts_with(folio::kBatchRecordStart));
  }
  return 0;
}
