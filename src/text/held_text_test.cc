// Texts inside replies that keep to grammars of their own: each is allowed exactly where it would
// be a reply of its grammar, however it is spelled there and cut into tokens.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "formats/json.h"
#include "text/grammar.h"
#include "text/grammar_testing.h"
#include "text/test_vocabulary.h"

namespace folio {
namespace {

using testing::GrammarWalk;
using ::testing::HasSubstr;
using Random = std::mt19937_64;
using Kind = ReplyGrammar::Kind;

constexpr TokenId kFirstByte = 3;  // <0x00>

// Tokens of several bytes, also such as go over the edges of texts.
const std::vector<std::string>& LongTokens() {
  static const std::vector<std::string> tokens = {"ab",   "\\n",  "\\\"", "a\\",  "\"}",
                                                  "b\"}", ":\"a", "\n<",  "</p>", "a\n</p",
                                                  ">b",   ":\"",  "\n\n"};
  return tokens;
}

Tokenizer Load() {
  auto vocabulary = testing::SentencePieceVocabulary();
  for (const std::string& token : LongTokens()) {
    vocabulary.Add(token, testing::kUserDefinedType);
  }
  auto tokenizer = vocabulary.Load();
  EXPECT_TRUE(tokenizer.has_value());
  return *std::move(tokenizer);
}

// As it may stand in a JSON string, with one spelling for each text.
std::string InJson(std::string_view text) {
  const std::string quoted = DumpJson(Json(text));
  return quoted.substr(1, quoted.size() - 2);
}

class HeldTextTest : public ::testing::Test {
 protected:
  HeldText InString(const std::string& grammar) const {
    return {.name = "text", .opening = "in:\"", .closing = "", .grammar = grammar};
  }
  HeldText Raw(const std::string& grammar) const {
    return {.name = "text", .opening = "<p>", .closing = "</p>", .grammar = grammar};
  }
  // A reply with texts among others.
  static ReplyGrammar Reply(std::vector<HeldText> held) {
    return {.kind = Kind::kRegex, .text = "(.|\n)*", .held = std::move(held)};
  }
  GrammarMatcher Compile(const ReplyGrammar& grammar) const {
    auto matcher = grammars_.Compile(grammar);
    EXPECT_TRUE(matcher.has_value()) << matcher.error().Message();
    if (!matcher) std::abort();
    return *std::move(matcher);
  }
  // Cut at random.
  std::vector<TokenId> Cut(std::string_view text, Random& random) const {
    std::vector<TokenId> ids;
    const auto first = static_cast<TokenId>(tokenizer_.vocab_size() - LongTokens().size());
    while (!text.empty()) {
      const std::size_t i = random() % LongTokens().size();
      const bool is_long = text.starts_with(LongTokens()[i]);
      ids.push_back(is_long ? first + static_cast<TokenId>(i)
                            : kFirstByte + static_cast<std::uint8_t>(text.front()));
      text.remove_prefix(is_long ? LongTokens()[i].size() : 1);
    }
    return ids;
  }
  // Whether `text` is a whole reply. Where nothing can follow, the mask is an error.
  bool Takes(GrammarMatcher matcher, std::string_view text) {
    for (const TokenId id : Cut(text, random_)) {
      if (matcher.complete()) return false;
      const auto mask = matcher.Allowed();
      if (!mask || !testing::IsSet(*mask, id) || !matcher.Take(id)) return false;
    }
    if (matcher.complete()) return true;
    const auto mask = matcher.Allowed();
    return mask && testing::IsSet(*mask, tokenizer_.end_tokens().front());
  }
  bool Fits(const ReplyGrammar& grammar, std::string_view text) {
    return Takes(Compile(grammar), text);
  }
  std::string Refusal(const HeldText& text) const {
    const auto matcher = grammars_.Compile(Reply({text}));
    EXPECT_FALSE(matcher.has_value());
    if (matcher) return "";
    EXPECT_EQ(matcher.error().what, "grammar");
    EXPECT_EQ(matcher.error().where, text.name);
    EXPECT_EQ(matcher.error().why.find('\n'), std::string::npos);
    return matcher.error().why;
  }

