#include "api/anthropic_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace folio {
namespace {

using Kind = ReplyPiece::Kind;

ReplyStart Start() {
  return {.id = "7",
          .model = "m",
          .created = 5,
          .prompt_tokens = 100,
          .cached_tokens = 64,
          .diagnostics = nullptr};
}
ReplyAddition Pieces(const std::vector<ReplyPiece>& pieces) {
  return {.pieces = pieces, .logprobs = nullptr};
}

// One event as it is sent.
std::string Event(const std::string& name, const std::string& data) {
  return "event: " + name + "\ndata: " + data + "\n\n";
}
std::string BlockStart(int index, const std::string& block) {
  return Event("content_block_start", R"({"type":"content_block_start","index":)" +
                                          std::to_string(index) + R"(,"content_block":)" + block +
                                          "}");
}
std::string Delta(int index, const std::string& delta) {
  return Event("content_block_delta", R"({"type":"content_block_delta","index":)" +
                                          std::to_string(index) + R"(,"delta":)" + delta + "}");
}
std::string BlockStop(int index) {
  return Event("content_block_stop",
               R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}");
}
const std::string kTextStart = R"({"type":"text","text":""})";
const std::string kThinkingStart = R"({"type":"thinking","thinking":"","signature":""})";
std::string CallStart(const std::string& id, const std::string& name) {
  return R"({"type":"tool_use","id":")" + id + R"(","name":")" + name + R"(","input":{}})";
}

// The document of a reply of these pieces.
Json DocumentOf(const std::vector<ReplyPiece>& pieces, const ChoiceEnd& end = {},
                const ReplyTotals& totals = {}, const AnthropicReplyOptions& options = {}) {
  AnthropicWriter writer(options);
  writer.Begin(Start());
  writer.Add(0, Pieces(pieces));
  writer.EndChoice(0, end);
  writer.Finish(totals);
  return writer.Document();
}

TEST(AnthropicWriterTest, AStreamBeginsWithTheMessageAndTheMatchAtArrival) {
  AnthropicWriter writer({});
  EXPECT_EQ(writer.Begin(Start()),
            Event("message_start",
                  R"({"type":"message_start","message":{"id":"msg_7","type":"message",)"
                  R"("role":"assistant","model":"m","content":[],"stop_reason":null,)"
                  R"("stop_sequence":null,"usage":{"input_tokens":36,)"
                  R"("cache_creation_input_tokens":0,"cache_read_input_tokens":64,)"
                  R"("cache_creation":{"ephemeral_5m_input_tokens":0,)"
                  R"("ephemeral_1h_input_tokens":0},"output_tokens":0,)"
                  R"("output_tokens_details":{"thinking_tokens":0},"server_tool_use":null,)"
                  R"("service_tier":"standard"},"diagnostics":null}})"));
  EXPECT_EQ(writer.KeepAlive(""), Event("ping", R"({"type":"ping"})"));
  EXPECT_EQ(writer.KeepAlive("5 s left"), ": 5 s left\n\n" + Event("ping", R"({"type":"ping"})"));
}

TEST(AnthropicWriterTest, DiagnosticsAreTheMessages) {
  AnthropicWriter writer({});
  ReplyStart start = Start();
  start.diagnostics = {{"cache_miss_reason", {{"type", "tools_changed"}}}};
  EXPECT_NE(
      writer.Begin(start).find(R"("diagnostics":{"cache_miss_reason":{"type":"tools_changed"}}}})"),
      std::string::npos);
  EXPECT_EQ(writer.Document()["diagnostics"], start.diagnostics);
}

TEST(AnthropicWriterTest, TextIsOneBlock) {
  AnthropicWriter writer({.max_tokens = 50});
  writer.Begin(Start());
  EXPECT_EQ(writer.Add(0, Pieces({{Kind::kText, "Hel"}})),
            BlockStart(0, kTextStart) + Delta(0, R"({"type":"text_delta","text":"Hel"})"));
  EXPECT_EQ(writer.Add(0, Pieces({})), "");
  EXPECT_EQ(writer.Add(0, Pieces({{Kind::kText, ""}, {Kind::kText, "lo\n\"é\""}})),
            Delta(0, R"({"type":"text_delta","text":"lo\n\"é\""})"));
  EXPECT_EQ(writer.EndChoice(0, {}), BlockStop(0));
  EXPECT_EQ(writer.Finish({.prompt_tokens = 100, .cached_tokens = 64, .generated_tokens = 4}),
            Event("message_delta",
                  R"({"type":"message_delta","delta":{"stop_reason":"end_turn",)"
                  R"("stop_sequence":null},"usage":{"input_tokens":36,)"
                  R"("cache_creation_input_tokens":0,"cache_read_input_tokens":64,)"
                  R"("cache_creation":{"ephemeral_5m_input_tokens":0,)"
                  R"("ephemeral_1h_input_tokens":0},"output_tokens":4,)"
                  R"("output_tokens_details":{"thinking_tokens":0},"server_tool_use":null,)"
                  R"("service_tier":"standard"}})") +
                Event("message_stop", R"({"type":"message_stop"})"));
}

TEST(AnthropicWriterTest, ThinkingIsSignedBeforeItsBlockStops) {
  AnthropicWriter writer({});
  writer.Begin(Start());
  EXPECT_EQ(
      writer.Add(0,
                 Pieces({{Kind::kReasoning, "h"}, {Kind::kReasoning, "m"}, {Kind::kText, "Yes"}})),
      BlockStart(0, kThinkingStart) + Delta(0, R"({"type":"thinking_delta","thinking":"h"})") +
          Delta(0, R"({"type":"thinking_delta","thinking":"m"})") +
          Delta(0, R"({"type":"signature_delta","signature":")" + ThinkingSignature("hm", false) +
                       R"("})") +
          BlockStop(0) + BlockStart(1, kTextStart) +
          Delta(1, R"({"type":"text_delta","text":"Yes"})"));
}

