#include "text/grammar.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/grammar_testing.h"
#include "text/test_vocabulary.h"

namespace folio {
namespace {

using testing::Allows;
using testing::ByteLevelVocabulary;
using testing::GrammarWalk;
using ::testing::HasSubstr;
using testing::kEnd;
using testing::kHello;
using testing::kStart;
using testing::SentencePieceVocabulary;
using Kind = ReplyGrammar::Kind;

class GrammarTest : public ::testing::Test {
 protected:
  static Tokenizer Load() {
    auto tokenizer = ByteLevelVocabulary().Load();
    EXPECT_TRUE(tokenizer.has_value());
    return *std::move(tokenizer);
  }
  GrammarMatcher Compile(Kind kind, const std::string& text) {
    auto matcher = grammars_.Compile({.kind = kind, .text = text});
    EXPECT_TRUE(matcher.has_value()) << matcher.error().Message();
    if (!matcher) std::abort();
    return *std::move(matcher);
  }
  // Why a grammar is refused.
  std::string Refusal(Kind kind, const std::string& text) {
    const auto matcher = grammars_.Compile({.kind = kind, .text = text});
    EXPECT_FALSE(matcher.has_value()) << text.substr(0, 100);
    if (matcher) return "";
    EXPECT_EQ(matcher.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(matcher.error().what, "grammar");
    EXPECT_LE(matcher.error().why.size(), 1200U);
    EXPECT_EQ(matcher.error().why.find('\n'), std::string::npos);
    return matcher.error().why;
  }
  // Whether `text` is a whole reply.
  bool Fits(GrammarMatcher matcher, std::string_view text) {
    return testing::Fits(tokenizer_, std::move(matcher), text);
  }

  Tokenizer tokenizer_ = Load();
  GrammarCompiler grammars_{tokenizer_};
};

TEST_F(GrammarTest, ARegexAllowsWhatContinuesIt) {
  GrammarMatcher matcher = Compile(Kind::kRegex, "hello|help");
  EXPECT_TRUE(Allows(matcher, kHello));
  EXPECT_TRUE(Allows(matcher, 'h' - '!'));
  EXPECT_FALSE(Allows(matcher, 'e' - '!'));
  EXPECT_FALSE(Allows(matcher, kEnd)) << "it may not end yet";
  ASSERT_TRUE(matcher.Take(kHello).has_value());
  EXPECT_TRUE(matcher.complete());
  EXPECT_TRUE(Allows(matcher, kEnd));
}

TEST_F(GrammarTest, TheEndIsAllowedExactlyWhereAReplyMayEnd) {
  GrammarMatcher matcher = Compile(Kind::kRegex, "ab(cd)*");
  const auto take = [&](char c) {
    ASSERT_TRUE(matcher.Take(c - '!').has_value());
    EXPECT_FALSE(matcher.complete());
  };
  EXPECT_FALSE(Allows(matcher, kEnd));
  take('a');
  EXPECT_FALSE(Allows(matcher, kEnd));
  take('b');
  EXPECT_TRUE(Allows(matcher, kEnd));
  take('c');
  EXPECT_FALSE(Allows(matcher, kEnd));
  take('d');
  EXPECT_TRUE(Allows(matcher, kEnd));
}

TEST_F(GrammarTest, ControlTokensAreNoText) {
  GrammarMatcher matcher = Compile(Kind::kRegex, "(.|\n)*");
  EXPECT_TRUE(Allows(matcher, 0));
  EXPECT_FALSE(Allows(matcher, kStart));
  GrammarMatcher spelled = Compile(Kind::kLark, "start: \"<|im_start|>\"");
  EXPECT_FALSE(Allows(spelled, kStart));
  EXPECT_TRUE(Allows(spelled, '<' - '!'));
}

TEST_F(GrammarTest, AGrammarMayNameAControlToken) {
  GrammarMatcher matcher = Compile(Kind::kLark, "start: <|im_start|> \"hello\" <[100]>");
  EXPECT_TRUE(Allows(matcher, kStart));
  EXPECT_FALSE(Allows(matcher, '<' - '!'));
  ASSERT_TRUE(matcher.Take(kStart).has_value());
  ASSERT_TRUE(matcher.Take(kHello).has_value());
  EXPECT_TRUE(Allows(matcher, kStart));
  ASSERT_TRUE(matcher.Take(kStart).has_value());
  EXPECT_TRUE(matcher.complete());
}

TEST_F(GrammarTest, ACopyGoesItsOwnWay) {
  GrammarMatcher one = Compile(Kind::kRegex, "ab|cd");
  ASSERT_TRUE(Allows(one, 'a' - '!'));
  auto other = one.Copy();
  ASSERT_TRUE(other.has_value());
  ASSERT_TRUE(one.Take('a' - '!').has_value());
  ASSERT_TRUE(other->Take('c' - '!').has_value());
  EXPECT_TRUE(Allows(one, 'b' - '!'));
  EXPECT_FALSE(Allows(one, 'd' - '!'));
  EXPECT_TRUE(Allows(*other, 'd' - '!'));
}

TEST_F(GrammarTest, ATokenThatIsForbiddenIsAnErrorForGood) {
  GrammarMatcher matcher = Compile(Kind::kRegex, "ab");
  const Status taken = matcher.Take('z' - '!');
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().what, "grammar");
  EXPECT_FALSE(matcher.Allowed().has_value());
}

TEST_F(GrammarTest, SchemasAreKeptTo) {
  const std::string schema =
      R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 3}, "b": {"enum": ["x", null]}},
          "required": ["a"], "additionalProperties": false})";
  EXPECT_TRUE(Fits(Compile(Kind::kJsonSchema, schema), R"({"a":3})"));
  EXPECT_TRUE(Fits(Compile(Kind::kJsonSchema, schema), R"({ "a": 12, "b": null })"));
  EXPECT_FALSE(Fits(Compile(Kind::kJsonSchema, schema), R"({"a":2})"));
  EXPECT_FALSE(Fits(Compile(Kind::kJsonSchema, schema), R"({"b":"x"})"));
  EXPECT_FALSE(Fits(Compile(Kind::kJsonSchema, schema), R"({"a":3,"c":1})"));
  EXPECT_FALSE(Fits(Compile(Kind::kJsonSchema, schema), R"({"a":3)"));
}

