#include "api/responses_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/encrypted_content.h"

namespace folio {
namespace {

using Kind = ReplyPiece::Kind;

constexpr const char* kRequest = R"({"model":"asked","input":"hi","tools":[
    {"type":"function","name":"f"},
    {"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]},
    {"type":"custom","name":"patch"}]})";

ResponsesRequest Request(const Json& more = Json::object()) {
  Json body = Json::parse(kRequest);
  body.update(more);
  auto request = ParseResponses(body);
  EXPECT_TRUE(request.has_value());
  return request.value_or(ResponsesRequest());
}

struct Event {
  std::string name;
  Json data;
};

// Takes SSE text apart and checks each event's lines.
std::vector<Event> Events(std::string_view text) {
  std::vector<Event> events;
  while (!text.empty()) {
    const std::size_t end = text.find("\n\n");
    const std::string_view block = text.substr(0, end);
    const std::size_t line = block.find('\n');
    EXPECT_EQ(block.substr(0, 7), "event: ");
    EXPECT_EQ(block.substr(line + 1, 6), "data: ");
    events.push_back({std::string(block.substr(7, line - 7)), Json::parse(block.substr(line + 7))});
    EXPECT_EQ(Json(events.back().name), events.back().data["type"]);
    text.remove_prefix(end + 2);
  }
  return events;
}

// A whole reply of `pieces`, each its own addition.
struct Told {
  std::string text;
  Json document;
};

Told Tell(const ResponsesRequest& request, const std::vector<ReplyPiece>& pieces,
          FinishReason reason = FinishReason::kStop) {
  ResponsesWriter writer(request);
  Told told;
  told.text = writer.Begin({.id = "1a", .model = "m", .created = 7});
  for (const ReplyPiece& piece : pieces) told.text += writer.Add(0, {.pieces = {piece}});
  told.text += writer.EndChoice(0, {.reason = reason});
  told.text += writer.Finish({.prompt_tokens = 100,
                              .cached_tokens = 64,
                              .generated_tokens = 9,
                              .reasoning_tokens = 4,
                              .created_5m_tokens = 16,
                              .created_1h_tokens = 32});
  told.document = writer.Document();
  return told;
}

// "type" or "type(delta)" of each event but the first two and the last.
std::vector<std::string> Names(const Told& told) {
  std::vector<std::string> names;
  const auto events = Events(told.text);
  for (std::size_t i = 2; i + 1 < events.size(); ++i) {
    std::string name = events[i].name.substr(std::string_view("response.").size());
    if (events[i].data.contains("delta")) {
      name += "(" + events[i].data["delta"].get<std::string>() + ")";
    }
    names.push_back(std::move(name));
  }
  return names;
}

TEST(ResponsesWriterTest, ATextIsToldEventByEvent) {
  const Told told = Tell(Request(), {{Kind::kText, "Hel"}, {Kind::kText, "lo"}});
  const auto events = Events(told.text);
  ASSERT_EQ(events.size(), 10U);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].data["sequence_number"], static_cast<int>(i));
  }
  EXPECT_EQ(events[0].name, "response.created");
  EXPECT_EQ(events[0].data["response"]["status"], "in_progress");
  EXPECT_EQ(events[0].data["response"]["id"], "resp_1a");
  EXPECT_EQ(events[0].data["response"]["usage"], nullptr);
  EXPECT_EQ(events[1].name, "response.in_progress");
  const Json inner = Json::parse(R"([
      {"type":"response.output_item.added","sequence_number":2,"output_index":0,
       "item":{"id":"msg_1a_0","type":"message","status":"in_progress",
       "role":"assistant","content":[]}},
      {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_1a_0",
       "output_index":0,"content_index":0,
       "part":{"type":"output_text","text":"",
       "annotations":[],"logprobs":[]}},
      {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1a_0",
       "output_index":0,"content_index":0,"delta":"Hel","logprobs":[]},
      {"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1a_0",
       "output_index":0,"content_index":0,"delta":"lo","logprobs":[]},
      {"type":"response.output_text.done","sequence_number":6,"item_id":"msg_1a_0",
       "output_index":0,"content_index":0,"text":"Hello","logprobs":[]},
      {"type":"response.content_part.done","sequence_number":7,"item_id":"msg_1a_0",
       "output_index":0,"content_index":0,
       "part":{"type":"output_text","text":"Hello",
       "annotations":[],"logprobs":[]}},
      {"type":"response.output_item.done","sequence_number":8,"output_index":0,
       "item":{"id":"msg_1a_0","type":"message","status":"completed",
       "role":"assistant","content":[{"type":"output_text","text":"Hello",
       "annotations":[],"logprobs":[]}]}}])");
  for (std::size_t i = 0; i < inner.size(); ++i) {
    EXPECT_EQ(DumpJson(events[i + 2].data), DumpJson(inner[i]));
  }
  EXPECT_EQ(events[9].name, "response.completed");
  EXPECT_EQ(events[9].data["response"], told.document);
}

