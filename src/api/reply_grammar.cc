#include "api/reply_grammar.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace folio {
namespace {

using Choice = ToolChoice::Kind;

// As JSON spells it, which Lark does too.
std::string Quoted(std::string_view text) {
  std::string quoted = DumpJson(Json(text));
  for (std::size_t at = 0; (at = quoted.find('\x7f', at)) != quoted.npos;) {
    quoted.replace(at, 1, "\\u007f");
  }
  return quoted;
}

// A schema inside a Lark grammar. `exactly`: what it says and can't be kept to is an error; else it
// is left out. Whitespace is bounded as in a schema of its own.
std::string SchemaTerm(Json schema, bool exactly) {
  Json options = {{"whitespace_pattern", R"([\x20\x0A\x0D\x09]{1,40})"}};
  if (!exactly) options["lenient"] = true;
  if (!schema.is_object()) schema = Json::object();
  schema["x-guidance"] = std::move(options);
  return "%json " + DumpJson(schema);
}

// As it stands inside a JSON string.
std::string InJson(const std::string& text) {
  const std::string quoted = DumpJson(Json(text));
  return quoted.substr(1, quoted.size() - 2);
}

Json SchemaOf(const Tool& tool) {
  if (tool.kind == Tool::Kind::kCustom) {
    return {{"type", "object"},
            {"properties", {{"input", {{"type", "string"}}}}},
            {"required", Json::array({"input"})},
            {"additionalProperties", false}};
  }
  Json schema = tool.parameters.is_object() && !tool.loose ? tool.parameters : Json::object();
  if (!schema.contains("type")) schema["type"] = "object";
  return schema;
}

// A custom tool's text keeps to its grammar.
bool IsHeld(const Tool& tool) { return tool.kind == Tool::Kind::kCustom && !tool.grammar.empty(); }

bool IsStrict(const Tool& tool) { return tool.strict || IsHeld(tool); }

std::string TextName(const Tool& tool) { return "text of " + tool.ModelName(); }

Json FormatSchema(const ReplyFormat& format) {
  if (format.kind == ReplyFormat::Kind::kJsonSchema) return format.schema;
  return {{"type", "object"}};
}

constexpr const char* kAnything = R"(/(.|\n)*/)";
// What may stand in a JSON string, as far as a text that is held is spelled.
constexpr const char* kInString = R"re(/([^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9a-f])*/)re";
constexpr const char* kInputString = R"({"input": ")";
constexpr const char* kInputMark = "<parameter=input>\n";
constexpr const char* kParameterEnd = "</parameter>";

class GrammarWriter {
 public:
  GrammarWriter(const ApiRequest& request, const ReplyFrame& frame)
      : request_(request), frame_(frame) {}

  ReplyGrammar Write() {
    const bool calls = request_.tool_choice.kind != Choice::kNone && !request_.tools.empty();
    const bool forced = calls && request_.tool_choice.kind != Choice::kAuto;
    const bool held = calls && (std::ranges::any_of(request_.tools, IsStrict) ||
                                !request_.tool_choice.allowed.empty());
    const bool format = request_.format.kind != ReplyFormat::Kind::kText;
    if (forced) {
      AddTools(/*keep_all=*/true);
      AddCalls();
      Start("calls");
    } else if (format) {
      if (!calls && frame_.reasoning_end.empty() && frame_.text_begin.empty() &&
          request_.format.strict) {
        return {.kind = ReplyGrammar::Kind::kJsonSchema,
                .text = DumpJson(FormatSchema(request_.format)),
                .held = {}};
      }
      if (calls) {
        AddTools(/*keep_all=*/false);
        AddCalls();
      }
      lark_ += "document: " + Terms(frame_.text_begin) + " " +
               SchemaTerm(FormatSchema(request_.format), request_.format.strict) + "\n";
      Start(calls ? "(document | calls)" : "document");
    } else if (held && !frame_.calls.text_begins_alike) {
      AddTools(/*keep_all=*/false);
      AddTextWithCalls();
    } else {
      return {};
    }
    return {.kind = ReplyGrammar::Kind::kLark, .text = std::move(lark_), .held = std::move(held_)};
  }

