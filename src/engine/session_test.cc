// Promise P1's first half: a request's logits do not depend on threads, on ISA, or on how its
// prompt was cut.
#include "engine/session.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_testing.h"

namespace folio {
namespace {

std::vector<float> LogitsOf(const TinyModelFile& file, const LoadOptions& options, int length) {
  const std::unique_ptr<LoadedModel> model = LoadOrFail(file.path(), options);
  if (model == nullptr) return {};
  Session session(*model);
  std::vector<float> logits;
  EXPECT_TRUE(session.Append(TestPrompt(length), &logits).has_value());
  return logits;
}

class SessionTest : public testing::TestWithParam<std::string> {
 protected:
  SessionTest() : file_(Spec()) {}
  static TinyModelSpec Spec() {
    TinyModelSpec spec;
    spec.architecture = GetParam();
    spec.layers = spec.architecture == "gemma3" ? 7 : 2;
    spec.kv_heads = spec.architecture == "gemma3" ? 1 : 2;
    spec.type = spec.architecture == "qwen3" || spec.architecture == "olmoe" ? GgmlType::kQ8_0
                                                                             : GgmlType::kQ4_0;
    if (spec.architecture == "mixtral") {
      spec.architecture = "llama";
      spec.experts = 5;
    } else if (spec.architecture.ends_with("moe")) {
      spec.experts = 12;
      spec.top_k = 3;
    }
    if (spec.architecture == "deepseek2") {
      spec.experts = 8;
      spec.head_dim = 64;
    }
    return spec;
  }
  void TearDown() override { unsetenv("FOLIO_ISA"); }

  TinyModelFile file_;
};

TEST_P(SessionTest, LogitsDoNotDependOnChunksThreadsOrIsa) {
  ASSERT_TRUE(file_.written());
  constexpr int kLength = 75;
  constexpr int kChunks[] = {1, 7, 16, 64, 512};
  setenv("FOLIO_ISA", "scalar", 1);
  for (const KvType kv_type : {KvType::kBf16, KvType::kF32, KvType::kF16, KvType::kQ8_0}) {
    const std::vector<float> reference =
        LogitsOf(file_, {.threads = 1, .kv_type = kv_type}, kLength);
    ASSERT_FALSE(reference.empty());
    for (const char* isa : {"scalar", "avx2", "avx512"}) {
      if (!CpuHas(*IsaFromName(isa))) continue;
      setenv("FOLIO_ISA", isa, 1);
      for (const int threads : {1, 2}) {
        for (const int chunk : kChunks) {
          if (isa == std::string("scalar") && chunk != 7)
            continue;  // slow: one cut besides the reference
          const LoadOptions options{
              .threads = threads, .kv_type = kv_type, .max_batch_tokens = chunk};
          EXPECT_EQ(LogitsOf(file_, options, kLength), reference)
              << isa << ", threads " << threads << ", chunk " << chunk << ", KV "
              << KvTypeName(kv_type);
        }
      }
    }
    setenv("FOLIO_ISA", "scalar", 1);
  }
}

TEST_P(SessionTest, AForkGoesOnWithTheSameBits) {
  ASSERT_TRUE(file_.written());
  const std::unique_ptr<LoadedModel> model = LoadOrFail(file_.path(), {.threads = 2});
  ASSERT_NE(model, nullptr);
  const std::vector<TokenId> prompt = TestPrompt(60);
  Session stem(*model);
  ASSERT_TRUE(stem.Append(std::span(prompt).first(41)).has_value());
  Session fork = stem.Fork();
  Session other = stem.Fork();
  ASSERT_TRUE(other.Append(TestPrompt(9, 77)).has_value());
  ASSERT_TRUE(fork.Append(std::span(prompt).subspan(41)).has_value());
  Session whole(*model);
  ASSERT_TRUE(whole.Append(prompt).has_value());
  EXPECT_EQ(std::vector<float>(fork.logits().begin(), fork.logits().end()),
            std::vector<float>(whole.logits().begin(), whole.logits().end()));
}

INSTANTIATE_TEST_SUITE_P(Architectures, SessionTest,
                         testing::Values("llama", "qwen2", "qwen3", "gemma3", "mixtral", "qwen2moe",
                                         "qwen3moe", "olmoe", "deepseek2"),
                         [](const auto& param) { return param.param; });

TEST(SessionErrorTest, APromptLongerThanTheContextIsRefusedWithBothNumbers) {
  const TinyModelFile file(TinyModelSpec{});
  const std::unique_ptr<LoadedModel> model = LoadOrFail(file.path(), {.threads = 1, .context = 64});
  ASSERT_NE(model, nullptr);
  Session session(*model);
  const Status status = session.Append(TestPrompt(65));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
  EXPECT_NE(status.error().Message().find("65"), std::string::npos);
  EXPECT_NE(status.error().Message().find("64"), std::string::npos);
  EXPECT_TRUE(session.Append(TestPrompt(64)).has_value());
}

TEST(SessionErrorTest, ATokenOutsideTheVocabularyIsRefused) {
  const TinyModelFile file(TinyModelSpec{});
  const std::unique_ptr<LoadedModel> model = LoadOrFail(file.path(), {.threads = 1});
  ASSERT_NE(model, nullptr);
  Session session(*model);
  EXPECT_FALSE(session.Append(std::vector<TokenId>{1, 288}).has_value());
  EXPECT_FALSE(session.Append(std::vector<TokenId>{-1}).has_value());
  EXPECT_TRUE(session.tokens().empty());
}

TEST(SessionErrorTest, AModelThatDoesNotFitTheBudgetIsRefusedWithNumbers) {
  const TinyModelFile file(TinyModelSpec{});
  const Result<std::unique_ptr<LoadedModel>> model =
      LoadedModel::Load(file.path(), {.threads = 1, .memory = 10000});
  ASSERT_FALSE(model.has_value());
  EXPECT_NE(model.error().Message().find("10000"), std::string::npos);
}

}  // namespace
}  // namespace folio
