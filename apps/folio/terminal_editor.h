// Reads messages from a person at a terminal: editing, history, several lines. Without a terminal,
// lines as they come.
#ifndef FOLIO_APPS_FOLIO_TERMINAL_EDITOR_H_
#define FOLIO_APPS_FOLIO_TERMINAL_EDITOR_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "folio/line_buffer.h"

namespace folio {

enum class ReadResult { kMessage, kEnd, kInterrupted };

class TerminalEditor {
 public:
  TerminalEditor();
  bool interactive() const { return interactive_; }
  // The next message, possibly of several lines. kInterrupted: Ctrl-C on an empty line.
  ReadResult Read(std::string& message);

 private:
  ReadResult ReadInteractive(std::string& message);
  ReadResult ReadPlain(std::string& message);
  bool HandleMotion(const Key& key, LineBuffer& buffer);
  void Draw(const LineBuffer& buffer);
  void FinishDrawing(const LineBuffer& buffer);

  bool interactive_;
  KeyDecoder decoder_;
  std::vector<std::string> history_;
  std::size_t history_at_ = 0;
  std::string draft_;           // what was typed before going up into the history
  std::size_t cursor_row_ = 0;  // of the drawn input, from its first row
};

// Where text lies on a terminal that is `columns` wide, each line indented by two.
struct TextLayout {
  std::string drawn;  // the text with explicit line breaks, ready to print
  std::size_t rows = 0;
  std::size_t cursor_row = 0;
  std::size_t cursor_column = 0;
};
TextLayout LayOutText(std::string_view text, std::size_t cursor, std::size_t columns);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_TERMINAL_EDITOR_H_