TEST(ResponsesWriterTest, TheDocumentIsAResponse) {
  const Json document = Tell(Request({{"metadata", {{"k", "v"}}}}), {{Kind::kText, "Hi"}}).document;
  EXPECT_EQ(document["id"], "resp_1a");
  EXPECT_EQ(document["object"], "response");
  EXPECT_EQ(document["created_at"], 7);
  EXPECT_EQ(document["status"], "completed");
  EXPECT_EQ(document["model"], "m");
  EXPECT_EQ(document["error"], nullptr);
  EXPECT_EQ(document["incomplete_details"], nullptr);
  EXPECT_EQ(document["metadata"]["k"], "v");
  EXPECT_EQ(document["tools"].size(), 3U);
  EXPECT_EQ(document["output"].size(), 1U);
  EXPECT_FALSE(document.contains("prompt_cache_diagnostics"));
  EXPECT_EQ(DumpJson(document["usage"]),
            R"({"input_tokens":100,"input_tokens_details":{"cached_tokens":64,)"
            R"("cache_write_tokens":48},"output_tokens":9,"output_tokens_details":)"
            R"({"reasoning_tokens":4},"total_tokens":109})");
}

TEST(ResponsesWriterTest, DiagnosticsAreTold) {
  ResponsesWriter writer(Request());
  const auto events =
      Events(writer.Begin({.id = "1", .model = "m", .diagnostics = {{"type", "cache_hit"}}}));
  EXPECT_EQ(events[0].data["response"]["prompt_cache_diagnostics"]["type"], "cache_hit");
  writer.EndChoice(0, {});
  writer.Finish({});
  EXPECT_EQ(writer.Document()["prompt_cache_diagnostics"]["type"], "cache_hit");
}

TEST(ResponsesWriterTest, ACallIsToldInItsOwnShape) {
  const Told told = Tell(Request(), {{Kind::kCallStart, "n__g"},
                                     {Kind::kCallArguments, "{\"a\":"},
                                     {Kind::kCallArguments, " 1}"},
                                     {Kind::kCallEnd, ""},
                                     {Kind::kCallStart, "f"},
                                     {Kind::kCallArguments, "{}"},
                                     {Kind::kCallEnd, ""}});
  EXPECT_EQ(Names(told),
            (std::vector<std::string>{"output_item.added", "function_call_arguments.delta({\"a\":)",
                                      "function_call_arguments.delta( 1})",
                                      "function_call_arguments.done", "output_item.done",
                                      "output_item.added", "function_call_arguments.delta({})",
                                      "function_call_arguments.done", "output_item.done"}));
  const auto events = Events(told.text);
  EXPECT_EQ(DumpJson(events[2].data["item"]),
            R"({"id":"fc_1a_0","type":"function_call","status":"in_progress",)"
            R"("call_id":"call_1a_0","name":"g","namespace":"n","arguments":""})");
  EXPECT_EQ(DumpJson(events[5].data),
            R"({"type":"response.function_call_arguments.done","sequence_number":5,)"
            R"("item_id":"fc_1a_0","output_index":0,"name":"g","arguments":"{\"a\": 1}"})");
  EXPECT_EQ(DumpJson(told.document["output"]),
            R"([{"id":"fc_1a_0","type":"function_call","status":"completed",)"
            R"("call_id":"call_1a_0","name":"g","namespace":"n","arguments":"{\"a\": 1}"},)"
            R"({"id":"fc_1a_1","type":"function_call","status":"completed",)"
            R"("call_id":"call_1a_1","name":"f","arguments":"{}"}])");
}

