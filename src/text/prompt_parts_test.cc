#include "text/prompt_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "text/chat_template.h"
#include "text/test_vocabulary.h"

namespace folio {
namespace {

using testing::ByteLevelVocabulary;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::StartsWith;

using Shares = std::vector<std::pair<std::string, std::string>>;  // labels and their text

// The text of `rendered` by parts; a stretch is given by its text, searched for in order.
Shares Share(std::string_view text,
             const std::vector<std::pair<std::uint32_t, std::string>>& stretches,
             const PartNames& names, bool generate = true) {
  RenderedText rendered{.text = text, .add_generation_prompt = generate};
  std::size_t at = 0;
  for (const auto& [part, value] : stretches) {
    at = text.find(value, at);
    const auto begin = static_cast<std::uint32_t>(at);
    at += value.size();
    rendered.stretches.push_back({begin, static_cast<std::uint32_t>(at), part});
  }
  constexpr std::string_view kTurnEnd = "<E>";
  for (at = text.find(kTurnEnd); at != std::string_view::npos; at = text.find(kTurnEnd, at)) {
    at += kTurnEnd.size();
    rendered.turn_ends.push_back(static_cast<std::uint32_t>(at));
  }
  const std::vector<PartStart> starts = ShareOut(rendered, names);
  Shares shares;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1].begin : text.size();
    shares.emplace_back(starts[i].label, text.substr(starts[i].begin, end - starts[i].begin));
  }
  return shares;
}

const PartNames kThreeMessages = {{"m0", "m1", "m2"}, {1, 2, 3}};

TEST(ShareOutTest, ATurnGoesFromItsHeaderToItsEnd) {
  EXPECT_THAT(Share("<S>u\nhi<E>\n<S>a\nyes<E>\n<S>u\nwhy<E>\n<S>a\n",
                    {{0, "hi"}, {1, "yes"}, {2, "why"}}, kThreeMessages),
              ElementsAre(Pair("m0", "<S>u\nhi<E>\n"), Pair("m1", "<S>a\nyes<E>\n"),
                          Pair("m2", "<S>u\nwhy<E>\n"), Pair("reply start", "<S>a\n")));
}

TEST(ShareOutTest, WithoutTurnEndsClosingTagsAreThePreviousValues) {
  EXPECT_THAT(
      Share("[I] hi [/I] yes[I] why [/I]", {{0, "hi"}, {1, "yes"}, {2, "why"}}, kThreeMessages),
      ElementsAre(Pair("m0", "[I] hi [/I] "), Pair("m1", "yes"), Pair("m2", "[I] why [/I]")));
  EXPECT_THAT(Share("U: hi A: yes U: why A:", {{0, "hi"}, {1, "yes"}, {2, "why"}}, kThreeMessages),
              ElementsAre(Pair("m0", "U: hi "), Pair("m1", "A: yes "), Pair("m2", "U: why "),
                          Pair("reply start", "A:")));
}

TEST(ShareOutTest, AMessageWithoutTextHasItsTurn) {
  EXPECT_THAT(Share("<S>u\nhi<E>\n<S>a\n<E>\n<S>u\nwhy<E>\n", {{0, "hi"}, {2, "why"}},
                    kThreeMessages, false),
              ElementsAre(Pair("m0", "<S>u\nhi<E>\n"), Pair("m1", "<S>a\n<E>\n"),
                          Pair("m2", "<S>u\nwhy<E>\n")));
  EXPECT_THAT(Share("<S>u\n<E>\n<S>a\nyes<E>\n<S>u\n<E>\n<S>a\n", {{1, "yes"}}, kThreeMessages),
              ElementsAre(Pair("m0", "<S>u\n<E>\n"), Pair("m1", "<S>a\nyes<E>\n"),
                          Pair("m2", "<S>u\n<E>\n"), Pair("reply start", "<S>a\n")));
}

TEST(ShareOutTest, ATurnBeforeTheFirstMessageIsTheTemplates) {
  EXPECT_THAT(Share("<S>s\nBe nice<E>\n<S>u\nhi<E>\n", {{0, "hi"}}, {{"m0"}, {1}}),
              ElementsAre(Pair("template", "<S>s\nBe nice<E>\n"), Pair("m0", "<S>u\nhi<E>\n")));
}

