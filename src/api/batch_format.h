// OpenAI's batch files: one JSON object a line. A request is {custom_id, method, url, body}, a
// record of what came of it {id, custom_id, response: {status_code, request_id, body}, error}.
#ifndef FOLIO_API_BATCH_FORMAT_H_
#define FOLIO_API_BATCH_FORMAT_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/json.h"

namespace folio {

// Every record's line begins with this, so that a file of records can be told from another.
inline constexpr std::string_view kBatchRecordStart = R"({"id":"batch_req_)";

// Why a line is no request that can be run; the line itself is at fault and not the engine.
struct BatchRefusal {
  std::string code;  // "invalid_json", "invalid_request", "line_too_long", "duplicate_custom_id"
  std::string message;
};

enum class BatchEndpoint { kChatCompletions, kCompletions };

struct BatchLine {
  std::optional<std::string> custom_id;  // also of a line that is refused for something else
  BatchEndpoint endpoint = BatchEndpoint::kChatCompletions;
  Json body;
  std::optional<BatchRefusal> refusal;
};

BatchLine ReadBatchLine(std::string_view text);
std::string_view BatchUrl(BatchEndpoint endpoint);  // "/v1/chat/completions"

// What one record says. `id` is without "batch_req_".
struct BatchRecord {
  std::string id;
  std::optional<std::string> custom_id;
  // Either a response ...
  int status_code = 0;
  std::string request_id;
  Json body;
  // ... or an error.
  std::optional<BatchRefusal> error;
};

// With its newline.
std::string BatchRecordLine(const BatchRecord& record);

// The part of a record that tells what has been done.
struct BatchRecordHead {
  std::string id;  // without "batch_req_"
  std::string custom_id;
  std::string model;      // that answered; empty if nothing did
  bool answered = false;  // a response with status 200
};

// An error if `line` is not one whole record. Builds nothing: a record may be large.
Result<BatchRecordHead> ReadBatchRecord(std::string_view line);

}  // namespace folio

#endif  // FOLIO_API_BATCH_FORMAT_H_
