#include "folio/options.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace folio {
namespace {

TEST(ParseByteSizeTest, UnitsAreBinaryOrDecimalAsWritten) {
  EXPECT_EQ(ParseByteSize("8GiB"), std::uint64_t{8} << 30);
  EXPECT_EQ(ParseByteSize("1.5 MiB"), (std::uint64_t{3} << 20) / 2);
  EXPECT_EQ(ParseByteSize("2GB"), 2000000000U);
  EXPECT_EQ(ParseByteSize("123"), 123U);
  EXPECT_EQ(ParseByteSize("123B"), 123U);
}

TEST(ParseByteSizeTest, OtherTextIsNoSize) {
  for (const char* text : {"", "GiB", "-1GiB", "8gib", "8 G", "nan", "inf", "1e300", "8GiBx"}) {
    EXPECT_EQ(ParseByteSize(text), std::nullopt) << text;
  }
}

TEST(ParseIdsTest, ListsOfNumbers) {
  EXPECT_EQ(ParseIds("1,2,3"), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(ParseIds(" 7 \n"), (std::vector<std::int32_t>{7}));
  for (const char* text : {"", ",", "1,", "1,,2", "a", "1.5", "99999999999", "1 2"}) {
    EXPECT_EQ(ParseIds(text), std::nullopt) << text;
  }
}

// What the command line says to a wrong value, and what it stores for a right one.
std::string ParseError(CLI::App& app, const std::string& option, const std::string& value) {
  try {
    app.parse(std::vector<std::string>{value, option});  // CLI11 takes them last first
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

TEST(OptionTest, AWrongNumberIsNamedWithItsOptionAndRange) {
  CLI::App app;
  Action action;
  const Command command(app, action);
  std::int64_t value = 5;
  command.AddWhole("--top-k", value, 0, 10, "");
  EXPECT_EQ(ParseError(app, "--top-k", "11"), "--top-k: '11' is not a whole number from 0 to 10");
  EXPECT_NE(ParseError(app, "--top-k", "010x"), "");
  EXPECT_NE(ParseError(app, "--top-k", "-1"), "");
  EXPECT_EQ(value, 5);
  EXPECT_EQ(ParseError(app, "--top-k", "010"), "");
  EXPECT_EQ(value, 10) << "no octal numbers";
}

TEST(OptionTest, SeedsCoverAllSixtyFourBits) {
  CLI::App app;
  Action action;
  const Command command(app, action);
  std::optional<std::uint64_t> seed;
  command.AddSeed("--seed", seed, "");
  EXPECT_EQ(ParseError(app, "--seed", "18446744073709551615"), "");
  EXPECT_EQ(seed, 18446744073709551615U);
  EXPECT_NE(ParseError(app, "--seed", "18446744073709551616"), "");
  EXPECT_NE(ParseError(app, "--seed", "-1"), "");
}

TEST(OptionTest, RealNumbersAreFinite) {
  CLI::App app;
  Action action;
  const Command command(app, action);
  float value = 0;
  command.AddReal("--top-p", value, "");
  EXPECT_EQ(ParseError(app, "--top-p", "0.5"), "");
  EXPECT_EQ(value, 0.5F);
  EXPECT_NE(ParseError(app, "--top-p", "nan"), "");
  EXPECT_NE(ParseError(app, "--top-p", "0,5"), "");
}

TEST(OptionTest, TextsAreCollectedUnlessOnceIsAsked) {
  CLI::App app;
  Action action;
  const Command command(app, action);
  std::vector<std::string> many;
  std::vector<std::string> one;
  command.AddTexts("--stop", many, "");
  command.AddTexts("--text", one, "").Once();
  app.parse("--stop a --stop b --text c");
  EXPECT_EQ(many, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(one, (std::vector<std::string>{"c"}));
  EXPECT_THROW(app.parse("--text c --text d"), CLI::ParseError);
  EXPECT_THROW(app.parse("--stop a b"), CLI::ParseError) << "one text each time";
}

TEST(CommandTest, TheInnermostCommandThatWasAskedForIsWhatThereIsToDo) {
  for (const auto& [line, wanted] : {std::pair{"models", "list"}, std::pair{"models rm", "rm"}}) {
    CLI::App app;
    Action action;
    std::string done;
    const Command models = Command(app, action).AddCommand("models", "");
    const auto does = [&done](const char* what) {
      return [&done, what]() -> Status {
        done = what;
        return {};
      };
    };
    models.SetAction(does("list"));
    models.AddCommand("rm", "").SetAction(does("rm"));
    app.parse(line);
    EXPECT_EQ(done, "") << "reading the line does nothing yet";
    ASSERT_TRUE(action);
    EXPECT_TRUE(action());
    EXPECT_EQ(done, wanted);
  }
}

TEST(CommandTest, AGroupIsAHeadingOfTheHelp) {
  CLI::App app;
  Action action;
  const Command command(app, action);
  bool flag = false;
  command.Group("Engine").AddFlag("--fast", flag, "");
  command.AddFlag("--json", flag, "");
  const std::string help = app.help();
  EXPECT_GT(help.find("--fast"), help.find("Engine:"));
  EXPECT_LT(help.find("--json"), help.find("Engine:"));
}

}  // namespace
}  // namespace folio
