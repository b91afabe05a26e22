#include "folio/terminal_editor.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <tuple>

#include "folio/output.h"

namespace folio {
namespace {

constexpr const char* kPasteOn = "\x1b[?2004h";
constexpr const char* kPasteOff = "\x1b[?2004l";
constexpr std::size_t kIndent = 2;

// Key by key, without echo, for the object's lifetime; output stays as it is.
class RawMode {
 public:
  RawMode() {
    if (tcgetattr(STDIN_FILENO, &saved_) != 0) return;
    termios raw = saved_;
    raw.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR | IXON);
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    active_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
    std::ignore = WriteOutput(kPasteOn);
  }
  ~RawMode() {
    std::ignore = WriteOutput(kPasteOff);
    std::ignore = FlushOutput();
    if (active_) tcsetattr(STDIN_FILENO, TCSADRAIN, &saved_);
  }
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

 private:
  termios saved_{};
  bool active_ = false;
};

std::size_t Columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 8) return 80;
  return size.ws_col;
}

bool ReadByte(char& byte) {
  while (true) {
    const ssize_t got = read(STDIN_FILENO, &byte, 1);
    if (got == 1) return true;
    if (got < 0 && errno == EINTR) continue;
    return false;
  }
}

}  // namespace

TextLayout LayOutText(std::string_view text, std::size_t cursor, std::size_t columns) {
  TextLayout layout;
  std::size_t column = kIndent;
  const auto break_line = [&](std::size_t indent) {
    layout.drawn += "\r\n" + std::string(indent, ' ');
    ++layout.rows;
    column = indent;
  };
  layout.drawn = "> ";
  for (std::size_t at = 0;;) {
    if (column >= columns) break_line(0);
    if (at == cursor) {
      layout.cursor_row = layout.rows;
      layout.cursor_column = column;
    }
    if (at >= text.size()) break;
    std::size_t length = 1;
    const char32_t character = CharacterAt(text, at, length);
    if (character == U'\n') {
      break_line(kIndent);
    } else {
      const std::size_t width =
          character == U'\t' ? 1 : static_cast<std::size_t>(CharacterWidth(character));
      if (column + width > columns) break_line(0);
      layout.drawn += character == U'\t' ? std::string(" ") : ForTerminal(text.substr(at, length));
      column += width;
    }
    at += length;
  }
  ++layout.rows;
  return layout;
}

TerminalEditor::TerminalEditor()
    : interactive_(isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {}

ReadResult TerminalEditor::Read(std::string& message) {
  return interactive_ ? ReadInteractive(message) : ReadPlain(message);
}

ReadResult TerminalEditor::ReadPlain(std::string& message) {
  std::string text;
  std::string line;
  bool any = false;
  while (std::getline(std::cin, line)) {
    any = true;
    text += line;
    if (!ContinuesAfterEnter(text)) break;
  }
  if (!any) return ReadResult::kEnd;
  message = MessageOf(text);
  return ReadResult::kMessage;
}

void TerminalEditor::Draw(const LineBuffer& buffer) {
  const TextLayout layout = LayOutText(buffer.text(), buffer.cursor(), Columns());
  std::string out;
  if (cursor_row_ > 0) out += "\x1b[" + std::to_string(cursor_row_) + "A";
  out += "\r\x1b[J" + layout.drawn;
  const std::size_t up = layout.rows - 1 - layout.cursor_row;
  if (up > 0) out += "\x1b[" + std::to_string(up) + "A";
  out += "\r";
  if (layout.cursor_column > 0) out += "\x1b[" + std::to_string(layout.cursor_column) + "C";
  cursor_row_ = layout.cursor_row;
  std::ignore = WriteOutput(out);
  std::ignore = FlushOutput();
}

// Leaves the input on the screen, with the cursor on the line below it.
void TerminalEditor::FinishDrawing(const LineBuffer& buffer) {
  LineBuffer at_end;
  at_end.Set(buffer.text());
  Draw(at_end);
  std::ignore = WriteOutput("\r\n");
  std::ignore = FlushOutput();
  cursor_row_ = 0;
}

bool TerminalEditor::HandleMotion(const Key& key, LineBuffer& buffer) {
  if (buffer.Apply(key)) return true;
  if (key.kind == KeyKind::kClearScreen) {
    std::ignore = WriteOutput("\x1b[H\x1b[2J");
    cursor_row_ = 0;
    return true;
  }
  if (key.kind == KeyKind::kUp && history_at_ > 0) {
    if (history_at_ == history_.size()) draft_ = buffer.text();
    buffer.Set(history_[--history_at_]);
    return true;
  }
  if (key.kind == KeyKind::kDown && history_at_ < history_.size()) {
    ++history_at_;
    buffer.Set(history_at_ == history_.size() ? draft_ : history_[history_at_]);
    return true;
  }
  return false;
}

ReadResult TerminalEditor::ReadInteractive(std::string& message) {
  const RawMode raw;
  LineBuffer buffer;
  cursor_row_ = 0;
  history_at_ = history_.size();
  Draw(buffer);
  char byte = 0;
  while (ReadByte(byte)) {
    const std::optional<Key> key = decoder_.Push(byte);
    if (!key) continue;
    if (HandleMotion(*key, buffer)) {
      Draw(buffer);
      continue;
    }
    const bool empty = buffer.text().empty();
    if (key->kind == KeyKind::kInterrupt) {
      FinishDrawing(buffer);
      if (empty) return ReadResult::kInterrupted;
      buffer.Set("");
      Draw(buffer);
    } else if (key->kind == KeyKind::kEndOfInput && empty) {
      FinishDrawing(buffer);
      return ReadResult::kEnd;
    } else if (key->kind == KeyKind::kEnter) {
      std::string text = buffer.text();
      if (ContinuesAfterEnter(text)) {
        buffer.Set(text);
        Draw(buffer);
        continue;
      }
      FinishDrawing(buffer);
      message = MessageOf(text);
      const bool repeated = !history_.empty() && history_.back() == text;
      if (!text.empty() && !repeated) history_.push_back(text);
      return ReadResult::kMessage;
    }
  }
  return ReadResult::kEnd;
}

}  // namespace folio
