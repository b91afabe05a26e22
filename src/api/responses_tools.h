// Tools and tool choices of OpenAI's Responses API. A client may offer any type of tool; those
// that only OpenAI's servers run (web_search, image_generation, ...) are left out, each with a
// note.
#ifndef FOLIO_API_RESPONSES_TOOLS_H_
#define FOLIO_API_RESPONSES_TOOLS_H_

#include <string>
#include <vector>

#include "api/fields.h"
#include "api/tool.h"

namespace folio {

class ResponsesTools {
 public:
  // Of a list of tools at `path`: functions, custom tools, namespaces of both. One that has an
  // earlier one's name takes its place.
  void Add(const Json& list, const std::string& path, std::optional<Error>& refusal);
  // `fields`' tool_choice, after all tools were added. What cannot be forced here becomes auto,
  // with a note.
  ToolChoice ReadChoice(Fields& fields);

  std::vector<Tool>& tools() { return tools_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  void AddOne(const Json& item, const std::string& path, const std::string& space,
              std::optional<Error>& refusal);
  void AddTool(Fields& fields, Tool tool);
  void ReadGrammar(Fields& fields, Tool& tool);
  void LeaveOut(const std::string& path, const std::string& type);
  // By its own name, where that is one tool's only; its ModelName, or empty.
  std::string NameOf(Fields& choice);
  ToolChoice ReadObject(Fields& fields, const Json& choice);
  ToolChoice ReadAllowed(Fields& choice);
  ToolChoice ReadWord(Fields& fields, const std::string& word);

  std::vector<Tool> tools_;
  std::vector<std::string> notes_;
  bool some_left_out_ = false;
};

}  // namespace folio

#endif  // FOLIO_API_RESPONSES_TOOLS_H_
