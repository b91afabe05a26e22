#include "folio/line_buffer.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace folio {
namespace {

std::vector<Key> Decode(const std::string& bytes) {
  KeyDecoder decoder;
  std::vector<Key> keys;
  for (const char byte : bytes) {
    if (auto key = decoder.Push(byte)) keys.push_back(*key);
  }
  return keys;
}

std::string Typed(const std::string& bytes) {
  LineBuffer buffer;
  for (const Key& key : Decode(bytes)) buffer.Apply(key);
  return buffer.text();
}

TEST(KeyDecoderTest, CharactersArriveWhole) {
  const auto keys = Decode("aé👋");
  ASSERT_EQ(keys.size(), 3U);
  EXPECT_EQ(keys[1].text, "é");
  EXPECT_EQ(keys[2].text, "👋");
}

TEST(KeyDecoderTest, EscapeSequencesAreKeys) {
  const auto keys = Decode("\x1b[A\x1b[1;5C\x1b[3~\x1bOH\x1b[99~\x1b[F");
  ASSERT_EQ(keys.size(), 5U) << "an unknown sequence is swallowed";
  EXPECT_EQ(keys[0].kind, KeyKind::kUp);
  EXPECT_EQ(keys[1].kind, KeyKind::kRight);
  EXPECT_EQ(keys[2].kind, KeyKind::kDelete);
  EXPECT_EQ(keys[3].kind, KeyKind::kHome);
  EXPECT_EQ(keys[4].kind, KeyKind::kEnd);
}

TEST(KeyDecoderTest, APasteIsOneTextWithItsLineBreaks) {
  const auto keys = Decode("\x1b[200~one\rtwo\x1b[31m\x1b[201~\r");
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].text, "one\ntwo[31m");
  EXPECT_EQ(keys[1].kind, KeyKind::kEnter);
}

TEST(LineBufferTest, EditsBetweenCharacters) {
  EXPECT_EQ(Typed("grün\x1b[D\x1b[D\x7fo"), "goün");
  EXPECT_EQ(Typed("ab\x01"
                  "x\x05y"),
            "xaby");
  EXPECT_EQ(Typed("one two three\x17\x17"), "one ");
  EXPECT_EQ(Typed("one two\x1b[D\x1b[D\x0b"), "one t");
  EXPECT_EQ(Typed("one\ntwo\x15"), "one\n") << "Ctrl-J breaks a line, Ctrl-U kills the last";
}

RC_GTEST_PROP(LineBufferTest, TheCursorNeverStandsInsideACharacter, (const std::string& noise)) {
  KeyDecoder decoder;
  LineBuffer buffer;
  for (const char byte : "日本é" + noise) {
    if (const auto key = decoder.Push(byte)) buffer.Apply(*key);
    RC_ASSERT(buffer.cursor() <= buffer.text().size());
    if (buffer.cursor() < buffer.text().size()) {
      RC_ASSERT((static_cast<unsigned char>(buffer.text()[buffer.cursor()]) & 0xc0U) != 0x80U);
    }
  }
}

TEST(MultiLineTest, ABackslashOrAFenceContinues) {
  std::string text = "one\\";
  EXPECT_TRUE(ContinuesAfterEnter(text));
  EXPECT_EQ(text, "one\n");
  text += "two";
  EXPECT_FALSE(ContinuesAfterEnter(text));
  EXPECT_EQ(MessageOf(text), "one\ntwo");

  text = "\"\"\"";
  EXPECT_TRUE(ContinuesAfterEnter(text));
  text += "code \\";
  EXPECT_TRUE(ContinuesAfterEnter(text));
  text += "\"\"\"";
  EXPECT_FALSE(ContinuesAfterEnter(text));
  EXPECT_EQ(MessageOf(text), "code \\");
}

TEST(CharacterWidthTest, WideAndCombiningCharacters) {
  EXPECT_EQ(CharacterWidth(U'a'), 1);
  EXPECT_EQ(CharacterWidth(U'日'), 2);
  EXPECT_EQ(CharacterWidth(U'👋'), 2);
  EXPECT_EQ(CharacterWidth(0x0301), 0);
}

}  // namespace
}  // namespace folio
