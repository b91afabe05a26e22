#include "api/reply_parser/xml_arguments.h"

#include <algorithm>

#include "api/reply_parser/argument_stream.h"
#include "api/reply_parser/call_body.h"
#include "formats/json.h"

namespace folio {
namespace {

// The member of an object, or null.
const Json* Find(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

bool NamesString(const Json& type) {
  if (type.is_string()) return type == "string";
  return type.is_array() && std::ranges::find(type, Json("string")) != type.end();
}

// Whether a value of this schema may be a string; of one that doesn't say, it is one. `depth`
// bounds what a caller's schema can nest.
bool AllowsString(const Json& schema, int depth = 0) {
  constexpr int kMostDepth = 8;
  if (const Json* type = Find(schema, "type")) return NamesString(*type);
  if (const Json* values = Find(schema, "enum"); values != nullptr && values->is_array()) {
    return std::ranges::any_of(*values, [](const Json& value) { return value.is_string(); });
  }
  if (depth == kMostDepth) return true;
  for (const char* choice : {"anyOf", "oneOf", "allOf"}) {
    const Json* schemas = Find(schema, choice);
    if (schemas == nullptr || !schemas->is_array()) continue;
    return std::ranges::any_of(*schemas,
                               [&](const Json& one) { return AllowsString(one, depth + 1); });
  }
  return Find(schema, "$ref") == nullptr;
}

bool IsString(const Tool* tool, const std::string& key) {
  if (tool == nullptr || tool->kind == Tool::Kind::kCustom) return true;
  const Json* properties = Find(tool->parameters, "properties");
  const Json* schema = properties == nullptr ? nullptr : Find(*properties, key.c_str());
  return schema == nullptr || AllowsString(*schema);
}

// Python's spellings, which templates and models write for JSON's.
std::string_view PythonWord(std::string_view text) {
  if (text == "True") return "true";
  if (text == "False") return "false";
  return text == "None" ? "null" : text;
}

std::string AsString(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) AppendEscaped(c, json);
  return json + '"';
}

}  // namespace

void XmlArguments::BeginValue(std::string_view key, PieceWriter& out) {
  is_string_ = IsString(tool_, std::string(key));
  out.Arguments(any_ ? ", " : "{");
  out.Arguments(AsString(key) + ": ");
  if (is_string_) out.Arguments("\"");
  any_ = true;
  at_start_ = true;
  held_line_break_ = false;
  value_.clear();
}

bool XmlArguments::Take(char c, PieceWriter& out) {
  const bool first = at_start_;
  at_start_ = false;
  if (first && c == '\n') return true;
  if (!is_string_) {
    value_ += c;
    return value_.size() <= kLongestHeld;
  }
  std::string told;
  if (held_line_break_) AppendEscaped('\n', told);
  held_line_break_ = c == '\n';
  if (!held_line_break_) AppendEscaped(c, told);
  out.Arguments(told);
  return true;
}

void XmlArguments::EndValue(PieceWriter& out) {
  if (is_string_) return out.Arguments("\"");
  const std::string_view value = PythonWord(Trimmed(value_));
  // One level less than a document: it stands in an object.
  if (ParseJson(value, {.depth = JsonLimits().depth - 1})) {
    out.Arguments(value);
  } else {
    const bool line_break = value_.ends_with('\n');
    out.Arguments(
        AsString(std::string_view(value_).substr(0, value_.size() - (line_break ? 1 : 0))));
  }
}

void XmlArguments::End(PieceWriter& out) {
  if (any_) out.Arguments("}");
  out.EndCall();
}

}  // namespace folio
