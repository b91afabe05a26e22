#include "api/responses_request.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace folio {
namespace {

Json Body(const std::string& members) { return Json::parse("{" + members + "}"); }

Result<ResponsesRequest> Parse(const std::string& members) { return ParseResponses(Body(members)); }

Result<ResponsesRequest> Items(const std::string& items) { return Parse("\"input\":" + items); }

std::string Refusal(const Result<ResponsesRequest>& result) {
  return result ? "" : result.error().Message();
}

// The messages as JSON text, or the refusal.
std::string Messages(const std::string& items) {
  const auto request = Items(items);
  return request ? DumpJson(request->api.messages) : Refusal(request);
}

TEST(ParseResponsesTest, AStringIsWhatTheUserSays) {
  const auto request = Parse(R"("model":"m","input":"hi","instructions":"Be kind.")");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(request->api.model, "m");
  EXPECT_EQ(DumpJson(request->api.messages),
            R"([{"role":"system","content":"Be kind."},{"role":"user","content":"hi"}])");
  EXPECT_EQ(DumpJson(request->items), R"([{"type":"message","role":"user","content":"hi"}])");
  EXPECT_TRUE(request->store);
  EXPECT_FALSE(request->api.stream);
  EXPECT_EQ(request->api.request.max_tokens, -1);
}

TEST(ParseResponsesTest, MessagesHaveAnyRoleAnywhere) {
  EXPECT_EQ(Messages(R"([
      {"type":"message","id":"msg_1","role":"developer","content":[
          {"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]},
      {"role":"user","content":"c"},
      {"type":"message","id":"msg_2","status":"completed","role":"assistant","phase":"final_answer",
       "content":[{"type":"output_text","text":"d","annotations":[],"logprobs":[]},
                  {"type":"refusal","refusal":"e"}]},
      {"role":"system","content":[{"type":"text","text":"f"}]},
      {"role":"user","content":""}])"),
            R"([{"role":"system","content":"ab"},{"role":"user","content":"c"},)"
            R"({"role":"assistant","content":"de"},{"role":"system","content":"f"},)"
            R"({"role":"user","content":""}])");
}

TEST(ParseResponsesTest, WhatTheModelSaidInOneGoIsOneMessage) {
  EXPECT_EQ(Messages(R"([
      {"role":"user","content":"go"},
      {"type":"reasoning","id":"rs_1","summary":[],"content":[
          {"type":"reasoning_text","text":"hm"}]},
      {"type":"message","role":"assistant","content":"ok"},
      {"type":"function_call","id":"fc_1","status":"completed","call_id":"c1","name":"f",
       "arguments":"{\"a\": 1}"},
      {"type":"function_call","call_id":"c2","name":"g","namespace":"space","arguments":"{}"},
      {"type":"function_call_output","id":"fco_1","call_id":"c1","output":"one"},
      {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"t"},
                                                             {"type":"input_text","text":"wo"}]},
      {"type":"message","role":"assistant","content":"done"}])"),
            R"([{"role":"user","content":"go"},)"
            R"({"role":"assistant","content":"ok","reasoning_content":"hm","tool_calls":[)"
            R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}},)"
            R"({"id":"c2","type":"function","function":{"name":"space__g","arguments":"{}"}}]},)"
            R"({"role":"tool","content":"one","tool_call_id":"c1"},)"
            R"({"role":"tool","content":"two","tool_call_id":"c2"},)"
            R"({"role":"assistant","content":"done"}])");
}

TEST(ParseResponsesTest, TextEndsAMessageButForCalls) {
  EXPECT_EQ(Messages(R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},
      {"type":"reasoning","summary":[{"type":"summary_text","text":"r"}]},
      {"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
      {"role":"assistant","content":"c"},{"role":"assistant","content":"d"},
      {"type":"function_call_output","call_id":"1","output":""}])"),
            R"([{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},)"
            R"({"role":"assistant","content":"cd","reasoning_content":"r","tool_calls":[)"
            R"({"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},)"
            R"({"role":"tool","content":"","tool_call_id":"1"}])");
}

