#include "api/batch_format.h"

#include <gtest/gtest.h>

#include <string>

namespace folio {
namespace {

BatchRecord Answer(int status) {
  return {.id = "0123",
          .custom_id = "a",
          .status_code = status,
          .request_id = "req_1",
          .body = {{"model", "m"}, {"choices", {{{"model", "x"}, {"id", "y"}, {"error", 1}}}}}};
}

TEST(BatchLineTest, ARequestIsReadWhole) {
  const BatchLine line = ReadBatchLine(
      R"({"custom_id":"a","method":"POST","url":"/v1/completions","body":{"prompt":"x"},"more":1})");
  ASSERT_FALSE(line.refusal.has_value());
  EXPECT_EQ(line.custom_id, "a");
  EXPECT_EQ(line.endpoint, BatchEndpoint::kCompletions);
  EXPECT_EQ(DumpJson(line.body), R"({"prompt":"x"})");
  EXPECT_EQ(ReadBatchLine(R"({"custom_id":"a","url":"/v1/chat/completions","body":{}})").endpoint,
            BatchEndpoint::kChatCompletions);
}

TEST(BatchLineTest, ABadLineSaysWhyAndKeepsItsCustomId) {
  const auto why = [](std::string_view text) {
    const BatchLine line = ReadBatchLine(text);
    return line.refusal ? line.refusal->code + ": " + line.refusal->message : "";
  };
  EXPECT_EQ(why("{").substr(0, 13), "invalid_json:");
  EXPECT_EQ(why("[]"), "invalid_request: is a list, not an object");
  EXPECT_EQ(why(R"({"url":"/v1/completions","body":{}})"),
            "invalid_request: custom_id: is missing");
  EXPECT_EQ(why(R"({"custom_id":5,"url":"/v1/completions","body":{}})"),
            "invalid_request: custom_id: is a number, not a string");
  EXPECT_EQ(why(R"({"custom_id":"a","method":"GET","url":"/v1/completions","body":{}})"),
            "invalid_request: method: is 'GET', not POST");
  EXPECT_EQ(why(R"({"custom_id":"a","url":"/v1/embeddings","body":{}})"),
            "invalid_request: url: is '/v1/embeddings', neither /v1/chat/completions nor "
            "/v1/completions");
  EXPECT_EQ(why(R"({"custom_id":"a","url":"/v1/completions","body":"x"})"),
            "invalid_request: body: is a string, not an object");
  EXPECT_EQ(why(R"({"custom_id":"a","url":"/v1/completions"})"),
            "invalid_request: body: is missing");
  EXPECT_EQ(ReadBatchLine(R"({"custom_id":"a","url":"/v1/embeddings"})").custom_id, "a");
  EXPECT_EQ(
      why(R"({"custom_id":")" + std::string(5000, 'x') + R"(","url":"/v1/completions","body":{}})"),
      "invalid_request: custom_id: has 5000 bytes; at most 4096 are taken");
}

TEST(BatchRecordTest, IsOpenAisObject) {
  EXPECT_EQ(
      BatchRecordLine(Answer(200)),
      R"({"id":"batch_req_0123","custom_id":"a","response":{"status_code":200,"request_id":"req_1",)"
      R"("body":{"model":"m","choices":[{"model":"x","id":"y","error":1}]}},"error":null})"
      "\n");
  EXPECT_EQ(
      BatchRecordLine({.id = "1", .custom_id = {}, .body = {}, .error = BatchRefusal{"c", "w\n"}}),
      R"({"id":"batch_req_1","custom_id":null,"response":null,"error":{"code":"c","message":"w\n"}})"
      "\n");
  EXPECT_TRUE(BatchRecordLine(Answer(200)).starts_with(kBatchRecordStart));
}

TEST(BatchRecordTest, TheHeadOfWhatWasWrittenIsReadBack) {
  const auto head = ReadBatchRecord(BatchRecordLine(Answer(200)));
  ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->id, "0123");
  EXPECT_EQ(head->custom_id, "a");
  EXPECT_EQ(head->model, "m");
  EXPECT_TRUE(head->answered);
  EXPECT_FALSE(ReadBatchRecord(BatchRecordLine(Answer(400)))->answered);
  BatchRecord failed = Answer(0);
  failed.error = BatchRefusal{"c", "m"};
  EXPECT_FALSE(ReadBatchRecord(BatchRecordLine(failed))->answered);
}

TEST(BatchRecordTest, APartOfARecordIsNone) {
  const std::string line = BatchRecordLine(Answer(200));
  for (std::size_t size = 0; size + 1 < line.size(); ++size) {
    EXPECT_FALSE(ReadBatchRecord(line.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ReadBatchRecord(R"({"id":"batch_req_)" + std::string(1 << 20, '[')).has_value());
  EXPECT_FALSE(
      ReadBatchRecord(R"({"id":"batch_req_1","x":)" + std::string(1 << 20, '[')).has_value());
}

}  // namespace
}  // namespace folio
