#include "base/error.h"

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ErrorTest, MessageJoinsThePartsOnOneLine) {
  const Error error{ErrorKind::kInput, "m.gguf", "llama.block_count", "is 0, must be 1 or more"};
  EXPECT_EQ(error.Message(), "m.gguf: llama.block_count: is 0, must be 1 or more");
}

TEST(ErrorTest, EmptyPartsAreLeftOut) {
  EXPECT_EQ((Error{ErrorKind::kRuntime, "a", "", "b"}).Message(), "a: b");
}

TEST(ErrorTest, ControlCharactersOfUntrustedTextAreEscaped) {
  EXPECT_EQ((Error{ErrorKind::kInput, "a\n\x1b[31m", "", "b"}).Message(), "a\\x0a\\x1b[31m: b");
}

TEST(ErrorTest, ControlCharactersBeyondAsciiAreEscaped) {
  // U+009B begins a terminal command, as ESC [ does.
  EXPECT_EQ((Error{ErrorKind::kInput, "a\xc2\x9b 31m\xc2\xa0", "", "b"}).Message(),
            "a\\xc2\\x9b 31m\xc2\xa0: b");
}

TEST(ErrorTest, BytesThatAreNoUtf8AreEscaped) {
  EXPECT_EQ((Error{ErrorKind::kInput, "\xff\x9b\xe4\xb8", "", "\xc3\xa9\xe4\xb8\xad"}).Message(),
            "\\xff\\x9b\\xe4\\xb8: \xc3\xa9\xe4\xb8\xad");
}

TEST(ErrorTest, ALongPartIsCutBetweenCharacters) {
  std::string text = "x";
  while (text.size() < 1000) text += "\xc3\xa9";
  const std::string message = Error{ErrorKind::kInput, text, "", ""}.Message();
  EXPECT_EQ(message, text.substr(0, message.size() - 3) + "...");
  EXPECT_EQ(message.size() % 2, 0U);  // x, whole characters, three dots
}

TEST(ErrorTest, LongPartsAreCut) {
  EXPECT_LT((Error{ErrorKind::kInput, std::string(100000, 'x'), "", "b"}).Message().size(), 500U);
}

}  // namespace
}  // namespace folio
