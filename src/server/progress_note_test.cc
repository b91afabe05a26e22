#include "server/progress_note.h"

#include <vector>

#include <gtest/gtest.h>

namespace folio {
namespace {

TEST(ProgressNoteTest, TellsWhatIsKnown) {
  EXPECT_EQ(ProgressNote({}), "");
  const auto note = [](const std::vector<Progress>& prompts) { return ProgressNote(prompts); };
  EXPECT_EQ(note({{.prompt_tokens = 90, .computed_tokens = 16}}), "16 of 90 tokens of the prompt");
  EXPECT_EQ(note({{.prompt_tokens = 90, .tokens_before = 500, .seconds_left = 2.1}}),
            "0 of 90 tokens of the prompt, about 3 s left, 500 tokens before it");
}

TEST(ProgressNoteTest, SeveralPromptsAreDoneWhenTheLastIs) {
  const std::vector<Progress> prompts = {
      {.prompt_tokens = 10, .computed_tokens = 10, .seconds_left = 0},
      {.prompt_tokens = 20, .tokens_before = 5, .seconds_left = 4}};
  EXPECT_EQ(ProgressNote(prompts),
            "10 of 30 tokens of the prompt, about 4 s left, 5 tokens before it");
}

}  // namespace
}  // namespace folio