TEST(ResponsesWriterTest, ACustomToolsInputIsTheTextItself) {
  const Told told = Tell(Request(), {{Kind::kCallStart, "patch"},
                                     {Kind::kCallArguments, "{\"input\": \"*** a\\"},
                                     {Kind::kCallArguments, "nb\\u00e9\"}"},
                                     {Kind::kCallEnd, ""}});
  EXPECT_EQ(Names(told),
            (std::vector<std::string>{"output_item.added", "custom_tool_call_input.delta(*** a)",
                                      "custom_tool_call_input.delta(\nbé)",
                                      "custom_tool_call_input.done", "output_item.done"}));
  EXPECT_EQ(Events(told.text)[5].data["input"], "*** a\nbé");
  EXPECT_EQ(DumpJson(told.document["output"]),
            R"([{"id":"ctc_1a_0","type":"custom_tool_call","status":"completed",)"
            R"("call_id":"call_1a_0","name":"patch","input":"*** a\nbé"}])");
}

TEST(ResponsesWriterTest, ACustomToolsInputOfAnotherFormIsToldAtTheEnd) {
  const Told told =
      Tell(Request(),
           {{Kind::kCallStart, "patch"}, {Kind::kCallArguments, "\"bare\""}, {Kind::kCallEnd, ""}});
  EXPECT_EQ(Names(told)[1], "custom_tool_call_input.delta(bare)");
  EXPECT_EQ(told.document["output"][0]["input"], "bare");
}

TEST(ResponsesWriterTest, AnUnknownToolsCallKeepsItsName) {
  const Told told = Tell(Request(), {{Kind::kCallStart, "nobody"}, {Kind::kCallEnd, ""}});
  EXPECT_EQ(told.document["output"][0]["name"], "nobody");
  EXPECT_EQ(told.document["output"][0]["type"], "function_call");
}

TEST(ResponsesWriterTest, ReasoningIsToldAsItIs) {
  const Told told =
      Tell(Request(), {{Kind::kReasoning, "h"}, {Kind::kReasoning, "m"}, {Kind::kText, "ok"}});
  EXPECT_EQ(Names(told), (std::vector<std::string>{
                             "output_item.added", "content_part.added", "reasoning_text.delta(h)",
                             "reasoning_text.delta(m)", "reasoning_text.done", "content_part.done",
                             "output_item.done", "output_item.added", "content_part.added",
                             "output_text.delta(ok)", "output_text.done", "content_part.done",
                             "output_item.done"}));
  EXPECT_EQ(DumpJson(Events(told.text)[4].data),
            R"({"type":"response.reasoning_text.delta","sequence_number":4,"item_id":"rs_1a_0",)"
            R"("output_index":0,"content_index":0,"delta":"h"})");
  EXPECT_EQ(DumpJson(told.document["output"][0]),
            R"({"id":"rs_1a_0","type":"reasoning","status":"completed","summary":[],"content":)"
            R"([{"type":"reasoning_text","text":"hm"}],"encrypted_content":"folio1.aG0"})");
}

TEST(ResponsesWriterTest, ReasoningIsToldAsASummaryWhereItIsAskedFor) {
  const Told told = Tell(Request({{"reasoning", {{"summary", "auto"}}}}),
                         {{Kind::kReasoning, "h"}, {Kind::kReasoning, "m"}});
  EXPECT_EQ(Names(told),
            (std::vector<std::string>{
                "output_item.added", "reasoning_summary_part.added",
                "reasoning_summary_text.delta(h)", "reasoning_summary_text.delta(m)",
                "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"}));
  EXPECT_EQ(DumpJson(Events(told.text)[3].data),
            R"({"type":"response.reasoning_summary_part.added","sequence_number":3,)"
            R"("item_id":"rs_1a_0","output_index":0,"summary_index":0,)"
            R"("part":{"type":"summary_text","text":""}})");
  EXPECT_EQ(DumpJson(told.document["output"][0]["summary"]),
            R"([{"type":"summary_text","text":"hm"}])");
  EXPECT_EQ(told.document["output"][0]["content"][0]["text"], "hm");
  EXPECT_EQ(told.document["output"][0]["encrypted_content"], EncryptedContent("hm"));
}