 private:
  // Text with marks in it as a sequence of terms; empty for no text.
  std::string Terms(std::string_view text) const {
    std::string terms;
    const auto add = [&](const std::string& term) { terms += (terms.empty() ? "" : " ") + term; };
    while (!text.empty()) {
      std::size_t at = text.size();
      std::size_t length = 0;
      std::int32_t token = -1;
      for (const std::string& mark : Marks()) {
        const std::size_t found = text.find(mark);
        if (found >= at) continue;
        const std::int32_t id = ControlOf(mark);
        if (id < 0) continue;
        at = found;
        length = mark.size();
        token = id;
      }
      if (at > 0) add(Quoted(text.substr(0, at)));
      if (token >= 0) add("<[" + std::to_string(token) + "]>");
      text.remove_prefix(at + length);
    }
    return terms;
  }

  std::vector<std::string> Marks() const {
    std::vector<std::string> marks = frame_.calls.marks;
    marks.push_back(frame_.reasoning_begin);
    marks.push_back(frame_.reasoning_end);
    std::erase(marks, "");
    return marks;
  }

  std::int32_t ControlOf(const std::string& mark) const {
    return frame_.control ? frame_.control(mark) : -1;
  }

  bool MayBeCalled(const Tool& tool) const {
    const ToolChoice& choice = request_.tool_choice;
    const std::string name = tool.ModelName();
    if (choice.kind == Choice::kNamed) return name == choice.name;
    return choice.allowed.empty() ||
           std::ranges::find(choice.allowed, name) != choice.allowed.end();
  }

  // `tool`: a call from its name to its arguments' end. `keep_all`: also what isn't strict fits its
  // schema, as far as that can be kept to.
  void AddTools(bool keep_all) {
    std::string any;
    for (std::size_t i = 0; i < request_.tools.size(); ++i) {
      const Tool& tool = request_.tools[i];
      if (!MayBeCalled(tool)) continue;
      const std::string rule = "tool_" + std::to_string(i);
      any += (any.empty() ? "" : " | ") + rule;
      const std::string opening = InJson(tool.ModelName()) + frame_.calls.name_end;
      if (IsHeld(tool)) Hold(tool, opening);
      const std::string arguments = Arguments(tool, rule, keep_all);
      lark_.append(rule).append(": ").append(Terms(opening)).append(" ");
      lark_.append(arguments).append("\n");
    }
    lark_ += "tool: " + any + "\n";
  }

  std::string Arguments(const Tool& tool, const std::string& rule, bool keep_all) {
    const bool exactly = IsStrict(tool);
    if (frame_.calls.xml_arguments) return XmlArguments(rule, SchemaOf(tool), exactly);
    if (IsHeld(tool)) return Quoted(kInputString) + " " + kInString + " \"\\\"}\"";
    return SchemaTerm(keep_all || exactly ? SchemaOf(tool) : Json{{"type", "object"}}, exactly);
  }

  // `opening`: a call's from the tool's name to the arguments.
  void Hold(const Tool& tool, const std::string& opening) {
    const bool xml = frame_.calls.xml_arguments;
    held_.push_back(
        {.name = TextName(tool),
         .opening = frame_.calls.call_begin + opening + (xml ? kInputMark : kInputString),
         .closing = xml ? kParameterEnd : "",
         .is_regex = tool.grammar_is_regex,
         .grammar = tool.grammar});
  }