TEST(ParseResponsesTest, ACustomToolsCallIsAFunctionsOfOneInput) {
  EXPECT_EQ(Messages(R"([
      {"type":"custom_tool_call","id":"ctc_1","status":"completed","call_id":"c","name":"patch",
       "input":"*** \"x\"\n"},
      {"type":"custom_tool_call_output","id":"ctco_1","call_id":"c","output":"fine"}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function",)"
            R"("function":{"name":"patch","arguments":"{\"input\":\"*** \\\"x\\\"\\n\"}"}}]},)"
            R"({"role":"tool","content":"fine","tool_call_id":"c"}])");
}

TEST(ParseResponsesTest, ReasoningIsOursElseTheContentElseTheSummary) {
  const auto reasoning = [](const std::string& members) {
    const auto request = Items(R"([{"role":"user","content":""},{"type":"reasoning",)" + members +
                               R"(},{"role":"assistant","content":"x"}])");
    return request ? request->api.messages.back().value("reasoning_content", "none") : "refused";
  };
  const std::string summary = R"("summary":[{"type":"summary_text","text":"s"},
      {"type":"summary_text","text":"t"}])";
  EXPECT_EQ(reasoning(summary + R"(,"encrypted_content":"folio1.TWFu",
      "content":[{"type":"reasoning_text","text":"Ma"}])"),
            "Man");
  EXPECT_EQ(reasoning(summary + R"(,"encrypted_content":"ENC==",
      "content":[{"type":"reasoning_text","text":"Ma"}])"),
            "Ma");
  EXPECT_EQ(reasoning(summary + R"(,"content":null,"encrypted_content":"ENC==")"), "s\n\nt");
  EXPECT_EQ(reasoning(R"("summary":[],"encrypted_content":"ENC==")"), "none");
}

TEST(ParseResponsesTest, WhatCannotRunHereIsLeftOutWithANote) {
  const auto request = Parse(R"("input":[
      {"role":"user","content":"go"},
      {"type":"web_search_call","id":"ws_1","status":"completed"},
      {"type":"local_shell_call","id":"ls_1","call_id":"c","action":{},"status":"completed"},
      {"type":"function_call_output","call_id":"c","output":"gone"},
      {"type":"something_new","data":5}],
    "tools":[{"type":"web_search","external_web_access":true},
      {"type":"function","name":"f"},{"type":"local_shell"},{"type":"image_generation"},
      {"type":"tool_search","execution":"client","parameters":{}},{"type":"mcp","server_label":"x"},
      {"type":"namespace","name":"n","tools":[{"type":"odd"}]}])");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(DumpJson(request->api.messages), R"([{"role":"user","content":"go"}])");
  ASSERT_EQ(request->api.tools.size(), 1U);
  EXPECT_EQ(
      request->api.notes,
      (std::vector<std::string>{
          "tools[0]: 'web_search' can't run here: left out",
          "tools[2]: 'local_shell' can't run here: left out",
          "tools[3]: 'image_generation' can't run here: left out",
          "tools[4]: 'tool_search' can't run here: left out",
          "tools[5]: 'mcp' can't run here: left out",
          "tools[6].tools[0]: 'odd' can't run here: left out",
          "input[1]: 'web_search_call' left out", "input[2]: 'local_shell_call' left out",
          "input[3]: 'output of a call left out' left out", "input[4]: 'something_new' left out"}));
}