TEST_F(GrammarTest, WhitespaceInJsonHasAnEnd) {
  const std::string blank(40, ' ');
  EXPECT_TRUE(Fits(Compile(Kind::kJsonSchema, "{}"), "[" + blank + "1]"));
  EXPECT_FALSE(Fits(Compile(Kind::kJsonSchema, "{}"), "[" + blank + " 1]"));
}

TEST_F(GrammarTest, ByteTokensSpellWhatIsNoWholeCharacter) {
  auto tokenizer = SentencePieceVocabulary().Load();
  ASSERT_TRUE(tokenizer.has_value());
  const GrammarCompiler grammars(*tokenizer);
  auto matcher = grammars.Compile({.kind = Kind::kRegex, .text = "é+"});
  ASSERT_TRUE(matcher.has_value()) << matcher.error().Message();
  constexpr TokenId kByte = 3;  // <0x00>
  EXPECT_TRUE(Allows(*matcher, kByte + 0xC3));
  EXPECT_FALSE(Allows(*matcher, kByte + 0xC4));
  EXPECT_FALSE(Allows(*matcher, kByte + 0xFF));
  ASSERT_TRUE(matcher->Take(kByte + 0xC3).has_value());
  EXPECT_TRUE(Allows(*matcher, kByte + 0xA9));
  EXPECT_FALSE(Allows(*matcher, tokenizer->eos()));
}

TEST_F(GrammarTest, RefusalsSayWhatIsWrong) {
  EXPECT_THAT(Refusal(Kind::kJsonSchema, "{"), HasSubstr("is no JSON"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, "[]"), HasSubstr("object or boolean"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, R"({"type": "nope"})"), HasSubstr("nope"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, R"({"not": {"type": "string"}})"), HasSubstr("not"));
  EXPECT_THAT(Refusal(Kind::kJsonSchema, "\xff"), HasSubstr("UTF-8"));
  EXPECT_EQ(Refusal(Kind::kRegex, "a("), "has a bad regular expression: unclosed group");
  EXPECT_THAT(Refusal(Kind::kRegex, "a | \\b"), HasSubstr("invalid regex"));
  EXPECT_THAT(Refusal(Kind::kLark, "start: a"), HasSubstr("unknown name"));
  EXPECT_THAT(Refusal(Kind::kLark, ""), HasSubstr("no start"));
  EXPECT_THAT(Refusal(Kind::kLark, "start: <|nope|>"), HasSubstr("unknown special token"));
  EXPECT_THAT(Refusal(Kind::kRegex, "é"), HasSubstr("allows no reply")) << "no token has its bytes";
}

struct Hostile {
  std::string name;
  Kind kind;
  std::string text;
  bool refused;
};

std::string Repeat(std::string_view text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

// {"p0": MEMBER, ...}
std::string Members(int count, const std::string& member) {
  std::string all;
  for (int i = 0; i < count; ++i)
    all += (i == 0 ? "{\"p" : ",\"p") + std::to_string(i) + "\":" + member;
  return all + "}";
}

std::string AllOfBlowUp() {
  std::string all;
  for (int i = 0; i < 10; ++i) {
    std::string any;
    for (int j = 0; j < 8; ++j) {
      const std::string name = "p" + std::to_string(i) + "_" + std::to_string(j);
      any.append(j == 0 ? "" : ",").append(R"({"required":[")").append(name);
      any.append(R"("],"properties":{")").append(name).append(R"(":{"type":"string"}}})");
    }
    all.append(i == 0 ? "" : ",").append(R"({"anyOf":[)").append(any).append("]}");
  }
  return R"({"allOf":[)" + all + "]}";
}