  Tokenizer tokenizer_ = Load();
  GrammarCompiler grammars_{tokenizer_};
  Random random_{1};
};

// Edits of files, as agents ask for them.
constexpr const char* kEdits = R"(
start: "BEGIN" LF edit+ "END" LF?
edit: make | drop | change
make: "make " path LF ("+" /(.*)/ LF)+
drop: "drop " path LF
change: "change " path LF ("to " path LF)? (place | line)+
place: ("@" | "@ " /(.+)/) LF
line: ("+" | "-" | " ") /(.*)/ LF
path: /(.+)/
%import common.LF
)";
constexpr const char* kEdit =
    "BEGIN\nmake a\\b \"c\".py\n+print(\"<p>\\n\")\n+\nchange x\n@ f(\"\\\\\")\n-\ta\n+\tb\nEND";

TEST_F(HeldTextTest, AJsonStringKeepsToItsGrammar) {
  const ReplyGrammar reply = Reply({InString(kEdits)});
  const auto fits = [&](const std::string& text) {
    return Fits(reply, "So: {in:\"" + InJson(text) + "\"} more");
  };
  EXPECT_TRUE(fits(kEdit));
  EXPECT_TRUE(fits(std::string(kEdit) + "\n"));
  EXPECT_FALSE(fits(std::string(kEdit) + "\n\n"));
  EXPECT_FALSE(fits("BEGIN\nEND"));
  EXPECT_FALSE(fits("BEGIN\nmake a\nEND"));
  EXPECT_TRUE(Fits(reply, "in: \"BEGIN\nEND\"")) << "nothing opened a text";
}

TEST_F(HeldTextTest, ARawTextKeepsToItsGrammar) {
  const ReplyGrammar reply = Reply({Raw(kEdits)});
  const auto fits = [&](const std::string& text) {
    return Fits(reply, "So: <p>" + text + "\n</p> more");
  };
  EXPECT_TRUE(fits(kEdit));
  EXPECT_TRUE(fits(std::string(kEdit) + "\n"));
  EXPECT_FALSE(fits(std::string(kEdit) + "\n\n"));
  EXPECT_FALSE(fits("BEGIN\nEND"));
  EXPECT_TRUE(fits("BEGIN\nmake a\n+</q>\n+</\nEND"));
  EXPECT_FALSE(fits("BEGIN\nmake a\n+</p>\nEND")) << "whoever reads it would end it there";
}

TEST_F(HeldTextTest, EveryTextOfAReplyIsHeld) {
  HeldText other = InString("start: /[0-9]+/");
  other.opening = "number:\"";
  const ReplyGrammar reply = Reply({InString("start: \"ab\""), other});
  EXPECT_TRUE(Fits(reply, "in:\"ab\"} in:\"ab\"} number:\"12\""));
  EXPECT_FALSE(Fits(reply, "in:\"ab\"} in:\"12\"}"));
  EXPECT_FALSE(Fits(reply, "in:\"ab\"} number:\"ab\""));
  EXPECT_TRUE(Fits(Reply({InString("start: /.*/")}), R"(in:"in:\"x"})")) << "one text inside it";
}

TEST_F(HeldTextTest, AReplyMayEndInsideATextOnlyWhereItsGrammarAllows) {
  HeldText text = InString("start: \"ab\"");
  const ReplyGrammar reply{
      .kind = Kind::kLark, .text = "start: \"in:\\\"\" /[^\"]+/ \"\\\"\"", .held = {text}};
  EXPECT_TRUE(Fits(reply, "in:\"ab\""));
  EXPECT_FALSE(Fits(reply, "in:\"ac\""));
  EXPECT_FALSE(Fits(reply, "in:\"a\""));
}

TEST_F(HeldTextTest, ARegularExpressionHoldsToo) {
  HeldText text = InString(R"([a"/]+|\\)");
  text.is_regex = true;
  EXPECT_TRUE(Fits(Reply({text}), R"(in:"a\"/")"));
  EXPECT_TRUE(Fits(Reply({text}), R"(in:"\\")"));
  EXPECT_FALSE(Fits(Reply({text}), R"(in:"\\a")"));
}

TEST_F(HeldTextTest, ACopyGoesItsOwnWay) {
  GrammarMatcher one = Compile(Reply({InString("start: \"ab\" | \"cd\"")}));
  for (const TokenId id : Cut("in:\"a", random_)) ASSERT_TRUE(one.Take(id).has_value());
  auto other = one.Copy();
  ASSERT_TRUE(other.has_value());
  ASSERT_TRUE(one.Take(kFirstByte + 'b').has_value());
  EXPECT_TRUE(testing::Allows(*other, kFirstByte + 'b'));
  EXPECT_FALSE(testing::Allows(*other, kFirstByte + '"'));
  EXPECT_TRUE(testing::Allows(one, kFirstByte + '"'));
}

TEST_F(HeldTextTest, RefusalsSayWhatIsWrongAndWhere) {
  EXPECT_THAT(Refusal(InString("start: <|im_end|>")), HasSubstr("<|im_end|>"));
  EXPECT_THAT(Refusal(InString("start: nothing")), HasSubstr("nothing"));
  EXPECT_THAT(Refusal(InString("a: \"b\"")), HasSubstr("no start"));
  EXPECT_THAT(Refusal(InString("start: start start")), HasSubstr("allows no"));
  EXPECT_THAT(Refusal(InString("start: /(?=a)b/")), HasSubstr("regular expression"));
  EXPECT_THAT(Refusal(InString("start: \"" + std::string(70000, 'a') + "\"")), HasSubstr("65536"));
  HeldText bad = Raw("start: \"a\"");
  bad.closing = "p>";
  EXPECT_THAT(Refusal(bad), HasSubstr("closing"));
  const std::string half = "start: \"" + std::string(40000, 'a') + "\"";
  const auto together = grammars_.Compile(Reply({InString(half), Raw(half)}));
  ASSERT_FALSE(together.has_value());
  EXPECT_THAT(together.error().why, HasSubstr("together"));
}

TEST_F(HeldTextTest, NoGrammarTakesLong) {
  for (const char* grammar :
       {"start: e\ne: e e | \"a\" | e \"+\" e", "start: /(.*a.{20}.*b.{20}.*c.{25})/",
        "start: /((((a{0,50}){0,50}){0,50}){0,50}){0,50}/", "start: /(.|\\n)*/ /[\"\\\\]*/*"}) {
    const auto start = std::chrono::steady_clock::now();
    testing::OnSmallStack([&] {
      GrammarMatcher matcher = Compile(Reply({InString(grammar)}));
      for (const TokenId id : Cut("in:\"", random_)) ASSERT_TRUE(matcher.Take(id).has_value());
      GrammarWalk(tokenizer_, /*seed=*/7).Run(matcher, /*most_tokens=*/200);
    });
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << grammar;
  }
}

template <std::size_t count>
std::string OneOf(Random& random, const char* const (&choices)[count]) {
  return choices[random() % count];
}

std::string RandomTerm(Random& random, int rule) {
  constexpr const char* kLiterals[] = {
      R"("a")",    R"("ab")", R"("\"")",     R"("\\")", R"("\n")",   R"("\t")",  R"("\u0001")",
      R"("b\"a")", R"("A"i)", R"("a".."c")", R"("<")",  R"("</p>")", R"("\n<")", R"("é")"};
  constexpr const char* kRegexes[] = {
      R"(/[ab"]+/)", R"(/[^a]/)",      R"(/.*/)",      R"(/(a|\\)*/)", R"(/[\n\t\x01\x1f]+/)",
      R"(/.+/)",     R"(/[a-z<\n]+/)", R"(/(.|\n)+/)", R"(/\\.|"b"/)", R"(/A.B/is)"};
  constexpr const char* kOps[] = {"", "", "?", "*", "+", "{2}", "{1,2}"};
  std::string term;
  switch (random() % 6) {
    case 0:
      term = OneOf(random, kRegexes);
      break;
    case 1:
      term = "T" + std::string(1, static_cast<char>('A' + random() % 2));
      break;
    case 2:
      term = "r" + std::to_string(std::min(rule + 1, 3));
      break;
    default:
      term = OneOf(random, kLiterals);
  }
  return term + OneOf(random, kOps);
}