TEST(ResponsesWriterTest, LengthMakesAReplyIncomplete) {
  const Told told = Tell(Request(), {{Kind::kText, "Hel"}}, FinishReason::kLength);
  const auto events = Events(told.text);
  EXPECT_EQ(events.back().name, "response.incomplete");
  EXPECT_EQ(events[events.size() - 2].data["item"]["status"], "incomplete");
  EXPECT_EQ(told.document["status"], "incomplete");
  EXPECT_EQ(DumpJson(told.document["incomplete_details"]), R"({"reason":"max_output_tokens"})");
  EXPECT_EQ(told.document["usage"]["output_tokens"], 9);
}

TEST(ResponsesWriterTest, ACallCutShortIsNeverDone) {
  for (const char* name : {"f", "patch"}) {
    const Told told =
        Tell(Request(), {{Kind::kCallStart, name}, {Kind::kCallArguments, "{\"input\":\"rm"}},
             FinishReason::kLength);
    for (const std::string& event : Names(told)) {
      EXPECT_EQ(event.find("done"), std::string::npos) << event;
    }
    ASSERT_EQ(told.document["output"].size(), 1U);
    EXPECT_EQ(told.document["output"][0]["status"], "incomplete");
  }
}

TEST(ResponsesWriterTest, ACallThatTheModelEndedWithItsReplyIsDone) {
  const Told told = Tell(Request(), {{Kind::kCallStart, "f"}, {Kind::kCallArguments, "{}"}});
  EXPECT_EQ(Names(told).back(), "output_item.done");
  EXPECT_EQ(Events(told.text).back().name, "response.completed");
}

TEST(ResponsesWriterTest, NothingSaidIsAnEmptyMessage) {
  const Told told = Tell(Request(), {{Kind::kText, ""}});
  EXPECT_EQ(Names(told),
            (std::vector<std::string>{"output_item.added", "content_part.added", "output_text.done",
                                      "content_part.done", "output_item.done"}));
  EXPECT_EQ(told.document["output"][0]["content"][0]["text"], "");
}

TEST(ResponsesWriterTest, AKeepAliveIsANumberedEvent) {
  ResponsesWriter writer(Request());
  writer.Begin({.id = "1"});
  EXPECT_EQ(
      writer.KeepAlive("5 s left"),
      ": 5 s left\n\nevent: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":2}\n\n");
  EXPECT_EQ(Events(writer.Add(0, {.pieces = {{Kind::kText, "x"}}}))[0].data["sequence_number"], 3);
}

TEST(ResponsesWriterTest, AFailureEndsTheStreamWithItsCode) {
  const std::vector<std::pair<ApiError::Kind, std::string>> cases = {
      {ApiError::Kind::kContextOverflow, "context_length_exceeded"},
      {ApiError::Kind::kRateLimited, "rate_limit_exceeded"},
      {ApiError::Kind::kInvalidRequest, "invalid_prompt"},
      {ApiError::Kind::kInternal, "server_error"},
      {ApiError::Kind::kUnavailable, "server_error"},
  };
  for (const auto& [kind, code] : cases) {
    ResponsesWriter writer(Request());
    writer.Begin({.id = "1"});
    writer.Add(0, {.pieces = {{Kind::kReasoning, "r"}, {Kind::kText, "half"}}});
    const auto events = Events(writer.Fail({.kind = kind, .message = "why"}));
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].name, "response.failed");
    const Json& response = events[0].data["response"];
    EXPECT_EQ(response["id"], "resp_1");
    EXPECT_EQ(response["status"], "failed");
    EXPECT_EQ(DumpJson(response["error"]), R"({"code":")" + code + R"(","message":"why"})");
    ASSERT_EQ(response["output"].size(), 1U);  // what was done by then
    EXPECT_EQ(response["output"][0]["type"], "reasoning");
    EXPECT_EQ(writer.Document(), response);
  }
}

TEST(ResponsesWriterTest, AReplyThatBrokeOffIsAFailure) {
  for (const FinishReason reason : {FinishReason::kError, FinishReason::kCancelled}) {
    const Told told = Tell(Request(), {{Kind::kText, "x"}}, reason);
    EXPECT_EQ(Events(told.text).back().name, "response.failed");
    EXPECT_EQ(told.document["error"]["code"], "server_error");
  }
}

