#include "api/custom_tool_input.h"

#include <array>
#include <cstddef>

#include "formats/json.h"

namespace folio {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void AppendUtf8(std::uint32_t point, std::string& text) {
  const auto byte = [&](std::uint32_t value) { text += static_cast<char>(value); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    byte(0xe0 | point >> 12);
    byte(0x80 | (point >> 6 & 0x3f));
  } else {
    byte(0xf0 | point >> 18);
    byte(0x80 | (point >> 12 & 0x3f));
    byte(0x80 | (point >> 6 & 0x3f));
  }
  byte(0x80 | (point & 0x3f));
}

// 16 for what is no hexadecimal digit.
std::uint32_t HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A') + 10;
  return 16;
}

// The character behind a backslash; 0 for what is no escape.
char Unescaped(char c) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  const std::size_t i = kNames.find(c);
  return i == std::string_view::npos ? '\0' : kValues[i];
}

std::string WholeText(const std::string& json) {
  const auto value = ParseJson(json);
  if (!value) return json;
  if (value->is_string()) return value->get<std::string>();
  const auto input = value->is_object() ? value->find("input") : value->end();
  if (!value->is_object() || input == value->end()) return json;
  return input->is_string() ? input->get<std::string>() : DumpJson(*input);
}

}  // namespace

bool CustomToolInput::FindText() {
  constexpr std::array<std::string_view, 4> kTokens = {"{", "\"input\"", ":", "\""};
  std::size_t at = 0;
  for (const std::string_view token : kTokens) {
    at = json_.find_first_not_of(kSpaces, at);
    if (at == std::string::npos) return false;
    const std::string_view found = std::string_view(json_).substr(at, token.size());
    if (!token.starts_with(found)) state_ = State::kOther;
    if (found != token) return false;
    at += token.size();
  }
  next_ = at;
  state_ = State::kInside;
  return true;
}

void CustomToolInput::FlushSurrogate(std::string& text) {
  if (high_ != 0) text += kReplacement;
  high_ = 0;
}

void CustomToolInput::TakeUnit(std::uint32_t unit, std::string& text) {
  const bool is_low = unit >= 0xdc00 && unit < 0xe000;
  if (is_low && high_ != 0) {
    AppendUtf8(0x10000 + ((high_ - 0xd800) << 10) + (unit - 0xdc00), text);
    high_ = 0;
    return;
  }
  FlushSurrogate(text);
  if (is_low) {
    text += kReplacement;
  } else if (unit >= 0xd800 && unit < 0xdc00) {
    high_ = unit;
  } else {
    AppendUtf8(unit, text);
  }
}

bool CustomToolInput::TakeEscape(std::string& text) {
  if (next_ + 1 >= json_.size()) return false;
  if (json_[next_ + 1] != 'u') {
    FlushSurrogate(text);
    const char c = Unescaped(json_[next_ + 1]);
    // No JSON, but what the model wrote.
    if (c == '\0') text += std::string_view(json_).substr(next_, 2);
    if (c != '\0') text += c;
    next_ += 2;
    return true;
  }
  if (next_ + 6 > json_.size()) return false;
  std::uint32_t unit = 0;
  bool is_hex = true;
  for (std::size_t i = next_ + 2; i < next_ + 6; ++i) {
    is_hex = is_hex && HexDigit(json_[i]) < 16;
    unit = unit << 4 | (HexDigit(json_[i]) & 15);
  }
  if (is_hex) {
    TakeUnit(unit, text);
    next_ += 6;
  } else {
    FlushSurrogate(text);
    text += "\\u";
    next_ += 2;
  }
  return true;
}

bool CustomToolInput::TakeOne(std::string& text) {
  const char c = json_[next_];
  if (c == '\\') return TakeEscape(text);
  FlushSurrogate(text);
  ++next_;
  if (c == '"') {
    state_ = State::kAfter;
  } else {
    text += c;
  }
  return true;
}

void CustomToolInput::Advance(std::string& text) {
  while (state_ == State::kInside && next_ < json_.size() && TakeOne(text)) {
  }
}

std::string CustomToolInput::Add(std::string_view json) {
  json_ += json;
  std::string text;
  if (state_ == State::kBefore) FindText();
  Advance(text);
  return text;
}

std::string CustomToolInput::End() {
  if (state_ == State::kBefore || state_ == State::kOther) return WholeText(json_);
  std::string text;
  FlushSurrogate(text);
  return text;
}

}  // namespace folio