std::string RandomAlternatives(Random& random, int rule) {
  std::string text;
  for (std::size_t i = 0; i <= random() % 2; ++i) {
    text += i == 0 ? "" : " | ";
    for (std::size_t j = 0; j <= random() % 3; ++j) text += " " + RandomTerm(random, rule);
  }
  if (random() % 4 == 0) text += " | \"(\" r" + std::to_string(rule) + " \")\"";
  return text;
}

std::string RandomLark(Random& random) {
  constexpr const char* kTerminals[] = {R"("a" /["\\]/)", R"(/[^"]/ "\n"?)", R"("x" | /[ab]+/)"};
  std::string text = "start: r0\n";
  for (int rule = 0; rule < 3; ++rule) {
    text += "r" + std::to_string(rule) + ":" + RandomAlternatives(random, rule) + "\n";
  }
  text +=
      "r3: \"b\"\nTA: " + OneOf(random, kTerminals) + "\nTB: " + OneOf(random, kTerminals) + "\n";
  if (random() % 3 == 0) text += "%ignore /[ \\n]+/\n";
  if (random() % 8 == 0) text += "%import common.NUMBER\nr4: NUMBER\n";
  return text;
}

// A text that the grammar draws, or one like it.
std::string RandomText(Random& random, std::string text) {
  constexpr const char* kPieces[] = {"a", "b",    "\"", "\\",   "\n", "\t",
                                     "<", "\x01", "é",  "</p>", " "};
  for (std::size_t changes = random() % 3; changes > 0; --changes) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    text.replace(at, random() % 2, OneOf(random, kPieces));
  }
  return text;
}