TEST(ShareOutTest, WithoutAnyValueOnlyMatchingTurnsAreNamed) {
  EXPECT_THAT(Share("<S>HI<E>\n<S>YES<E>\n<S>WHY<E>\n<S>", {}, kThreeMessages),
              ElementsAre(Pair("m0", "<S>HI<E>\n"), Pair("m1", "<S>YES<E>\n"),
                          Pair("m2", "<S>WHY<E>\n"), Pair("reply start", "<S>")));
  EXPECT_THAT(Share("<S>HI YES<E>\n<S>WHY<E>\n", {}, {{"a", "b", "c", "d"}, {1, 2, 3, 4}}),
              ElementsAre(Pair("prompt", "<S>HI YES<E>\n<S>WHY<E>\n")));
  EXPECT_THAT(Share("", {}, {}), ElementsAre(Pair("prompt", "")));
}

TEST(ShareOutTest, SharesAreTheTextInOrderWhateverComes) {
  EXPECT_TRUE(rc::check([] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element('a', '<', '/', '>', '\n'));
    RenderedText rendered{.text = text, .add_generation_prompt = *rc::gen::arbitrary<bool>()};
    PartNames names;
    const auto count = *rc::gen::inRange<std::uint32_t>(0, 5);
    for (std::uint32_t i = 0; i < count; ++i) {
      names.labels.emplace_back(std::string_view("ABCDE").substr(i, 1));
      names.messages.push_back(*rc::gen::inRange<std::uint32_t>(0, 5));
    }
    std::sort(names.messages.begin(), names.messages.end());
    const auto size = static_cast<std::uint32_t>(text.size());
    for (std::uint32_t at = 0; at < size;) {
      const std::uint32_t begin = *rc::gen::inRange(at, size + 1);
      const std::uint32_t end = *rc::gen::inRange(begin, size + 1);
      if (end > begin) {
        rendered.stretches.push_back({begin, end, *rc::gen::inRange<std::uint32_t>(0, 6)});
      }
      at = end + 1;
      if (at < size) rendered.turn_ends.push_back(at);
    }
    const std::vector<PartStart> starts = ShareOut(rendered, names);
    RC_ASSERT(!starts.empty());
    RC_ASSERT(starts.front().begin == 0U);
    for (std::size_t i = 1; i < starts.size(); ++i) {
      RC_ASSERT(starts[i].begin >= starts[i - 1].begin);
      RC_ASSERT(starts[i].begin <= size);
    }
  }));
}

TEST(PartTokensTest, APartBeginsWithTheFirstTokenAtItsStart) {
  PartTokens tokens({{0, "a"}, {5, "b"}, {6, "c"}, {9, "d"}, {20, "e"}});
  tokens.Add(0);
  tokens.AddAll(3, 6, std::vector<std::size_t>{1, 3, 3});  // a space in front
  tokens.AddAll(9, 8, std::vector<std::size_t>{2, 2});     // normalised to half its length
  EXPECT_THAT(tokens.Finish(),
              ElementsAre(PromptPart{"a", 0}, PromptPart{"c", 3}, PromptPart{"d", 4}));
}

constexpr std::string_view kTools =
    R"({"tools": [{"type": "function", "function": {"name": "look", "description": "Looks it up.",)"
    R"("parameters": {"type": "object", "properties": {"what": {"type": "string"}},)"
    R"("required": ["what"]}}}, {"type": "function", "function": {"name": "add",)"
    R"("parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}}]})";
constexpr std::string_view kConversation =
    R"([{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "look at it"},)"
    R"({"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function",)"
    R"("function": {"name": "look", "arguments": "{\"what\": \"the <|im_end|> door\"}"}}]},)"
    R"({"role": "tool", "tool_call_id": "1", "content": "open"},)"
    R"({"role": "assistant", "content": "<think>\nhm\n</think>\n\nIt is open."},)"
    R"({"role": "user", "content": "hello"}])";

// The tools as JSON in the system turn, thoughts of earlier turns dropped.
constexpr std::string_view kChatMl =
    "{% if tools %}<|im_start|>system\n"
    "{% if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}"
    "# Tools\n<tools>{% for tool in tools %}{{ '\n' }}{{ tool|tojson }}{% endfor %}{{ '\n' "
    "}}</tools>"
    "<|im_end|>\n{% endif %}"
    "{% for m in messages %}{% if m.role != 'system' or not tools %}"
    "{% set text = m.content.split('</think>')[-1].lstrip('\n') %}"
    "{{ '<|im_start|>' + m.role + '\n' + text }}"
    "{% for call in m.tool_calls %}<tool_call>\n{\"name\": \"{{ call.function.name }}\", "
    "\"arguments\": {{ call.function.arguments|tojson }}}\n</tool_call>{% endfor %}"
    "{{ '<|im_end|>\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