TEST(ParseResponsesTest, ToolsAreFunctionsCustomOnesAndNamespaces) {
  const auto request = Parse(R"("input":"x","tools":[
      {"type":"function","name":"f","description":"d","strict":true,
       "parameters":{"type":"object","properties":{}}},
      {"type":"namespace","name":"agents","description":"n","tools":[
          {"type":"function","name":"spawn","strict":false,"parameters":null}]},
      {"type":"custom","name":"patch","format":
          {"type":"grammar","syntax":"lark","definition":"start: /x/"}},
      {"type":"custom","name":"re","format":
          {"type":"grammar","syntax":"regex","definition":"x+"}},
      {"type":"custom","name":"any","format":{"type":"text"}},
      {"type":"custom","name":"odd","format":{"type":"grammar","syntax":"ebnf"}},
      {"type":"function","name":"f","description":"later"}])");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  const std::vector<Tool>& tools = request->api.tools;
  ASSERT_EQ(tools.size(), 6U);
  EXPECT_EQ(tools[0].description, "later");  // in the first one's place
  EXPECT_FALSE(tools[0].strict);
  EXPECT_EQ(tools[1].ModelName(), "agents__spawn");
  EXPECT_TRUE(tools[1].parameters.is_null());
  EXPECT_EQ(tools[2].kind, Tool::Kind::kCustom);
  EXPECT_EQ(tools[2].grammar, "start: /x/");
  EXPECT_FALSE(tools[2].grammar_is_regex);
  EXPECT_EQ(tools[3].grammar, "x+");
  EXPECT_TRUE(tools[3].grammar_is_regex);
  EXPECT_EQ(tools[4].grammar, "");
  EXPECT_EQ(tools[5].grammar, "");
  EXPECT_EQ(request->api.notes.size(), 1U);
  EXPECT_TRUE(Parse(R"("input":"x","tools":[{"type":"function","name":"f","strict":true}])")
                  ->api.tools[0]
                  .strict);
}

TEST(ParseResponsesTest, AdditionalToolsComeWithTheItems) {
  const auto request = Parse(R"("input":[
      {"type":"additional_tools","role":"developer","tools":[
          {"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},
          {"type":"web_search"}]},
      {"role":"user","content":"go"}],"tool_choice":{"type":"function","name":"f"})");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  ASSERT_EQ(request->api.tools.size(), 1U);
  EXPECT_EQ(request->api.tool_choice.name, "n__f");
  EXPECT_EQ(request->api.notes[0], "input[0].tools[1]: 'web_search' can't run here: left out");
  EXPECT_EQ(request->api.messages.size(), 1U);
}

constexpr const char* kTwoTools = R"("input":"x","tools":[{"type":"function","name":"f"},
    {"type":"namespace","name":"n","tools":[{"type":"function","name":"f"},
                                           {"type":"custom","name":"g"}]},{"type":"web_search"}],
    "tool_choice":)";

Result<ResponsesRequest> Choice(const std::string& choice) { return Parse(kTwoTools + choice); }

TEST(ParseResponsesTest, AToolIsChosenByItsName) {
  using Kind = ToolChoice::Kind;
  EXPECT_EQ(Choice(R"("auto")")->api.tool_choice.kind, Kind::kAuto);
  EXPECT_EQ(Choice("null")->api.tool_choice.kind, Kind::kAuto);
  EXPECT_EQ(Choice(R"("none")")->api.tool_choice.kind, Kind::kNone);
  EXPECT_EQ(Choice(R"("required")")->api.tool_choice.kind, Kind::kRequired);
  const auto named = Choice(R"({"type":"function","name":"f"})");
  EXPECT_EQ(named->api.tool_choice.kind, Kind::kNamed);
  EXPECT_EQ(named->api.tool_choice.name, "f");
  EXPECT_EQ(Choice(R"({"type":"function","name":"f","namespace":"n"})")->api.tool_choice.name,
            "n__f");
  EXPECT_EQ(Choice(R"({"type":"custom","name":"g"})")->api.tool_choice.name, "n__g");
  EXPECT_EQ(Refusal(Choice(R"({"type":"function","name":"h"})")),
            "tool_choice.name: is 'h', none of the tools");
  EXPECT_EQ(Refusal(Choice(R"({"type":"function"})")), "tool_choice.name: is missing");
  EXPECT_EQ(Refusal(Choice("5")), "tool_choice: is a number, not a string or an object");
  EXPECT_EQ(Refusal(Choice(R"("maybe")")), "tool_choice: is 'maybe': none of auto, none, required");
}

