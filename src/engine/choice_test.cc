#include "engine/choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "text/test_vocabulary.h"

namespace folio {
namespace {

using testing::kEnd;
using testing::kHello;
using testing::kStart;

class ChoiceTest : public ::testing::Test {
 protected:
  ChoiceTest() : tokenizer_(*testing::ByteLevelVocabulary().Load()) {
    request_.sampling.temperature = 0;
    request_.tell_controls = true;
  }

  // Draws these tokens one after another.
  void Draw(Choice& choice, const std::vector<TokenId>& tokens) {
    for (const TokenId token : tokens) {
      std::vector<float> logits(static_cast<std::size_t>(tokenizer_.vocab_size()), 0.0F);
      logits[static_cast<std::size_t>(token)] = 1.0F;
      choice.Draw(logits, {}, position_++);
    }
  }

  Tokenizer tokenizer_;
  Request request_;
  std::int64_t position_ = 0;
};

TEST_F(ChoiceTest, ControlTokensAreToldAtTheirPlace) {
  Choice choice(request_, tokenizer_, 0, 10);
  Draw(choice, {kHello, kStart, kHello});
  const auto delta = choice.TakeDelta();
  ASSERT_TRUE(delta.has_value());
  EXPECT_EQ(delta->text, "hellohello");
  EXPECT_EQ(delta->controls, (std::vector<ControlMark>{{.offset = 5, .token = kStart}}));
  Draw(choice, {kStart, kEnd});
  const auto last = choice.TakeDelta();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->controls, (std::vector<ControlMark>{{.offset = 0, .token = kStart}}));
  EXPECT_EQ(last->finished, FinishReason::kStop);
}

TEST_F(ChoiceTest, AStopStringDoesNotReachAcrossAControlToken) {
  request_.stop = {"hellohello"};
  Choice choice(request_, tokenizer_, 0, 10);
  Draw(choice, {kHello, kStart, kHello});
  EXPECT_FALSE(choice.finished());
  EXPECT_EQ(choice.TakeDelta()->text, "hello");
  Draw(choice, {kHello});
  EXPECT_TRUE(choice.finished());
  EXPECT_EQ(choice.TakeDelta()->stop_string, "hellohello");
  EXPECT_EQ(choice.TakeReply().stop_string, "hellohello");
}

TEST_F(ChoiceTest, WhoDoesNotAskIsNotTold) {
  request_.tell_controls = false;
  request_.stop = {"hellohello"};
  Choice choice(request_, tokenizer_, 0, 10);
  Draw(choice, {kHello, kStart, kHello});
  EXPECT_TRUE(choice.finished());
  EXPECT_TRUE(choice.TakeDelta()->controls.empty());
}

}  // namespace
}  // namespace folio