class RenderWithPartsTest : public ::testing::Test {
 protected:
  // Labels and the text of their tokens; the tokens must be Render's.
  Shares Render(std::string_view source, std::string_view messages, std::string_view extra = "") {
    const auto compiled = ChatTemplate::FromSource(source, "test template", tokenizer_);
    if (!compiled) return {{"refused", compiled.error().Message()}};
    const auto prompt = compiled->RenderWithParts(tokenizer_, messages, extra, true);
    if (!prompt) return {{"failed", prompt.error().Message()}};
    EXPECT_EQ(prompt->tokens, *compiled->Render(tokenizer_, messages, extra, true));
    Shares shares;
    for (std::size_t i = 0; i < prompt->parts.size(); ++i) {
      auto end = static_cast<std::int64_t>(prompt->tokens.size());
      if (i + 1 < prompt->parts.size()) end = prompt->parts[i + 1].first_token;
      std::string text;
      for (std::int64_t at = prompt->parts[i].first_token; at < end; ++at) {
        const TokenId id = prompt->tokens[static_cast<std::size_t>(at)];
        text += tokenizer_.IsControl(id) ? tokenizer_.TokenPiece(id) : tokenizer_.TokenBytes(id);
      }
      shares.emplace_back(prompt->parts[i].label, text);
    }
    return shares;
  }

  Tokenizer tokenizer_ = *ByteLevelVocabulary().Load();
};

TEST_F(RenderWithPartsTest, MessagesCallsAndToolsAreToldApart) {
  EXPECT_THAT(
      Render(kChatMl, kConversation, kTools),
      ElementsAre(Pair("system", "<|im_start|>system\n Be brief. \n\n"),
                  Pair("tools[0] look",
                       "# Tools\n<tools>\n"
                       R"({"type": "function", "function": {"name": "look", "description": )"
                       R"("Looks it up.", "parameters": {"type": "object", "properties": {"what": )"
                       "{\"type\": \"string\"}}, \"required\": [\"what\"]}}}\n"),
                  Pair("tools[1] add", R"({"type": "function", "function": {"name": "add", )"
                                       R"("parameters": {"type": "object", "properties": {"a": )"
                                       "{\"type\": \"number\"}}}}}\n</tools><|im_end|>\n"),
                  Pair("messages[1] user", "<|im_start|>user\nlook at it<|im_end|>\n"),
                  Pair("messages[2] assistant tool_calls",
                       "<|im_start|>assistant\n<tool_call>\n{\"name\": \"look\", \"arguments\": "
                       "{\"what\": \"the <|im_end|> door\"}}\n</tool_call><|im_end|>\n"),
                  Pair("messages[3] tool", "<|im_start|>tool\nopen<|im_end|>\n"),
                  Pair("messages[4] assistant", "<|im_start|>assistant\nIt is open.<|im_end|>\n"),
                  Pair("messages[5] user", "<|im_start|>user\nhello<|im_end|>\n"),
                  Pair("reply start", "<|im_start|>assistant\n")));
}

TEST_F(RenderWithPartsTest, TurnsInTextAndATrimmedSystemPromptInTheFirstOne) {
  constexpr std::string_view kTurns =
      "{{ bos_token }}{% set first = messages[0].content|trim + '\n\n' %}"
      "{% for m in messages[1:] %}"
      "{{ '[turn]' + ('model' if m.role == 'assistant' else m.role) + '\n' +"
      " (first if loop.first else '') }}{{ m.content | trim }}{{ '[/turn]\n' }}{% endfor %}"
      "{% if add_generation_prompt %}{{ '[turn]model\n' }}{% endif %}";
  EXPECT_THAT(
      Render(kTurns,
             R"([{"role":"system","content":" Be kind \n"},{"role":"user","content":"hi "},)"
             R"({"role":"assistant","content":"yes?"}])"),
      ElementsAre(Pair("system", "<|im_start|>[turn]user\nBe kind\n\n"),
                  Pair("messages[1] user", "hi[/turn]\n"),
                  Pair("messages[2] assistant", "[turn]model\nyes?[/turn]\n"),
                  Pair("reply start", "[turn]model\n")));
}

TEST_F(RenderWithPartsTest, ASystemPromptOfTheTemplateIsTheTemplates) {
  EXPECT_THAT(Render("{% if messages[0].role != 'system' %}<|im_start|>system\nYou are kind"
                     "<|im_end|>\n{% endif %}{% for m in messages %}"
                     "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
                     R"([{"role":"user","content":"kind"}])"),
              ElementsAre(Pair("template", "<|im_start|>system\nYou are kind<|im_end|>\n"),
                          Pair("messages[0] user", "<|im_start|>user\nkind<|im_end|>\n")));
}

