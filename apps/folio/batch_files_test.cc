// The two files of a batch without an engine: what is left to do after any end of an earlier run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "api/batch_format.h"
#include "folio/batch_input.h"
#include "folio/batch_output.h"

namespace folio {
namespace {

constexpr const char* kModel = "little";

std::string RequestLine(const std::string& id, const std::string& prompt = "x") {
  return R"({"custom_id":")" + id +
         R"(","method":"POST","url":"/v1/completions","body":{"prompt":")" + prompt + "\"}}\n";
}

class BatchFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) /
        (std::string("batch_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string In() const { return folder_ / "in.jsonl"; }
  std::string Out() const { return folder_ / "out.jsonl"; }
  static void Put(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string Get(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  static std::string Record(const BatchItem& item, int status = 200,
                            const std::string& model = kModel) {
    BatchRecord record{.id = item.id,
                       .custom_id = item.line.custom_id,
                       .status_code = status,
                       .body = {{"model", model}}};
    if (item.line.refusal) record.error = item.line.refusal;
    return BatchRecordLine(record);
  }
  // What a run that answers everything would write, a record a line that was to be done.
  std::vector<std::string> RunAll() {
    auto output = BatchOutput::Open(Out(), kModel);
    if (!output) return {output.error().Message()};
    auto input = BatchInput::Open(In(), *output);
    if (!input) return {input.error().Message()};
    EXPECT_TRUE(output->Repair().has_value());
    std::vector<std::string> written;
    while (true) {
      auto item = input->Next();
      EXPECT_TRUE(item.has_value());
      if (!item || !*item) return written;
      written.push_back(Record(**item));
      EXPECT_TRUE(output->Append(written.back()).has_value());
    }
  }

  std::filesystem::path folder_;
};

TEST_F(BatchFilesTest, ASecondRunHasNothingToDo) {
  Put(In(), RequestLine("a") + "\n" + RequestLine("b"));
  EXPECT_EQ(RunAll().size(), 2U);
  const std::string first = Get(Out());
  EXPECT_TRUE(RunAll().empty());
  EXPECT_EQ(Get(Out()), first);
}

TEST_F(BatchFilesTest, ACutAtAnyByteIsMended) {
  Put(In(), RequestLine("a") + RequestLine("b"));
  RunAll();
  const std::string whole = Get(Out());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    Put(Out(), whole.substr(0, cut));
    EXPECT_EQ(RunAll().size(), cut <= whole.find('\n') ? 2U : 1U) << cut;
    EXPECT_EQ(Get(Out()), whole) << cut;
  }
}

TEST_F(BatchFilesTest, FailuresAreDoneAgainAndLeaveOneRecord) {
  Put(In(), RequestLine("a") + "not json\n" + RequestLine("b") + RequestLine("c"));
  auto output = BatchOutput::Open(Out(), kModel);
  auto input = BatchInput::Open(In(), *output);
  ASSERT_TRUE(output && input);
  EXPECT_EQ(input->lines(), 4);
  std::vector<BatchItem> items;
  while (auto item = *input->Next()) items.push_back(*std::move(item));
  ASSERT_EQ(items.size(), 4U);
  for (const std::size_t i : {1, 0, 2, 3}) {
    EXPECT_TRUE(output->Append(Record(items[i], i == 2 ? 400 : 200)).has_value());
  }
  output = RuntimeError("", "", "");  // closes it
  EXPECT_EQ(RunAll().size(), 2U);
  EXPECT_EQ(Get(Out()), Record(items[0]) + Record(items[3]) + Record(items[1]) + Record(items[2]));
}

TEST_F(BatchFilesTest, AnotherFileIsNeverTouched) {
  Put(In(), RequestLine("a"));
  for (const std::string text :
       {"precious", "precious\n", "{\"id\":1}\n", "{\"id\":\"batch_req_0\"}\n"}) {
    Put(Out(), text);
    const auto said = RunAll();
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("out.jsonl: line 1: is no record"), std::string::npos) << said[0];
    EXPECT_EQ(Get(Out()), text);
  }
  std::filesystem::remove(Out());
  std::filesystem::create_hard_link(In(), Out());
  EXPECT_NE(RunAll()[0].find("is no record"), std::string::npos);
  EXPECT_EQ(Get(In()), RequestLine("a"));
}

TEST_F(BatchFilesTest, AnswersToOtherRequestsAreRefused) {
  Put(In(), RequestLine("a") + RequestLine("b"));
  RunAll();
  const std::string records = Get(Out());
  Put(In(), RequestLine("a") + RequestLine("b", "another prompt"));
  EXPECT_NE(RunAll()[0].find("out.jsonl: line 2: answers no request of"), std::string::npos);
  Put(In(), RequestLine("b"));
  EXPECT_NE(RunAll()[0].find("out.jsonl: line 1: answers no request of"), std::string::npos);
  auto other_model = BatchOutput::Open(Out(), "other");
  EXPECT_NE(other_model.error().why.find("'little', not 'other'"), std::string::npos);
  EXPECT_EQ(Get(Out()), records);
}

TEST_F(BatchFilesTest, MoreRequestsMayBeAdded) {
  Put(In(), RequestLine("a"));
  RunAll();
  Put(In(), RequestLine("new") + "  " + RequestLine("a"));
  EXPECT_EQ(RunAll().size(), 1U);
}

TEST_F(BatchFilesTest, ARepeatedCustomIdIsAnError) {
  Put(In(), RequestLine("a") + RequestLine("b") + RequestLine("a", "other") + RequestLine("a"));
  const auto records = RunAll();
  ASSERT_EQ(records.size(), 4U);
  for (const std::size_t i : {2, 3}) {
    const Json record = Json::parse(records[i]);
    EXPECT_EQ(record["error"]["code"], "duplicate_custom_id");
    EXPECT_EQ(record["custom_id"], "a");
    EXPECT_TRUE(record["response"].is_null());
  }
  EXPECT_NE(records[2].substr(0, 40), records[3].substr(0, 40));
  EXPECT_EQ(RunAll().size(), 2U);  // both again, and nothing else
}

TEST_F(BatchFilesTest, ALongLineIsAnErrorRecord) {
  Put(In(), RequestLine("a", std::string(20 << 20, 'x')) + RequestLine("b"));
  const auto records = RunAll();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(Json::parse(records[0])["error"]["code"], "line_too_long");
  EXPECT_LT(records[0].size(), 1000U);
  EXPECT_TRUE(Json::parse(records[1])["error"].is_null());
}

TEST_F(BatchFilesTest, OneProcessAtATime) {
  auto first = BatchOutput::Open(Out(), kModel);
  ASSERT_TRUE(first.has_value());
  auto second = BatchOutput::Open(Out(), kModel);
  EXPECT_EQ(second.error().why, "another batch is writing to this file");
  EXPECT_TRUE(std::filesystem::exists(Out()));
}

TEST_F(BatchFilesTest, ARunThatWroteNothingLeavesNoFile) {
  {
    EXPECT_TRUE(BatchOutput::Open(Out(), kModel).has_value());
  }
  EXPECT_FALSE(std::filesystem::exists(Out()));
  Put(Out(), "");
  {
    EXPECT_TRUE(BatchOutput::Open(Out(), kModel).has_value());
  }
  EXPECT_TRUE(std::filesystem::exists(Out()));
}

}  // namespace
}  // namespace folio