  // Parameters in the schema's order, each with a rule of its own; none but those it names.
  std::string XmlArguments(const std::string& tool, const Json& schema, bool exactly) {
    constexpr const char* kEnd = R"("\n</parameter>\n")";
    std::string all;
    const Json properties = schema.value("properties", Json::object());
    const Json required = schema.value("required", Json::array());
    for (const auto& [key, value] : properties.items()) {
      const std::string rule = tool + "_" + std::to_string(names_++);
      const Json type = value.is_object() ? value.value("type", Json()) : Json();
      std::string any;  // of the texts that it may be
      for (const Json& one : type == "string" ? value.value("enum", Json()) : Json()) {
        if (one.is_string()) any += (any.empty() ? "" : " | ") + Quoted(one.get<std::string>());
      }
      if (type != "string") {
        lark_ += rule + ": " + SchemaTerm(value, exactly) + " " + kEnd + "\n";
      } else if (!any.empty()) {
        lark_.append(rule).append(": (").append(any).append(") ").append(kEnd).append("\n");
      } else {
        lark_ += rule + "[lazy]: " + kAnything + " " + kEnd + "\n";
      }
      const bool needed = std::ranges::find(required, Json(key)) != required.end();
      all.append(" (").append(Quoted("<parameter=" + key + ">\n")).append(" ").append(rule);
      all.append(needed ? ")" : ")?");
    }
    return all;
  }

  bool one_call() const {
    return !request_.parallel_tool_calls || request_.tool_choice.kind == Choice::kNamed;
  }

  std::string CallTerms(std::string_view begin) const {
    return Terms(begin) + " tool " + Terms(frame_.calls.call_end);
  }

  // `calls`: all of a reply's.
  void AddCalls() {
    const CallSpelling& spelling = frame_.calls;
    lark_ += "call: " + CallTerms(spelling.call_begin) + "\n";
    lark_ += "calls: " + Terms(spelling.begin) + " call";
    if (!one_call()) lark_ += " (" + Terms(spelling.between) + " call)*";
    lark_ += " " + Terms(spelling.end) + "\n";
  }

  // Text in which calls stand. What opens one is recognised where it first occurs, so that nothing
  // but a call can follow.
  void AddTextWithCalls() {
    const CallSpelling& spelling = frame_.calls;
    const std::string whole = spelling.begin + spelling.call_begin;
    const auto opening = std::ranges::find_if(
        spelling.marks, [&](const std::string& mark) { return whole.starts_with(mark); });
    if (opening == spelling.marks.end()) {  // the reply is a call or is none
      AddCalls();
      lark_ += R"(TEXT: /[ \n\r\t]*([^ \n\r\t{](.|\n)*)?/)"
               "\n";
      return Start("(calls | TEXT)");
    }
    lark_ += std::string("TEXT: ") + kAnything + "\n";
    lark_ += std::string("open_text[lazy]: ") + kAnything + " " + Quoted(*opening) + "\n";
    const std::int32_t control = ControlOf(*opening);
    lark_ += "open: open_text";
    if (control >= 0) lark_ += " | TEXT <[" + std::to_string(control) + "]>";
    lark_ += "\n";
    if (spelling.begin.empty()) {
      lark_ += "block: " + CallTerms(spelling.call_begin.substr(opening->size())) + "\n";
    } else {
      lark_ += "call: " + CallTerms(spelling.call_begin) + "\n";
      lark_ += "block: " + Terms(spelling.begin.substr(opening->size())) + " call";
      if (!one_call()) lark_ += " (" + Terms(spelling.between) + " call)*";
      lark_ += " " + Terms(spelling.end) + "\n";
    }
    Start(one_call() ? "(TEXT | open block)" : "(open block)* TEXT");
  }

  // The grammar's start: `what`, perhaps behind reasoning.
  void Start(const std::string& what) {
    if (frame_.reasoning_end.empty()) {
      lark_ += "start: " + what + "\n";
      return;
    }
    const std::string begin = frame_.reasoning_begun ? "" : Terms(frame_.reasoning_begin);
    if (ControlOf(frame_.reasoning_end) >= 0) {
      lark_ += "thought: " + begin + " THOUGHT " + Terms(frame_.reasoning_end) + "\n";
      lark_ += std::string("THOUGHT: ") + kAnything + "\n";
    } else {
      lark_ += "thought: " + begin + " thought_text\n";
      lark_ += std::string("thought_text[lazy]: ") + kAnything + " " +
               Quoted(frame_.reasoning_end) + "\n";
    }
    lark_ += R"(BLANKS: /[ \n]{1,4}/)"
             "\n";
    lark_ += frame_.reasoning_begun ? "start: thought BLANKS? " : "start: (thought BLANKS?)? ";
    lark_ += what + "\n";
  }