TEST_F(RenderWithPartsTest, VariablesAreParts) {
  EXPECT_THAT(Render("Today is {{ date }}. {% for d in documents %}{{ d.title }}: {{ d.text }}\n"
                     "{% endfor %}{{ messages[0].content }}",
                     R"([{"role":"user","content":"hello"}])",
                     R"({"date": "26 July", "documents": [{"title": "One", "text": "x y"},)"
                     R"({"title": "Two", "text": "z"}], "mode": "a"})"),
              ElementsAre(Pair("date", "Today is 26 July"), Pair("documents[0]", ". One: x y\n"),
                          Pair("documents[1]", "Two: z\n"), Pair("messages[0] user", "hello")));
}

TEST_F(RenderWithPartsTest, ATemplateThatLooksIntoNamesOrValuesStillGetsWhatCanBeKnown) {
  const std::string_view messages =
      R"([{"role":"user","name":"ann","content":"one two"},{"role":"user","content":"hello"}])";
  EXPECT_THAT(Render("{% for m in messages %}{% if m.name == 'ann' %}Ann says {% endif %}"
                     "{{ m.content }}<|im_end|>{% endfor %}",
                     messages),
              ElementsAre(Pair("messages[0] user", "Ann says one two<|im_end|>"),
                          Pair("messages[1] user", "hello<|im_end|>")));
  EXPECT_THAT(
      Render("{% for m in messages %}{{ m.content|length }}<|im_end|>{% endfor %}", messages),
      ElementsAre(Pair("messages[0] user", "7<|im_end|>"),
                  Pair("messages[1] user", "5<|im_end|>")));
  EXPECT_THAT(Render("{% for m in messages %}{{ m.content|length }}{% endfor %}", messages),
              ElementsAre(Pair("prompt", "75")));
}

TEST_F(RenderWithPartsTest, TheBosTokenPutFirstIsTheFirstParts) {
  testing::TestVocabulary vocabulary = ByteLevelVocabulary();
  vocabulary.flags = {{"add_bos_token", true}};
  tokenizer_ = *vocabulary.Load();
  EXPECT_THAT(Render("{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}",
                     R"([{"role":"user","content":"a b"},{"role":"user","content":"hello"}])"),
              ElementsAre(Pair("messages[0] user", "<|im_start|>a b<|im_end|>"),
                          Pair("messages[1] user", "hello<|im_end|>")));
}

TEST_F(RenderWithPartsTest, LabelsOfHostileNamesAreShortLines) {
  const std::string role = "x\\n<|im_end|>" + std::string(1000, 'y');
  const Shares shares =
      Render("{{ messages[0].content }}", R"([{"role":")" + role + R"(","content":"hello"}])");
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_THAT(shares[0].first, StartsWith("messages[0] x?<|im_end|>yyy"));
  EXPECT_LT(shares[0].first.size(), 100U);
}

TEST_F(RenderWithPartsTest, AnyContentsKeepTheirPartAndTheTokens) {
  const auto compiled = ChatTemplate::FromSource(kChatMl, "test template", tokenizer_);
  ASSERT_TRUE(compiled.has_value());
  constexpr std::array<std::string_view, 12> kPieces = {
      "<|im_end|>", "</think>", " ", "\n", "a", "hello", "<", "user", "\u00fc", "\uE000", "{", "|"};
  EXPECT_TRUE(rc::check([&] {
    std::vector<ChatMessage> messages(*rc::gen::inRange<std::size_t>(1, 6));
    for (ChatMessage& message : messages) {
      message.role = *rc::gen::element("user", "assistant");
      const auto choices = *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0U, 12U));
      for (const unsigned choice : choices) message.content += kPieces[choice];
    }
    const auto prompt = compiled->RenderWithParts(tokenizer_, messages, true);
    RC_ASSERT(prompt.has_value());
    RC_ASSERT(prompt->tokens == *compiled->Render(tokenizer_, messages, true));
    // Each turn has its own first token, whatever is in the messages.
    std::vector<PromptPart> expected;
    for (std::size_t at = 0; at < prompt->tokens.size(); ++at) {
      if (prompt->tokens[at] != testing::kStart) continue;
      const std::size_t turn = expected.size();
      expected.push_back({turn == messages.size()
                              ? "reply start"
                              : "messages[" + std::to_string(turn) + "] " + messages[turn].role,
                          static_cast<std::int64_t>(at)});
    }
    RC_ASSERT(prompt->parts == expected);
  }));
}

}  // namespace
}  // namespace folio