TEST(ParseResponsesTest, AllowedToolsAreNamedWhileAllAreSeen) {
  const auto request = Choice(R"({"type":"allowed_tools","mode":"required","tools":[
      {"type":"function","name":"f"},{"type":"custom","name":"g"},{"type":"web_search"}]})");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(request->api.tool_choice.kind, ToolChoice::Kind::kRequired);
  EXPECT_EQ(request->api.tool_choice.allowed, (std::vector<std::string>{"f", "n__g"}));
  EXPECT_EQ(request->api.tools.size(), 3U);
  EXPECT_EQ(Choice(R"({"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp"}]})")
                ->api.tool_choice.kind,
            ToolChoice::Kind::kNone);
  EXPECT_EQ(Refusal(Choice(R"({"type":"allowed_tools","mode":"auto"})")),
            "tool_choice.tools: is missing");
}

TEST(ParseResponsesTest, AToolThatCannotBeForcedIsTheModelsChoice) {
  const auto request = Choice(R"({"type":"web_search"})");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(request->api.tool_choice.kind, ToolChoice::Kind::kAuto);
  EXPECT_EQ(request->api.notes.back(),
            "tool_choice: 'web_search' can't run here: the model chooses");
  const auto left_out =
      Parse(R"("input":"x","tools":[{"type":"web_search"}],"tool_choice":"required")");
  ASSERT_TRUE(left_out.has_value()) << Refusal(left_out);
  EXPECT_EQ(left_out->api.tool_choice.kind, ToolChoice::Kind::kAuto);
  EXPECT_EQ(Refusal(Parse(R"("input":"x","tool_choice":"required")")),
            "tool_choice: is required, of no tools");
}

TEST(ParseResponsesTest, MediaIsRefusedOrReplacedByANote) {
  const std::string members = R"("input":[{"role":"user","content":[
      {"type":"input_text","text":"see "},{"type":"input_image","image_url":"data:x"}]},
      {"type":"function_call_output","call_id":"c","output":[
          {"type":"input_file","file_data":"x"}]}])";
  EXPECT_EQ(Refusal(Parse(members)),
            "input[0].content[1].type: is 'input_image': only text is read, no images, audio or "
            "files");
  const auto dropped = ParseResponses(Body(members), {.drop_media = true});
  ASSERT_TRUE(dropped.has_value()) << Refusal(dropped);
  EXPECT_EQ(DumpJson(dropped->api.messages),
            R"([{"role":"user","content":"see [image left out: only text is read here]"},)"
            R"({"role":"tool","content":"[file left out: only text is read here]",)"
            R"("tool_call_id":"c"}])");
  EXPECT_EQ(dropped->api.notes,
            (std::vector<std::string>{"input[0].content[1]: 'input_image' replaced by a note",
                                      "input[1].output[0]: 'input_file' replaced by a note"}));
}