TEST(ResponsesWriterTest, LogprobsGoWithTheTextOfTheirTokens) {
  const auto entry = [](const char* token) { return Json{{"token", token}, {"logprob", -1.0}}; };
  const auto of = [](const Json& one) { return Json{{"content", Json::array({one})}}; };
  ResponsesWriter writer(Request());
  std::string text = writer.Begin({.id = "1"});
  text += writer.Add(0, {.pieces = {{Kind::kReasoning, "r"}}, .logprobs = of(entry("r"))});
  text += writer.Add(0, {.pieces = {}, .logprobs = of(entry("a"))});  // not certain yet
  text += writer.Add(0, {.pieces = {{Kind::kText, "ab"}}, .logprobs = of(entry("b"))});
  text += writer.EndChoice(0, {});
  writer.Finish({});
  Json deltas = Json::array();
  for (const Event& event : Events(text)) {
    if (event.name == "response.output_text.delta") deltas.push_back(event.data["logprobs"]);
  }
  const Json both = Json::array({entry("a"), entry("b")});
  EXPECT_EQ(deltas, Json::array({both}));
  EXPECT_EQ(writer.Document()["output"][1]["content"][0]["logprobs"], both);
}

TEST(ResponsesWriterTest, OtherChoicesAreNotTold) {
  ResponsesWriter writer(Request());
  writer.Begin({.id = "1"});
  EXPECT_EQ(writer.Add(1, {.pieces = {{Kind::kText, "x"}}}), "");
  EXPECT_EQ(writer.EndChoice(1, {}), "");
}

// Random pieces of a reply, calls whole.
std::vector<ReplyPiece> ArbitraryReply() {
  std::vector<ReplyPiece> pieces;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        pieces.push_back({Kind::kText, "text"});
        break;
      case 1:
        pieces.push_back({Kind::kReasoning, "think\n"});
        break;
      default:
        pieces.push_back({Kind::kCallStart, *rc::gen::element<std::string>("f", "n__g", "patch")});
        pieces.push_back({Kind::kCallArguments, R"({"input":"\u00e9 x"})"});
        pieces.push_back({Kind::kCallEnd, ""});
    }
  }
  return pieces;
}

// The outputs of a reply's calls, or a user's word where there is none.
void Answer(const Json& output, Json& items) {
  bool called = false;
  for (const Json& item : output) {
    if (!item.contains("call_id")) continue;
    called = true;
    const bool custom = item["type"] == "custom_tool_call";
    items.push_back({{"type", custom ? "custom_tool_call_output" : "function_call_output"},
                     {"call_id", item["call_id"]},
                     {"output", "out"}});
  }
  if (!called) items.push_back({{"role", "user"}, {"content", "next"}});
}

TEST(ResponsesWriterTest, EachTurnsMessagesAreAPrefixOfTheNextOnes) {
  rc::check([] {
    Json items = Json::array({{{"role", "user"}, {"content", "hi"}}});
    Json before = Json::array();
    for (int turn = 0; turn < 4; ++turn) {
      const ResponsesRequest request = Request({{"input", items}});
      const Json& messages = request.api.messages;
      RC_ASSERT(messages.size() > before.size());
      for (std::size_t i = 0; i < before.size(); ++i) RC_ASSERT(messages[i] == before[i]);
      before = messages;
      const Json output = Tell(request, ArbitraryReply()).document["output"];
      for (const Json& item : output) items.push_back(item);
      Answer(output, items);
    }
  });
}

TEST(ResponsesWriterTest, WhatIsSentBackIsWhatTheModelWrote) {
  const Told told = Tell(Request(), {{Kind::kReasoning, " think\n"},
                                     {Kind::kText, "ok"},
                                     {Kind::kCallStart, "n__g"},
                                     {Kind::kCallArguments, "{ \"a\":1 }"},
                                     {Kind::kCallEnd, ""}});
  Json items = told.document["output"];
  const auto request = Request({{"input", items}});
  EXPECT_EQ(DumpJson(request.api.messages),
            R"([{"role":"assistant","content":"ok","reasoning_content":" think\n","tool_calls":)"
            R"([{"id":"call_1a_2","type":"function","function":)"
            R"({"name":"n__g","arguments":"{ \"a\":1 }"}}]}])");
}

}  // namespace
}  // namespace folio
