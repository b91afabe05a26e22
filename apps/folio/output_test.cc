#include "folio/output.h"

#include <string>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ForTerminalTest, ControlSequencesLoseTheirTeeth) {
  EXPECT_EQ(ForTerminal("a\x1b[31mb\r\x07\x7f"), "a[31mb");
  EXPECT_EQ(ForTerminal("\xc2\x9b"
                        "31m"),
            "31m")
      << "the one-character CSI";
}

TEST(ForTerminalTest, TextStaysAsItIs) {
  const std::string text = "Zeile\n\tGrüße, 日本 \xc2\xa0 👋";
  EXPECT_EQ(ForTerminal(text), text);
}

TEST(HumanBytesTest, PicksTheUnit) {
  EXPECT_EQ(HumanBytes(999), "999 B");
  EXPECT_EQ(HumanBytes(1536), "1.50 KiB");
  EXPECT_EQ(HumanBytes(std::uint64_t{5} << 30), "5.00 GiB");
}

}  // namespace
}  // namespace folio