  const ApiRequest& request_;
  const ReplyFrame& frame_;
  int names_ = 0;  // of rules made up so far
  std::string lark_;
  std::vector<HeldText> held_;
};

}  // namespace

ReplyFrame FrameOf(const ReplySyntax& syntax, bool in_reasoning,
                   std::function<std::int32_t(const std::string&)> control) {
  ReplyFrame frame{.calls = SpellingOf(syntax.calls)};
  if (syntax.reasoning == ReasoningSyntax::kThink) {
    frame.reasoning_begin = "<think>";
    frame.reasoning_end = "</think>";
  } else if (syntax.reasoning == ReasoningSyntax::kBracketThink) {
    frame.reasoning_begin = "[THINK]";
    frame.reasoning_end = "[/THINK]";
  }
  frame.reasoning_begun = in_reasoning;
  if (syntax.calls == CallSyntax::kHarmony) frame.text_begin = "<|channel|>final<|message|>";
  frame.control = std::move(control);
  return frame;
}

ReplyGrammar GrammarOf(const ApiRequest& request, const ReplyFrame& frame) {
  return GrammarWriter(request, frame).Write();
}

bool HasLooseSchemas(const ApiRequest& request) {
  const bool format =
      request.format.kind == ReplyFormat::Kind::kJsonSchema && !request.format.strict;
  return format ||
         std::ranges::any_of(request.tools, [](const Tool& tool) { return !IsStrict(tool); });
}

void LoosenSchemas(ApiRequest& request,
                   const std::function<Status(const ReplyGrammar& grammar)>& check) {
  const auto refusal = [&](const Json& schema) -> std::string {
    const Status held = check({.kind = ReplyGrammar::Kind::kLark,
                               .text = "start: " + SchemaTerm(schema, /*exactly=*/false) + "\n",
                               .held = {}});
    return held ? "" : held.error().why;
  };
  for (std::size_t i = 0; i < request.tools.size(); ++i) {
    Tool& tool = request.tools[i];
    if (IsStrict(tool)) continue;
    const std::string why = refusal(SchemaOf(tool));
    if (why.empty()) continue;
    tool.loose = true;
    AddNote(request.notes, "tools[" + std::to_string(i) + "]: the schema isn't held to: " + why);
  }
  ReplyFormat& format = request.format;
  if (format.kind != ReplyFormat::Kind::kJsonSchema || format.strict) return;
  if (const std::string why = refusal(format.schema); !why.empty()) {
    format.kind = ReplyFormat::Kind::kJsonObject;
    AddNote(request.notes, "the format's schema isn't held to: " + why);
  }
}

Error BlameRequest(const ApiRequest& request, Error error) {
  if (error.what != "grammar") return error;
  const bool format = request.format.kind != ReplyFormat::Kind::kText;
  error.what = "";
  for (const Tool& tool : request.tools) {
    if (!IsHeld(tool) || error.where != TextName(tool)) continue;
    error.where = "tools";
    error.why = "the grammar of '" + tool.ModelName() + "' " + error.why;
    return error;
  }
  error.where = format && request.tool_choice.kind != Choice::kRequired &&
                        request.tool_choice.kind != Choice::kNamed
                    ? "response_format"
                    : "tools";
  constexpr std::string_view kSchema = "schema ";  // as many of the messages begin
  if (error.why.starts_with(kSchema)) error.why.erase(0, kSchema.size());
  error.why = (format ? "the schema " : "a tool's schema ") + error.why;
  return error;
}

}  // namespace folio
