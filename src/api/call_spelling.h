// How each family of models writes calls of tools, for grammars that force one: the other side of
// api/reply_parser, which reads them.
#ifndef FOLIO_API_CALL_SPELLING_H_
#define FOLIO_API_CALL_SPELLING_H_

#include <string>
#include <vector>

#include "api/reply_parser/reply_parser.h"

namespace folio {

// `begin`, the calls with `between` in between, `end`; of each call `call_begin`, the tool's name,
// `name_end`, the arguments, `call_end`.
struct CallSpelling {
  std::string begin;
  std::string call_begin;
  std::string name_end;
  std::string call_end;
  std::string between;
  std::string end;
  // Parts of the above that are control tokens, in vocabularies that have them.
  std::vector<std::string> marks;
  // The arguments are <parameter=KEY>\nVALUE\n</parameter>\n each, and not one JSON object.
  bool xml_arguments = false;
  // Messages that aren't calls begin like those that are: what a model may write in place of a call
  // can't be told apart where it begins.
  bool text_begins_alike = false;
};

CallSpelling SpellingOf(CallSyntax syntax);

}  // namespace folio

#endif  // FOLIO_API_CALL_SPELLING_H_
