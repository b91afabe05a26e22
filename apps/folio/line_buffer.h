// The text being typed and the keys that change it: no terminal in here.
#ifndef FOLIO_APPS_FOLIO_LINE_BUFFER_H_
#define FOLIO_APPS_FOLIO_LINE_BUFFER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace folio {

enum class KeyKind {
  kText,  // characters to insert; a paste is one
  kEnter,
  kNewline,  // Ctrl-J or Alt-Enter: a line break inside the message
  kLeft,
  kRight,
  kUp,
  kDown,
  kHome,
  kEnd,
  kBackspace,
  kDelete,
  kKillToEnd,
  kKillToStart,
  kKillWord,
  kClearScreen,
  kInterrupt,   // Ctrl-C
  kEndOfInput,  // Ctrl-D
};

struct Key {
  KeyKind kind = KeyKind::kText;
  std::string text;
};

// Turns a terminal's bytes into keys: UTF-8, escape sequences, bracketed paste.
class KeyDecoder {
 public:
  std::optional<Key> Push(char byte);
  bool in_sequence() const { return !pending_.empty() || pasting_; }

 private:
  std::optional<Key> PushEscape(char byte);
  std::optional<Key> PushPaste(char byte);
  std::optional<Key> PushPlain(char byte);

  std::string pending_;  // an unfinished character or escape sequence
  bool pasting_ = false;
  std::string paste_;
};

// UTF-8 text with a cursor that stands between characters.
class LineBuffer {
 public:
  const std::string& text() const { return text_; }
  std::size_t cursor() const { return cursor_; }
  void Set(std::string text);  // the cursor goes to the end

  // Applies a key that edits or moves; false for those that do not (Enter, Up, ...).
  bool Apply(const Key& key);

 private:
  std::size_t Previous(std::size_t at) const;
  std::size_t Next(std::size_t at) const;
  void Erase(std::size_t from, std::size_t to);

  std::string text_;
  std::size_t cursor_ = 0;
};

// Columns of a character on a terminal: 0 for combining marks, 2 for wide East Asian and emoji.
int CharacterWidth(char32_t character);
// The character that starts at `at` and its length in bytes (1 for a byte that is no UTF-8).
char32_t CharacterAt(std::string_view text, std::size_t at, std::size_t& length);

// Whether a message goes on after Enter: a trailing backslash (it becomes the line break) or an
// open """. Adds the line break to `text` if so.
bool ContinuesAfterEnter(std::string& text);
// The message without the """ around it.
std::string MessageOf(std::string_view text);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LINE_BUFFER_H_
