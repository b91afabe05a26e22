#include "api/chat_completion_writer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "formats/json.h"

namespace folio {
namespace {

using Kind = ReplyPiece::Kind;

ApiRequest WithTools() {
  ApiRequest request;
  request.tools = {{.name = "f"}, {.kind = Tool::Kind::kCustom, .name = "patch"}};
  return request;
}

// The deltas' calls, in their order.
std::vector<std::string> Calls(const std::string& events) {
  std::vector<std::string> calls;
  std::size_t at = 0;
  while ((at = events.find("data: ", at)) != std::string::npos) {
    at += 6;
    const Json chunk = *ParseJson(events.substr(at, events.find('\n', at) - at));
    const Json delta = chunk["choices"][0]["delta"];
    for (const Json& call : delta.value("tool_calls", Json::array()))
      calls.push_back(DumpJson(call));
  }
  return calls;
}

TEST(ChatCompletionWriterTest, ACustomToolsTextIsToldAsItIsWritten) {
  ChatCompletionWriter writer(WithTools());
  writer.Begin({.id = "1", .model = "m"});
  EXPECT_EQ(Calls(writer.Add(0, {.pieces = {{Kind::kCallStart, "patch"},
                                            {Kind::kCallArguments, R"({"input": "a\)"},
                                            {Kind::kCallArguments, R"(nb"})"},
                                            {Kind::kCallEnd, ""}},
                                 .logprobs = {}})),
            (std::vector<std::string>{R"({"index":0,"id":"call_1_0_0","type":"custom",)"
                                      R"("custom":{"name":"patch","input":""}})",
                                      R"({"index":0,"custom":{"input":"a"}})",
                                      R"({"index":0,"custom":{"input":"\nb"}})"}));
  EXPECT_EQ(writer.Document()["choices"][0]["message"]["tool_calls"][0]["custom"]["input"], "a\nb");
}

TEST(ChatCompletionWriterTest, ACallThatWasCutLeavesNoGapInTheIndices) {
  ChatCompletionWriter writer(WithTools());
  writer.Begin({.id = "1", .model = "m"});
  const auto calls = Calls(writer.Add(0, {.pieces = {{Kind::kCallStart, "patch"},
                                                     {Kind::kCallArguments, R"({"input": "a)"},
                                                     {Kind::kCallStart, "f"}},
                                          .logprobs = {}}));
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ((*ParseJson(calls[0]))["index"], 0);
  EXPECT_EQ((*ParseJson(calls[2]))["index"], 1);
  writer.EndChoice(0, {.reason = FinishReason::kLength, .stop_string = {}});
  const Json choice = writer.Document()["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "length");
  EXPECT_EQ(choice["message"]["tool_calls"][0]["custom"]["input"], "a");
}

}  // namespace
}  // namespace folio