TEST(AnthropicWriterTest, ASignatureIsTheThinkingsHash) {
  // sha256sum of "abc" (FIPS 180-4, B.1).
  EXPECT_EQ(ThinkingSignature("abc", false),
            "sha256-ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(AnthropicWriterTest, ThinkingThatIsNotShownIsInItsSignature) {
  AnthropicWriter writer({.omit_thinking = true});
  writer.Begin(Start());
  EXPECT_EQ(writer.Add(0, Pieces({{Kind::kReasoning, "abc"}})), BlockStart(0, kThinkingStart));
  EXPECT_EQ(writer.EndChoice(0, {}), Delta(0, R"({"type":"signature_delta","signature":")" +
                                                  ThinkingSignature("abc", true) + R"("})") +
                                         BlockStop(0));
  EXPECT_EQ(DumpJson(writer.Document()["content"][0]),
            R"({"type":"thinking","thinking":"","signature":")" + ThinkingSignature("abc", true) +
                R"("})");
}

TEST(AnthropicWriterTest, CallsAreBlocksWithIdsOfTheirOwn) {
  AnthropicWriter writer({});
  writer.Begin(Start());
  EXPECT_EQ(writer.Add(0, Pieces({{Kind::kText, "I look."},
                                  {Kind::kCallStart, "f"},
                                  {Kind::kCallArguments, R"({"a":)"},
                                  {Kind::kCallArguments, "1}"},
                                  {Kind::kCallEnd, ""},
                                  {Kind::kCallStart, "g"},
                                  {Kind::kCallEnd, ""}})),
            BlockStart(0, kTextStart) + Delta(0, R"({"type":"text_delta","text":"I look."})") +
                BlockStop(0) + BlockStart(1, CallStart("toolu_7_0", "f")) +
                Delta(1, R"({"type":"input_json_delta","partial_json":"{\"a\":"})") +
                Delta(1, R"({"type":"input_json_delta","partial_json":"1}"})") + BlockStop(1) +
                BlockStart(2, CallStart("toolu_7_1", "g")) + BlockStop(2));
  EXPECT_EQ(writer.EndChoice(0, {}), "");
  writer.Finish({});
  const Json message = writer.Document();
  EXPECT_EQ(message["stop_reason"], "tool_use");
  EXPECT_EQ(DumpJson(message["content"]),
            R"([{"type":"text","text":"I look."},)"
            R"({"type":"tool_use","id":"toolu_7_0","name":"f","input":{"a":1}},)"
            R"({"type":"tool_use","id":"toolu_7_1","name":"g","input":{}}])");
}

