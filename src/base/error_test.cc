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

TEST(ErrorTest, LongPartsAreCut) {
  EXPECT_LT((Error{ErrorKind::kInput, std::string(100000, 'x'), "", "b"}).Message().size(), 500U);
}

}  // namespace
}  // namespace folio
