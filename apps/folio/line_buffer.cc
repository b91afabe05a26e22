#include "folio/line_buffer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace folio {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kPasteStart = "\x1b[200~";
constexpr std::string_view kPasteEnd = "\x1b[201~";
constexpr std::string_view kFence = "\"\"\"";
constexpr std::size_t kLongestSequence = 16;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

std::size_t SequenceLength(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}

std::optional<Key> ControlKey(char byte) {
  switch (byte) {
    case '\r':
      return Key{KeyKind::kEnter, {}};
    case '\n':
      return Key{KeyKind::kNewline, {}};
    case '\t':
      return Key{KeyKind::kText, "\t"};
    case 'A' - '@':
      return Key{KeyKind::kHome, {}};
    case 'B' - '@':
      return Key{KeyKind::kLeft, {}};
    case 'C' - '@':
      return Key{KeyKind::kInterrupt, {}};
    case 'D' - '@':
      return Key{KeyKind::kEndOfInput, {}};
    case 'E' - '@':
      return Key{KeyKind::kEnd, {}};
    case 'F' - '@':
      return Key{KeyKind::kRight, {}};
    case 'H' - '@':
    case '\x7f':
      return Key{KeyKind::kBackspace, {}};
    case 'K' - '@':
      return Key{KeyKind::kKillToEnd, {}};
    case 'L' - '@':
      return Key{KeyKind::kClearScreen, {}};
    case 'N' - '@':
      return Key{KeyKind::kDown, {}};
    case 'P' - '@':
      return Key{KeyKind::kUp, {}};
    case 'U' - '@':
      return Key{KeyKind::kKillToStart, {}};
    case 'W' - '@':
      return Key{KeyKind::kKillWord, {}};
    default:
      return std::nullopt;
  }
}

