#include "api/api_request.h"

#include <cstddef>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kMostNotes = 32;

}  // namespace

void AddNote(std::vector<std::string>& notes, std::string note) {
  if (notes.size() < kMostNotes) notes.push_back(std::move(note));
}

Json TemplateVariables(const ApiRequest& request) {
  Json variables = request.variables.is_object() ? request.variables : Json::object();
  const bool shown =
      request.tool_choice.kind != ToolChoice::Kind::kNone || request.shows_uncalled_tools;
  if (shown && !request.tools.empty()) variables["tools"] = ToolsForTemplate(request.tools);
  return variables;
}

}  // namespace folio
