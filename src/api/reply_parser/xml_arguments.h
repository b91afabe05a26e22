// The arguments of a call that a model writes as text between tags, told as JSON by what the
// tool's schema says of each.
#ifndef FOLIO_API_REPLY_PARSER_XML_ARGUMENTS_H_
#define FOLIO_API_REPLY_PARSER_XML_ARGUMENTS_H_

#include <string>
#include <string_view>

#include "api/reply_parser/piece_writer.h"
#include "api/tool.h"

namespace folio {

class XmlArguments {
 public:
  // Of a call to `tool`, or to one that nobody knows: null.
  explicit XmlArguments(const Tool* tool = nullptr) : tool_(tool) {}

  void BeginValue(std::string_view key, PieceWriter& out);
  // A string is told as it comes, anything else when it is whole. False if it is too long.
  bool Take(char c, PieceWriter& out);
  // A line break at either end of a value belongs to the tags.
  void EndValue(PieceWriter& out);
  void End(PieceWriter& out);  // of all of them

 private:
  const Tool* tool_;
  bool any_ = false;
  bool is_string_ = true;
  bool at_start_ = true;  // of the value
  bool held_line_break_ = false;
  std::string value_;  // that is no string
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_XML_ARGUMENTS_H_
