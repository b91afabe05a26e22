#include "server/reply_splicer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace folio {
namespace {

using Tokens = std::vector<std::int32_t>;

// A vocabulary of single characters, and pairs of them above 1000: "ab" is 1000 + 'a' * 256 + 'b'.
constexpr std::int32_t kEnd = 1;
constexpr std::int32_t Pair(char first, char second) { return 1000 + first * 256 + second; }

class ReplySplicerTest : public testing::Test {
 protected:
  std::string_view Bytes(std::int32_t token) {
    if (token == kEnd) return {};
    if (token < 256) return characters_.substr(static_cast<std::size_t>(token), 1);
    pair_ = {static_cast<char>((token - 1000) / 256), static_cast<char>((token - 1000) % 256)};
    return pair_;
  }
  SpliceVocabulary vocabulary() {
    return {.end_tokens = ends_, .bytes = [this](std::int32_t token) { return Bytes(token); }};
  }
  static Tokens Spell(std::string_view text) {
    Tokens tokens;
    for (const char c : text) tokens.push_back(c == '|' ? kEnd : c);
    return tokens;
  }
  static Tokens Joined(Tokens first, const Tokens& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  // A conversation of one question, its answer, and another question.
  static Json Conversation(const std::string& answer) {
    return {{{"role", "user"}, {"content", "question"}},
            {{"role", "assistant"}, {"content", answer}},
            {{"role", "user"}, {"content", "more"}}};
  }
  void Keep(const Tokens& prompt, const std::string& text, const Tokens& tokens) {
    splicer_.Keep(PlaceAfter("ann", "m", 1, prompt), {.text = text, .tokens = tokens});
  }

  std::string all_ = [] {
    std::string text;
    for (int c = 0; c < 256; ++c) text += static_cast<char>(c);
    return text;
  }();
  std::string_view characters_ = all_;
  std::string pair_;
  Tokens ends_ = {kEnd};
  ReplySplicer splicer_{1 << 20};
};

TEST_F(ReplySplicerTest, AReplyThatComesBackTrimmedTakesItsOwnTokensPlace) {
  const Tokens prompt = Spell("user: question|bot: ");
  Keep(prompt, " ab ", {' ', Pair('a', 'b'), ' ', kEnd});
  Engine::Prompt next{
      .tokens = Joined(prompt, Spell("ab|user: more|bot: ")),
      .parts = {{"messages[0] user", 0}, {"messages[1] assistant", 20}, {"messages[2] user", 23}}};
  EXPECT_EQ(splicer_.Splice("ann", "m", Conversation("ab"), vocabulary(), next), 1U);
  EXPECT_EQ(next.tokens,
            Joined(Joined(prompt, {' ', Pair('a', 'b'), ' '}), Spell("|user: more|bot: ")));
  EXPECT_EQ(next.parts[1].first_token, 20);
  EXPECT_EQ(next.parts[2].first_token, 24);
}

TEST_F(ReplySplicerTest, ATokenThatJoinsThePromptsEndToTheReplyIsCutAgain) {
  const Tokens prompt = Spell("user: question|bot:\n");
  Keep(prompt, "ab", {'a', 'b', kEnd});
  Tokens rendered = prompt;
  rendered.back() = Pair('\n', 'a');
  Engine::Prompt next{.tokens = Joined(rendered, Spell("b|user: more|bot:\n"))};
  EXPECT_EQ(splicer_.Splice("ann", "m", Conversation("ab"), vocabulary(), next), 1U);
  EXPECT_EQ(next.tokens, Joined(prompt, Spell("ab|user: more|bot:\n")));
}

TEST_F(ReplySplicerTest, CallsAreEqualInValueHoweverTheyAreWritten) {
  const Tokens prompt = Spell("user: question|bot: ");
  const Tokens own = Spell("f{\"b\": 1, \"a\": \"x\"}|");
  splicer_.Keep(PlaceAfter("ann", "m", 1, prompt),
                {.calls = {{"f", R"({"b": 1, "a": "x"})"}}, .tokens = own});
  const auto conversation = [](const std::string& arguments) {
    Json messages = Conversation("");
    messages[1]["tool_calls"] =
        Json::array({{{"id", "1"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}});
    return messages;
  };
  const Tokens rendered = Joined(prompt, Spell("f{\"a\":\"x\",\"b\":1}|user: more|bot: "));
  Engine::Prompt other{.tokens = rendered};
  EXPECT_EQ(splicer_.Splice("ann", "m", conversation(R"({"a":"x","b":2})"), vocabulary(), other),
            0U);
  Engine::Prompt same{.tokens = rendered};
  EXPECT_EQ(splicer_.Splice("ann", "m", conversation(R"({"a":"x","b":1})"), vocabulary(), same),
            1U);
  EXPECT_EQ(same.tokens, Joined(Joined(prompt, own), Spell("user: more|bot: ")));
}

TEST_F(ReplySplicerTest, WhatDiffersInAnyWayIsLeftAsRendered) {
  const Tokens prompt = Spell("user: question|bot: ");
  Keep(prompt, "ab", {Pair('a', 'b'), kEnd});
  const Tokens rendered = Joined(prompt, Spell("ab|user: more|bot: "));
  const auto left = [&](std::string_view owner, std::string_view model, const Json& messages,
                        const Tokens& tokens) {
    Engine::Prompt next{.tokens = tokens};
    return splicer_.Splice(owner, model, messages, vocabulary(), next) == 0 &&
           next.tokens == tokens;
  };
  EXPECT_TRUE(left("bob", "m", Conversation("ab"), rendered));
  EXPECT_TRUE(left("ann", "n", Conversation("ab"), rendered));
  EXPECT_TRUE(left("ann", "m", Conversation("ac"), rendered));
  Json later = Conversation("ab");
  later.insert(later.begin(), Json{{"role", "system"}, {"content", ""}});
  EXPECT_TRUE(left("ann", "m", later, rendered));
  Tokens other_prompt = rendered;
  other_prompt[2] = 'X';
  EXPECT_TRUE(left("ann", "m", Conversation("ab"), other_prompt));
  EXPECT_FALSE(left("ann", "m", Conversation("ab"), rendered));
}

// A template that leaves earlier reasoning out means to: it is not put back.
TEST_F(ReplySplicerTest, ReasoningThatIsNotRenderedIsNotPutBack) {
  const Tokens prompt = Spell("user: question|bot: ");
  splicer_.Keep(PlaceAfter("ann", "m", 1, prompt),
                {.text = "ab", .reasoning = "why", .tokens = Spell("<why>ab|")});
  Engine::Prompt without{.tokens = Joined(prompt, Spell("ab|user: more|bot: "))};
  EXPECT_EQ(splicer_.Splice("ann", "m", Conversation("ab"), vocabulary(), without), 0U);
  Engine::Prompt with{.tokens = Joined(prompt, Spell("< why >ab|user: more|bot: "))};
  EXPECT_EQ(splicer_.Splice("ann", "m", Conversation("ab"), vocabulary(), with), 1U);
}

TEST_F(ReplySplicerTest, TheOldestRepliesGoFirst) {
  ReplySplicer small(4000);
  const Tokens prompt = Spell("user: question|bot: ");
  for (int i = 0; i < 20; ++i) {
    const std::string text = "answer " + std::to_string(i);
    Tokens tokens = Spell(text);
    tokens.insert(tokens.begin(), ' ');
    small.Keep(PlaceAfter("ann", "m", 1, prompt), {.text = text, .tokens = tokens});
  }
  const auto spliced = [&](const std::string& answer) {
    Engine::Prompt next{.tokens = Joined(prompt, Spell(answer + "|user: more|bot: "))};
    return small.Splice("ann", "m", Conversation(answer), vocabulary(), next);
  };
  EXPECT_EQ(spliced("answer 0"), 0U);
  EXPECT_EQ(spliced("answer 19"), 1U);
}

}  // namespace
}  // namespace folio