// The key of a whole CSI or SS3 sequence; modifiers ("1;5C") are ignored.
std::optional<Key> SequenceKey(std::string_view sequence) {
  const std::string_view number = sequence.substr(2, sequence.size() - 3);
  switch (sequence.back()) {
    case 'A':
      return Key{KeyKind::kUp, {}};
    case 'B':
      return Key{KeyKind::kDown, {}};
    case 'C':
      return Key{KeyKind::kRight, {}};
    case 'D':
      return Key{KeyKind::kLeft, {}};
    case 'H':
      return Key{KeyKind::kHome, {}};
    case 'F':
      return Key{KeyKind::kEnd, {}};
    case '~':
      if (number == "1" || number == "7") return Key{KeyKind::kHome, {}};
      if (number == "4" || number == "8") return Key{KeyKind::kEnd, {}};
      if (number == "3") return Key{KeyKind::kDelete, {}};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Key> KeyDecoder::Push(char byte) {
  if (pasting_) return PushPaste(byte);
  if (!pending_.empty() && pending_.front() == kEscape) return PushEscape(byte);
  if (pending_.empty() && byte == kEscape) {
    pending_ = byte;
    return std::nullopt;
  }
  return PushPlain(byte);
}

std::optional<Key> KeyDecoder::PushPlain(char byte) {
  if (!pending_.empty() && !IsContinuation(byte)) pending_.clear();  // a broken character
  const auto value = static_cast<unsigned char>(byte);
  if (pending_.empty() && (value < 0x20 || value == 0x7f)) return ControlKey(byte);
  if (pending_.empty() && IsContinuation(byte)) return std::nullopt;
  pending_ += byte;
  if (pending_.size() < SequenceLength(pending_.front())) return std::nullopt;
  return Key{KeyKind::kText, std::exchange(pending_, {})};
}

std::optional<Key> KeyDecoder::PushEscape(char byte) {
  pending_ += byte;
  if (pending_.size() == 2) {
    if (byte == '[' || byte == 'O') return std::nullopt;
    pending_.clear();
    if (byte == '\r' || byte == '\n') return Key{KeyKind::kNewline, {}};
    return std::nullopt;  // Alt with a letter
  }
  const bool final = byte >= 0x40 && byte <= 0x7e;
  if (!final) {
    if (pending_.size() > kLongestSequence) pending_.clear();
    return std::nullopt;
  }
  const std::string sequence = std::exchange(pending_, {});
  if (sequence == kPasteStart) {
    pasting_ = true;
    return std::nullopt;
  }
  return SequenceKey(sequence);
}

std::optional<Key> KeyDecoder::PushPaste(char byte) {
  paste_ += byte;
  if (!paste_.ends_with(kPasteEnd)) return std::nullopt;
  paste_.resize(paste_.size() - kPasteEnd.size());
  pasting_ = false;
  std::string text;
  for (const char c : std::exchange(paste_, {})) {
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\t';
    if (c == '\r' || c == '\n') {
      text += '\n';
    } else if (!control && c != '\x7f') {
      text += c;
    }
  }
  return Key{KeyKind::kText, text};
}

void LineBuffer::Set(std::string text) {
  text_ = std::move(text);
  cursor_ = text_.size();
}

std::size_t LineBuffer::Previous(std::size_t at) const {
  if (at == 0) return 0;
  --at;
  while (at > 0 && IsContinuation(text_[at])) --at;
  return at;
}

std::size_t LineBuffer::Next(std::size_t at) const {
  if (at >= text_.size()) return text_.size();
  ++at;
  while (at < text_.size() && IsContinuation(text_[at])) ++at;
  return at;
}

void LineBuffer::Erase(std::size_t from, std::size_t to) {
  text_.erase(from, to - from);
  cursor_ = from;
}

bool LineBuffer::Apply(const Key& key) {
  const std::size_t line_start =
      cursor_ == 0 ? 0 : text_.rfind('\n', cursor_ - 1) + 1;  // npos + 1 is 0
  const std::size_t line_end = std::min(text_.find('\n', cursor_), text_.size());
  switch (key.kind) {
    case KeyKind::kText:
    case KeyKind::kNewline: {
      const std::string added = key.kind == KeyKind::kNewline ? "\n" : key.text;
      text_.insert(cursor_, added);
      cursor_ += added.size();
      return true;
    }
    case KeyKind::kLeft:
      cursor_ = Previous(cursor_);
      return true;
    case KeyKind::kRight:
      cursor_ = Next(cursor_);
      return true;
    case KeyKind::kHome:
      cursor_ = line_start;
      return true;
    case KeyKind::kEnd:
      cursor_ = line_end;
      return true;
    case KeyKind::kBackspace:
      Erase(Previous(cursor_), cursor_);
      return true;
    case KeyKind::kDelete:
      Erase(cursor_, Next(cursor_));
      return true;
    case KeyKind::kKillToEnd:
      Erase(cursor_, line_end);
      return true;
    case KeyKind::kKillToStart:
      Erase(line_start, cursor_);
      return true;
    case KeyKind::kKillWord: {
      std::size_t from = cursor_;
      while (from > 0 && text_[from - 1] == ' ') --from;
      while (from > 0 && text_[from - 1] != ' ' && text_[from - 1] != '\n') --from;
      Erase(from, cursor_);
      return true;
    }
    default:
      return false;
  }
}

char32_t CharacterAt(std::string_view text, std::size_t at, std::size_t& length) {
  length = SequenceLength(text[at]);
  const auto lead = static_cast<unsigned char>(text[at]);
  if (length == 1) return lead;
  if (at + length > text.size()) {
    length = 1;
    return U'\ufffd';
  }
  char32_t character = lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    character = (character << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  }
  return character;
}

int CharacterWidth(char32_t character) {
  using Range = std::pair<char32_t, char32_t>;
  constexpr std::array<Range, 7> kZero = {{{0x0300, 0x036f},
                                           {0x0591, 0x05bd},
                                           {0x064b, 0x065f},
                                           {0x200b, 0x200f},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f},
                                           {0x1f3fb, 0x1f3ff}}};
  constexpr std::array<Range, 9> kWide = {{{0x1100, 0x115f},
                                           {0x2e80, 0xa4cf},
                                           {0xac00, 0xd7a3},
                                           {0xf900, 0xfaff},
                                           {0xfe30, 0xfe6f},
                                           {0xff00, 0xff60},
                                           {0xffe0, 0xffe6},
                                           {0x1f300, 0x1faff},
                                           {0x20000, 0x3fffd}}};
  const auto within = [character](const Range& range) {
    return character >= range.first && character <= range.second;
  };
  if (std::ranges::any_of(kZero, within)) return 0;
  return std::ranges::any_of(kWide, within) ? 2 : 1;
}

bool ContinuesAfterEnter(std::string& text) {
  if (text.starts_with(kFence)) {
    const bool closed = text.size() >= 2 * kFence.size() && text.ends_with(kFence);
    if (!closed) text += '\n';
    return !closed;
  }
  if (!text.ends_with('\\')) return false;
  text.back() = '\n';
  return true;
}

std::string MessageOf(std::string_view text) {
  if (text.starts_with(kFence) && text.ends_with(kFence) && text.size() >= 2 * kFence.size()) {
    text = text.substr(kFence.size(), text.size() - 2 * kFence.size());
    if (text.starts_with('\n')) text.remove_prefix(1);
    if (text.ends_with('\n')) text.remove_suffix(1);
  }
  return std::string(text);
}

}  // namespace folio