TEST(ParseResponsesTest, SettingsAreRead) {
  const auto request = Parse(R"("input":"x","stream":true,"store":false,"max_output_tokens":7,
      "temperature":0.5,"top_p":0.25,"top_logprobs":3,"parallel_tool_calls":false,
      "include":["message.output_text.logprobs","reasoning.encrypted_content"],
      "prompt_cache_key":"k","prompt_cache_retention":"24h","n":5,
      "reasoning":{"effort":"high","summary":"auto","context":"all_turns"},
      "text":{"verbosity":"low","format":{"type":"json_schema","name":"s","strict":true,
              "schema":{"type":"object"}}},
      "previous_response_id":null,"client_metadata":{"a":[1]},"unknown":{"b":2})");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  const ApiRequest& api = request->api;
  EXPECT_TRUE(api.stream);
  EXPECT_FALSE(request->store);
  EXPECT_TRUE(request->summary);
  EXPECT_EQ(api.request.max_tokens, 7);
  EXPECT_EQ(api.request.choices, 1);  // the API has no n
  EXPECT_FLOAT_EQ(api.request.sampling.temperature, 0.5F);
  EXPECT_FLOAT_EQ(api.request.sampling.top_p, 0.25F);
  EXPECT_EQ(api.request.sampling.logprobs, 3);
  EXPECT_FALSE(api.parallel_tool_calls);
  EXPECT_EQ(api.session, "k");
  EXPECT_EQ(api.request.retention, CacheRetention::k24Hours);
  EXPECT_EQ(DumpJson(api.variables), R"({"reasoning_effort":"high"})");
  EXPECT_EQ(api.format.kind, ReplyFormat::Kind::kJsonSchema);
  EXPECT_EQ(api.format.name, "s");
  EXPECT_EQ(DumpJson(api.format.schema), R"({"type":"object"})");
}

TEST(ParseResponsesTest, EffortNoneIsNoThinking) {
  EXPECT_EQ(DumpJson(Parse(R"("input":"x","reasoning":{"effort":"none"})")->api.variables),
            R"({"enable_thinking":false})");
  EXPECT_EQ(DumpJson(Parse(R"("input":"x","reasoning":{"effort":"low"},
      "chat_template_kwargs":{"reasoning_effort":"own"})")
                         ->api.variables),
            R"({"reasoning_effort":"own"})");
}

TEST(ParseResponsesTest, LogprobsAreAskedForEitherWay) {
  EXPECT_EQ(Parse(R"("input":"x")")->api.request.sampling.logprobs, std::nullopt);
  EXPECT_EQ(Parse(R"("input":"x","top_logprobs":0)")->api.request.sampling.logprobs, std::nullopt);
  EXPECT_EQ(Parse(R"("input":"x","include":["message.output_text.logprobs"])")
                ->api.request.sampling.logprobs,
            0);
}

TEST(ParseResponsesTest, BreakpointsMarkTheirMessages) {
  const auto request = Parse(R"("instructions":"i","prompt_cache_options":{"ttl":"12h",
      "mode":"explicit","comparison_response_id":"resp_1"},"input":[
      {"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":
          {"mode":"explicit","ttl":"30m"}},{"type":"input_text","text":"b"}]},
      {"role":"assistant","content":[{"type":"output_text","text":"c","prompt_cache_breakpoint":
          {"mode":"explicit"}}]},
      {"role":"user","content":"d"}])");
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(request->api.marks,
            (std::vector<CacheMark>{{.message = 1, .retention = CacheRetention::k1Hour},
                                    {.message = 2, .retention = CacheRetention::k24Hours}}));
  EXPECT_EQ(request->comparison_response_id, "resp_1");
  EXPECT_EQ(request->api.request.retention, CacheRetention::kNone);
  EXPECT_EQ(Parse(R"("input":"x","prompt_cache_options":{"ttl":"30m"})")->api.request.retention,
            CacheRetention::k1Hour);
}

TEST(ParseResponsesTest, OnlyTheLastFourMarksCount) {
  Json body = {{"input", Json::array()}};
  const Json part = {
      {"type", "input_text"}, {"text", "x"}, {"prompt_cache_breakpoint", Json::object()}};
  for (int i = 0; i < 6; ++i) {
    body["input"].push_back({{"role", "user"}, {"content", Json::array({part})}});
  }
  const auto request = ParseResponses(body);
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  ASSERT_EQ(request->api.marks.size(), 4U);
  EXPECT_EQ(request->api.marks.front().message, 2);
  EXPECT_EQ(request->api.marks.back().message, 5);
}