std::string Chain(const std::string& name, const std::string& before, const std::string& after,
                  int length) {
  std::string text = "start: " + name + "0\n";
  for (int i = 0; i < length; ++i) {
    text.append(name).append(std::to_string(i)).append(": ").append(before);
    text.append(name).append(std::to_string(i + 1)).append(after).append("\n");
  }
  return text + name + std::to_string(length) + ": \"a\"\n";
}

std::vector<Hostile> HostileGrammars() {
  using enum Kind;
  std::string values;
  for (int i = 0; i < 50000; ++i) values += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\"";
  const std::string few = values.substr(0, values.find(",\"v6000\""));
  return {
      {"AllOfBlowUp", kJsonSchema, AllOfBlowUp(), true},
      {"Deep", kJsonSchema, Repeat(R"({"items":)", 5000) + "{}" + Repeat("}", 5000), true},
      {"JustDeepEnough", kJsonSchema, Repeat(R"({"items":)", 60) + "{}" + Repeat("}", 60), false},
      {"OptionalProperties5000", kJsonSchema,
       R"({"type":"object","properties":)" + Members(5000, R"({"type":"string"})") + "}", true},
      {"OptionalProperties400", kJsonSchema,
       R"({"type":"object","properties":)" + Members(400, R"({"type":"string"})") + "}", false},
      {"Enum50000", kJsonSchema, R"({"enum":[)" + values + "]}", true},
      {"Enum6000", kJsonSchema, R"({"enum":[)" + few + "]}", false},
      {"RecursionWithoutEnd", kJsonSchema, R"({"$ref":"#"})", true},
      {"Recursion", kJsonSchema, R"({"anyOf":[{"const":1},{"type":"array","items":{"$ref":"#"}}]})",
       false},
      {"RemoteReference", kJsonSchema, R"({"$ref":"http://example.com/schema.json"})", true},
      {"FileReference", kJsonSchema, R"({"$ref":"file:///etc/passwd"})", true},
      {"MultipleOf", kJsonSchema, R"({"type":"integer","multipleOf":9999991})", true},
      {"ManyMultiples", kJsonSchema,
       R"({"properties":)" + Members(300, R"({"type":"integer","multipleOf":997})") + "}", true},
      {"MultipleOfAMillion", kJsonSchema, R"({"type":"integer","multipleOf":1000000})", false},
      {"PatternProperties", kJsonSchema,
       R"({"patternProperties":)" + Members(399, R"({"type":"string"})") + "}", true},
      {"LongStrings", kJsonSchema, R"({"type":"string","minLength":4294967295})", false},
      {"LongLists", kJsonSchema, R"({"type":"array","items":{},"minItems":4294967295})", false},
      {"UniqueItems", kJsonSchema, R"({"type":"array","uniqueItems":true})", true},
      {"LookAround", kJsonSchema, R"({"type":"string","pattern":"^(?=a)b"})", true},
      {"Regex1MB", kRegex, std::string(1 << 20, 'x'), true},
      {"Regex60KB", kRegex, std::string(60000, 'x'), false},
      {"RegexGroups", kRegex, Repeat("(", 20000) + "a" + Repeat(")", 20000), true},
      {"RegexCounts", kRegex, "((((a{0,50}){0,50}){0,50}){0,50}){0,50}", false},
      {"RegexStates", kRegex, "(.*a.{20}.*b.{20}.*c.{25})", false},
      {"ChainOfRules", kLark, Chain("r", "", "", 3500), false},
      {"ChainOfRulesAround", kLark, Chain("r", "\"a\" ", " \"b\"", 2000), false},
      {"ChainOfTerminals", kLark, Chain("T", "", "", 3500), true},
      {"ChainOfRepeats", kLark, Chain("T", "(", " \"a\")+", 2500), true},
      {"Groups", kLark, "start: " + Repeat("(", 20000) + "\"a\"" + Repeat(")", 20000), true},
      {"Ambiguous", kLark, "start: e\ne: e e | \"a\" | e \"+\" e", false},
      {"LeftRecursionWithoutEnd", kLark, "start: start start", true},
  };
}

class HostileGrammarTest : public GrammarTest, public ::testing::WithParamInterface<Hostile> {};

// Each is refused or can be used, on a small stack too: masks are drawn on the engine's threads.
TEST_P(HostileGrammarTest, IsRefusedOrWorksInBoundedTime) {
  const auto start = std::chrono::steady_clock::now();
  const Hostile& hostile = GetParam();
  auto matcher = grammars_.Compile({.kind = hostile.kind, .text = hostile.text});
  EXPECT_EQ(matcher.has_value(), !hostile.refused)
      << (matcher ? "compiled" : matcher.error().Message());
  if (matcher) {
    testing::OnSmallStack([&] {
      GrammarMatcher mine = *std::move(matcher);
      GrammarWalk walk(tokenizer_, /*seed=*/7);
      walk.Run(mine, /*most_tokens=*/300);  // an error of the limits is fine
    });
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

INSTANTIATE_TEST_SUITE_P(Hostile, HostileGrammarTest, ::testing::ValuesIn(HostileGrammars()),
                         [](const auto& hostile) { return hostile.param.name; });

}  // namespace
}  // namespace folio