bool IsUtf8(const std::string& text) {
  const Json value(text);
  return Json::parse(value.dump(-1, ' ', false, Json::error_handler_t::ignore)) == value;
}

class HeldTextPropertyTest : public HeldTextTest {};

RC_GTEST_FIXTURE_PROP(HeldTextPropertyTest, ATextFitsWhereItFitsItsGrammar, (std::uint64_t seed)) {
  Random random(seed);
  const std::string grammar = RandomLark(random);
  auto own = grammars_.Compile({.kind = Kind::kLark, .text = grammar, .held = {}});
  if (!own) RC_DISCARD("refused");
  for (int i = 0; i < 6; ++i) {
    GrammarMatcher drawn = *own->Copy();
    GrammarWalk walk(tokenizer_, random());
    const std::string text = RandomText(random, walk.Run(drawn, 40).value_or("a"));
    if (!IsUtf8(text)) continue;
    const bool fits = Takes(*own->Copy(), text);
    RC_LOG() << grammar << "text: " << text << (fits ? " fits\n" : " doesn't fit\n");
    RC_ASSERT(Fits(Reply({InString(grammar)}), "in:\"" + InJson(text) + "\"}") == fits);
    // A mark inside is the end.
    const std::size_t end = (text + "\n</p>").find("</p>");
    const std::string front = (text + "\n</p>").substr(0, end);
    const bool front_fits =
        front.ends_with('\n') && Takes(*own->Copy(), std::string_view(front).substr(0, end - 1));
    RC_ASSERT(Fits(Reply({Raw(grammar)}), "<p>" + text + "\n</p>") == front_fits);
  }
}

}  // namespace
}  // namespace folio