TEST(ParseResponsesTest, AConversationGoesOn) {
  const Json earlier = Json::parse(R"([{"role":"user","content":"a"},
      {"type":"message","id":"msg_1_0","role":"assistant","content":[
          {"type":"output_text","text":"b"}]}])");
  const auto request =
      ParseResponses(Body(R"("instructions":"i","previous_response_id":"resp_1","input":"c")"),
                     {.drop_media = false, .earlier = earlier, .referred = {}});
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(DumpJson(request->api.messages),
            R"([{"role":"system","content":"i"},{"role":"user","content":"a"},)"
            R"({"role":"assistant","content":"b"},{"role":"user","content":"c"}])");
  EXPECT_EQ(DumpJson(request->items), R"([{"type":"message","role":"user","content":"c"}])");
  EXPECT_EQ(request->previous_response_id, "resp_1");
  EXPECT_EQ(request->echo["previous_response_id"], "resp_1");
}

TEST(ParseResponsesTest, AReferenceIsTheItemThatItNames) {
  const Json referred = {{"msg_1_0", {{"role", "assistant"}, {"content", "kept"}}}};
  const std::string members = R"("input":[{"role":"user","content":"x"},
      {"type":"item_reference","id":"msg_1_0"},{"id":"msg_1_0"},
      {"type":"message","id":"msg_1_0","role":"user","content":"own"}])";
  const auto request =
      ParseResponses(Body(members), {.drop_media = false, .earlier = {}, .referred = referred});
  ASSERT_TRUE(request.has_value()) << Refusal(request);
  EXPECT_EQ(request->api.messages[1]["content"], "kept");
  EXPECT_EQ(request->api.messages[2]["content"], "kept");
  EXPECT_EQ(request->api.messages[3]["content"], "own");
  EXPECT_EQ(request->items[1], referred["msg_1_0"]);
  EXPECT_EQ(Refusal(Parse(members)), "input[1].id: names no item that is kept here");
}

TEST(ParseResponsesTest, AWrongTypeIsNamedByItsPath) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "input: is missing"},
      {R"("input":5)", "input: is a number, not a string or a list of items"},
      {R"("input":[])", "input: has no message in it"},
      {R"("input":["x"])", "input[0]: is a string, not an object"},
      {R"("input":[{"content":"x"}])", "input[0].id: names no item that is kept here"},
      {R"("input":[{"type":"message","content":"x"}])", "input[0].role: is missing"},
      {R"("input":[{"role":"user"}])", "input[0].content: is missing"},
      {R"("input":[{"role":"wizard","content":"x"}])",
       "input[0].role: is 'wizard', none of user, assistant, system, developer"},
      {R"("input":[{"role":"user","content":7}])",
       "input[0].content: is a number, not a string or a list of parts"},
      {R"("input":[{"role":"user","content":[{"type":"input_text"}]}])",
       "input[0].content[0].text: is missing"},
      {R"("input":[{"role":"user","content":[{"type":"input_text","text":{}}]}])",
       "input[0].content[0].text: is an object, not a string"},
      {R"("input":[{"type":"function_call","arguments":"{}"}])", "input[0].name: is missing"},
      {R"("input":[{"type":"function_call","name":"f","arguments":{}}])",
       "input[0].arguments: is an object, not a string"},
      {R"("input":[{"type":"function_call_output","call_id":1,"output":""}])",
       "input[0].call_id: is a number, not a string"},
      {R"("input":[{"type":"additional_tools","tools":{}}])",
       "input[0].tools: is an object, not a list"},
      {R"("input":"x","tools":{})", "tools: is an object, not a list"},
      {R"("input":"x","tools":[{"type":"function"}])", "tools[0].name: is missing"},
      {R"("input":"x","tools":[{"type":"function","name":""}])", "tools[0].name: is empty"},
      {R"("input":"x","tools":[{"name":"f"}])", "tools[0].type: is missing"},
      {R"("input":"x","tools":[{"type":"function","name":"f","parameters":"x"}])",
       "tools[0].parameters: is a string, not an object"},
      {R"("input":"x","instructions":[])", "instructions: is a list, not a string"},
      {R"("input":"x","text":{"format":{"type":"xml"}})",
       "text.format.type: is 'xml', none of text, json_object, json_schema"},
      {R"("input":"x","text":{"format":{"type":"json_schema"}})", "text.format.schema: is missing"},
      {R"("input":"x","reasoning":"high")", "reasoning: is a string, not an object"},
      {R"("input":"x","reasoning":{"effort":3})", "reasoning.effort: is a number, not a string"},
      {R"("input":"x","max_output_tokens":0)", "max_output_tokens: is 0, not from 1 to 2147483647"},
      {R"("input":"x","top_logprobs":21)", "top_logprobs: is 21, not from 0 to 20"},
      {R"("input":"x","include":[1])", "include[0]: is a number, not a string"},
      {R"("input":"x","include":"all")", "include: is a string, not a list"},
      {R"("input":"x","store":"no")", "store: is a string, not true or false"},
      {R"("input":"x","metadata":[])", "metadata: is a list, not an object"},
      {R"("input":"x","truncation":1)", "truncation: is a number, not a string"},
      {R"("input":"x","previous_response_id":1)",
       "previous_response_id: is a number, not a string"},
      {R"("input":"x","prompt_cache_options":{"ttl":1})",
       "prompt_cache_options.ttl: is a number, not a string"},
      {R"("input":"x","chat_template_kwargs":[])",
       "chat_template_kwargs: is a list, not an object"},
      {R"("input":"x","background":true)", "background: is not supported"},
      {R"("input":"x","conversation":"c")", "conversation: is not supported"},
      {R"("input":"x","prompt":{"id":"p"})", "prompt: is not supported"},
  };
  for (const auto& [members, expected] : cases) {
    EXPECT_EQ(Refusal(Parse(members)).substr(0, expected.size()), expected) << members;
  }
  EXPECT_EQ(Refusal(ParseResponses(Json::parse("[]"))), "is a list, not an object");
  EXPECT_EQ(Refusal(Parse(R"("input":"x","background":false,"conversation":null)")), "");
}

