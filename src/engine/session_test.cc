// Promise P1's first half: a request's logits do not depend on threads, on ISA, or on how its
// prompt was cut.
#include "engine/session.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/tiny_model.h"

namespace folio {
namespace {

class TinyModelFile {
 public:
  explicit TinyModelFile(const TinyModelSpec& spec)
      : path_(testing::TempDir() + "folio_session_" + spec.architecture + "_" +
              std::to_string(getpid()) + ".gguf") {
    written_ = WriteTinyModel(spec, path_);
  }
  ~TinyModelFile() { std::filesystem::remove(path_); }
  TinyModelFile(const TinyModelFile&) = delete;
  TinyModelFile& operator=(const TinyModelFile&) = delete;
  const std::string& path() const { return path_; }
  bool written() const { return written_; }

 private:
  std::string path_;
  bool written_ = false;
};

std::unique_ptr<LoadedModel> Load(const TinyModelFile& file, const LoadOptions& options) {
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::Load(file.path(), options);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().Message());
  return model ? *std::move(model) : nullptr;
}

std::vector<TokenId> Prompt(int length) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < length; ++i) tokens.push_back((i * i * 7 + 13 * i + 5) % 256);
  return tokens;
}

std::vector<float> LogitsOf(const TinyModelFile& file, const LoadOptions& options, int length) {
  const std::unique_ptr<LoadedModel> model = Load(file, options);
  if (model == nullptr) return {};
  Session session(*model);
  std::vector<float> logits;
  EXPECT_TRUE(session.Append(Prompt(length), &logits).has_value());
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
    spec.type = spec.architecture == "qwen3" ? GgmlType::kQ8_0 : GgmlType::kQ4_0;
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

TEST_P(SessionTest, AChangedTailReusesThePrefixAndGivesTheSameBits) {
  ASSERT_TRUE(file_.written());
  const std::unique_ptr<LoadedModel> model = Load(file_, {.threads = 2});
  ASSERT_NE(model, nullptr);
  std::vector<TokenId> prompt = Prompt(60);
  Session session(*model);
  EXPECT_EQ(session.SetPrompt(prompt), 0);
  prompt.resize(41);
  prompt.push_back(3);
  EXPECT_EQ(session.SetPrompt(prompt), 41);
  const std::vector<float> reused(session.logits().begin(), session.logits().end());

  Session fresh(*model);
  EXPECT_EQ(fresh.SetPrompt(prompt), 0);
  EXPECT_EQ(reused, std::vector<float>(fresh.logits().begin(), fresh.logits().end()));
  EXPECT_EQ(session.SetPrompt(prompt), 41);  // a full hit computes one token again
}

INSTANTIATE_TEST_SUITE_P(Architectures, SessionTest,
                         testing::Values("llama", "qwen2", "qwen3", "gemma3"),
                         [](const auto& param) { return param.param; });

TEST(SessionErrorTest, APromptLongerThanTheContextIsRefusedWithBothNumbers) {
  const TinyModelFile file(TinyModelSpec{});
  const std::unique_ptr<LoadedModel> model = Load(file, {.threads = 1, .context = 64});
  ASSERT_NE(model, nullptr);
  Session session(*model);
  const Status status = session.Append(Prompt(65));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
  EXPECT_NE(status.error().Message().find("65"), std::string::npos);
  EXPECT_NE(status.error().Message().find("64"), std::string::npos);
  EXPECT_TRUE(session.Append(Prompt(64)).has_value());
}

TEST(SessionErrorTest, ATokenOutsideTheVocabularyIsRefused) {
  const TinyModelFile file(TinyModelSpec{});
  const std::unique_ptr<LoadedModel> model = Load(file, {.threads = 1});
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
