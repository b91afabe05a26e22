#include "api/batch_format.h"

#include <array>
#include <utility>

#include "api/fields.h"

namespace folio {
namespace {

constexpr std::size_t kLongestCustomId = 4096;  // bytes
constexpr std::array<BatchEndpoint, 2> kEndpoints = {BatchEndpoint::kChatCompletions,
                                                     BatchEndpoint::kCompletions};

std::optional<std::string> ReadCustomId(Fields& fields) {
  auto id = fields.Text("custom_id");
  if (!id) {
    fields.Refuse("custom_id", "is missing");
  } else if (id->size() > kLongestCustomId) {
    fields.Refuse("custom_id", "has " + std::to_string(id->size()) + " bytes; at most " +
                                   std::to_string(kLongestCustomId) + " are taken");
    return std::nullopt;
  }
  return id;
}

void ReadEndpoint(Fields& fields, BatchEndpoint& endpoint) {
  if (const auto method = fields.Text("method"); method && *method != "POST") {
    fields.Refuse("method", "is '" + *method + "', not POST");
  }
  const auto url = fields.Text("url");
  if (!url) return fields.Refuse("url", "is missing");
  for (const BatchEndpoint candidate : kEndpoints) {
    if (*url != BatchUrl(candidate)) continue;
    endpoint = candidate;
    return;
  }
  fields.Refuse("url", "is '" + *url + "', neither /v1/chat/completions nor /v1/completions");
}

}  // namespace

std::string_view BatchUrl(BatchEndpoint endpoint) {
  return endpoint == BatchEndpoint::kCompletions ? "/v1/completions" : "/v1/chat/completions";
}

BatchLine ReadBatchLine(std::string_view text) {
  BatchLine line;
  Result<Json> json = ParseJson(text);
  if (!json) {
    line.refusal = BatchRefusal{"invalid_json", json.error().Message()};
    return line;
  }
  std::optional<Error> refusal;
  Fields fields(*json, "", refusal);
  line.custom_id = ReadCustomId(fields);
  ReadEndpoint(fields, line.endpoint);
  if (fields.Object("body") == nullptr) fields.Refuse("body", "is missing");
  if (refusal) {
    line.refusal = BatchRefusal{"invalid_request", refusal->Message()};
  } else {
    line.body = std::move((*json)["body"]);
  }
  return line;
}

std::string BatchRecordLine(const BatchRecord& record) {
  Json json = {{"id", "batch_req_" + record.id},
               {"custom_id", nullptr},
               {"response", nullptr},
               {"error", nullptr}};
  if (record.custom_id) json["custom_id"] = *record.custom_id;
  if (record.error) {
    json["error"] = {{"code", record.error->code}, {"message", record.error->message}};
  } else {
    json["response"] = {{"status_code", record.status_code},
                        {"request_id", record.request_id},
                        {"body", record.body}};
  }
  return DumpJson(json) + "\n";
}

}  // namespace folio