TEST(AnthropicWriterTest, ACallThatWasCutIsClosed) {
  AnthropicWriter writer({.max_tokens = 9});
  writer.Begin(Start());
  writer.Add(0, Pieces({{Kind::kCallStart, "f"}, {Kind::kCallArguments, R"({"a":"lon)"}}));
  EXPECT_EQ(writer.EndChoice(0, {.reason = FinishReason::kLength}), BlockStop(0));
  writer.Finish({.generated_tokens = 9});
  const Json message = writer.Document();
  EXPECT_EQ(message["stop_reason"], "max_tokens");
  EXPECT_EQ(DumpJson(message["content"][0]["input"]), "{}");
}

TEST(AnthropicWriterTest, TextBehindACallIsANewBlock) {
  const Json message = DocumentOf({{Kind::kText, "a"},
                                   {Kind::kReasoning, "b"},
                                   {Kind::kText, "c"},
                                   {Kind::kCallStart, "f"},
                                   {Kind::kCallArguments, "{}"},
                                   {Kind::kCallEnd, ""},
                                   {Kind::kText, "d"}});
  std::string kinds;
  for (const Json& block : message["content"]) kinds += block["type"].get<std::string>() + " ";
  EXPECT_EQ(kinds, "text thinking text tool_use text ");
}

TEST(AnthropicWriterTest, StopReasonsAreTheApis) {
  const std::vector<ReplyPiece> text = {{Kind::kText, "a"}};
  const Json stopped = DocumentOf(text, {.reason = FinishReason::kStop, .stop_string = "END"});
  EXPECT_EQ(stopped["stop_reason"], "stop_sequence");
  EXPECT_EQ(stopped["stop_sequence"], "END");
  EXPECT_EQ(DocumentOf(text)["stop_reason"], "end_turn");
  EXPECT_TRUE(DocumentOf(text)["stop_sequence"].is_null());
  const ChoiceEnd cut{.reason = FinishReason::kLength, .stop_string = ""};
  EXPECT_EQ(DocumentOf(text, cut, {.generated_tokens = 9}, {.max_tokens = 9})["stop_reason"],
            "max_tokens");
  EXPECT_EQ(DocumentOf(text, cut, {.generated_tokens = 8}, {.max_tokens = 9})["stop_reason"],
            "model_context_window_exceeded");
  const std::vector<ReplyPiece> call = {{Kind::kCallStart, "f"}, {Kind::kCallEnd, ""}};
  EXPECT_EQ(DocumentOf(call, cut, {.generated_tokens = 9}, {.max_tokens = 9})["stop_reason"],
            "max_tokens");
  const Json kept = DocumentOf({}, cut, {}, {.max_tokens = 0});
  EXPECT_EQ(kept["stop_reason"], "max_tokens");
  EXPECT_EQ(DumpJson(kept["content"]), "[]");
}

TEST(AnthropicWriterTest, UsageAddsUpToThePrompt) {
  const auto usage = [](const ReplyTotals& totals) {
    const Json json = AnthropicUsageJson(totals);
    return std::vector<int>{json["input_tokens"], json["cache_read_input_tokens"],
                            json["cache_creation_input_tokens"],
                            json["cache_creation"]["ephemeral_5m_input_tokens"],
                            json["cache_creation"]["ephemeral_1h_input_tokens"]};
  };
  EXPECT_EQ(usage({.prompt_tokens = 100,
                   .cached_tokens = 32,
                   .created_5m_tokens = 16,
                   .created_1h_tokens = 32}),
            (std::vector<int>{20, 32, 48, 16, 32}));
  EXPECT_EQ(usage({.prompt_tokens = 100, .cached_tokens = 96}), (std::vector<int>{4, 96, 0, 0, 0}));
  // Whatever is said, the parts are the prompt's.
  EXPECT_EQ(usage({.prompt_tokens = 100,
                   .cached_tokens = 90,
                   .created_5m_tokens = 5,
                   .created_1h_tokens = 90}),
            (std::vector<int>{0, 90, 10, 0, 10}));
  EXPECT_EQ(usage({.prompt_tokens = 10, .cached_tokens = 11, .created_5m_tokens = -1}),
            (std::vector<int>{0, 10, 0, 0, 0}));
  const Json json = AnthropicUsageJson({.generated_tokens = 7, .reasoning_tokens = 5});
  EXPECT_EQ(json["output_tokens"], 7);
  EXPECT_EQ(json["output_tokens_details"]["thinking_tokens"], 5);
}

TEST(AnthropicWriterTest, ADocumentIsTheWholeMessage) {
  EXPECT_EQ(
      DumpJson(DocumentOf({{Kind::kText, "Hello"}}, {},
                          {.prompt_tokens = 100, .cached_tokens = 96, .generated_tokens = 2})),
      R"({"id":"msg_7","type":"message","role":"assistant","model":"m",)"
      R"("content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn",)"
      R"("stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":0,)"
      R"("cache_read_input_tokens":96,"cache_creation":{"ephemeral_5m_input_tokens":0,)"
      R"("ephemeral_1h_input_tokens":0},"output_tokens":2,)"
      R"("output_tokens_details":{"thinking_tokens":0},"server_tool_use":null,)"
      R"("service_tier":"standard"},"diagnostics":null})");
}

TEST(AnthropicWriterTest, AFailureIsAnEvent) {
  AnthropicWriter writer({});
  writer.Begin(Start());
  writer.Add(0, Pieces({{Kind::kText, "Hel"}}));
  EXPECT_EQ(writer.Fail({.kind = ApiError::Kind::kUnavailable, .message = "draining"}),
            Event("error", R"({"type":"error","error":{"type":"overloaded_error",)"
                           R"("message":"draining"}})"));
}

TEST(AnthropicWriterTest, OtherChoicesAreNotTold) {
  AnthropicWriter writer({});
  writer.Begin(Start());
  EXPECT_EQ(writer.Add(1, Pieces({{Kind::kText, "x"}})), "");
  writer.Add(0, Pieces({{Kind::kText, "a"}}));
  EXPECT_EQ(writer.EndChoice(1, {}), "");
  EXPECT_EQ(writer.EndChoice(0, {}), BlockStop(0));
  EXPECT_EQ(writer.Document()["content"].size(), 1U);
}

}  // namespace
}  // namespace folio
