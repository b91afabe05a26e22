// Tools that a model may call, whatever the dialect that named them.
#ifndef FOLIO_API_TOOL_H_
#define FOLIO_API_TOOL_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json.h"

namespace folio {

struct Tool {
  enum class Kind : std::uint8_t {
    kFunction,  // arguments are a JSON object
    kCustom,    // OpenAI's custom tools: the argument is one text, perhaps of a grammar
  };
  Kind kind = Kind::kFunction;
  std::string name;   // the caller's
  std::string space;  // the namespace that the caller put it into, or empty
  std::string description;
  Json parameters;      // JSON Schema of a function's arguments: an object, or null for none
  bool strict = false;  // calls must fit the schema
  bool loose = false;   // the schema can't be held to, not even in part: a call may say anything
  std::string grammar;  // of a custom tool's text, or empty
  bool grammar_is_regex = false;  // else Lark

  // What the model sees and calls: NAME, or SPACE__NAME.
  std::string ModelName() const;
};

struct ToolChoice {
  enum class Kind : std::uint8_t { kAuto, kNone, kRequired, kNamed };
  Kind kind = Kind::kAuto;
  std::string name;  // of kNamed: a tool's ModelName
  // Of kAuto and kRequired: the ModelNames of those that may be called; empty: all. The model sees
  // the others too, so that the prompt stays the same.
  std::vector<std::string> allowed;
};

// The tool that a model calls `model_name`, or null.
const Tool* FindTool(std::span<const Tool> tools, std::string_view model_name);

// As chat templates take them: [{type: "function", function: {name, description, parameters}}]. A
// custom tool is a function of one string, "input".
Json ToolsForTemplate(std::span<const Tool> tools);

}  // namespace folio

#endif  // FOLIO_API_TOOL_H_