TEST(ParseResponsesTest, TheEchoTellsWhatWasAskedFor) {
  EXPECT_EQ(DumpJson(Parse(R"("input":"x")")->echo),
            R"({"instructions":null,"max_output_tokens":null,"metadata":{},)"
            R"("parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,)"
            R"("prompt_cache_retention":null,"reasoning":{"effort":null,"summary":null},)"
            R"("safety_identifier":null,"service_tier":"default","store":true,"temperature":1.0,)"
            R"("text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],)"
            R"("top_logprobs":0,"top_p":1.0,"truncation":"disabled","user":null})");
  const Json echo = Parse(R"("input":"x","tools":[{"type":"web_search","x":1}],"temperature":0,
      "text":{"verbosity":"low"},"reasoning":{"effort":"low","context":"auto"},
      "metadata":{"a":"b"},"prompt_cache_options":{"mode":"implicit"}, "top_logprobs":2)")
                        ->echo;
  EXPECT_EQ(DumpJson(echo["tools"]), R"([{"type":"web_search","x":1}])");
  EXPECT_EQ(DumpJson(echo["text"]), R"({"verbosity":"low","format":{"type":"text"}})");
  EXPECT_EQ(DumpJson(echo["reasoning"]), R"({"effort":"low","summary":null,"context":"auto"})");
  EXPECT_EQ(DumpJson(echo["metadata"]), R"({"a":"b"})");
  EXPECT_EQ(DumpJson(echo["prompt_cache_options"]), R"({"mode":"implicit"})");
  EXPECT_EQ(echo["top_logprobs"], 2);
  EXPECT_EQ(echo["temperature"], 0);
}

TEST(ResponsesInputTokensJsonTest, IsTheCount) {
  EXPECT_EQ(DumpJson(ResponsesInputTokensJson(12)),
            R"({"object":"response.input_tokens","input_tokens":12})");
}

}  // namespace
}  // namespace folio
