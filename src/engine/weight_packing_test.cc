// A model's logits are the same before, while and after its weights are packed.
#include "model/weight_packing.h"

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/session.h"
#include "support/tiny_model.h"

namespace folio {
namespace {

class WeightPackingTest : public testing::TestWithParam<GgmlType> {
 protected:
  WeightPackingTest()
      : path_(testing::TempDir() + "folio_packing_" + std::to_string(getpid()) + ".gguf") {
    TinyModelSpec spec;
    spec.type = GetParam();
    written_ = WriteTinyModel(spec, path_);
  }
  ~WeightPackingTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<LoadedModel> Load(Isa isa) const {
    Result<std::unique_ptr<LoadedModel>> model =
        LoadedModel::Load(path_, {.threads = 2, .isa = isa});
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().Message());
    return model ? *std::move(model) : nullptr;
  }

  std::string path_;
  bool written_ = false;
};

// Of a prompt in one step, so that the step finds the weights as the caller left them.
std::vector<float> Logits(LoadedModel& model) {
  std::vector<TokenId> tokens(9);
  std::iota(tokens.begin(), tokens.end(), 60);
  Session session(model);
  std::vector<float> logits;
  EXPECT_TRUE(session.Append(tokens, &logits).has_value());
  return logits;
}

TEST_P(WeightPackingTest, LogitsDoNotDependOnHowMuchIsPacked) {
  ASSERT_TRUE(written_);
  for (const Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512}) {
    if (!CpuHas(isa)) continue;
    const std::unique_ptr<LoadedModel> packed = Load(isa);
    ASSERT_NE(packed, nullptr);
    packed->weights().packing.Finish(packed->pool(), {});
    ASSERT_TRUE(packed->weights().packing.done());
    const std::vector<float> expected = Logits(*packed);
    bool done = false;
    for (int portions = 0; !done; ++portions) {
      const std::unique_ptr<LoadedModel> half = Load(isa);
      ASSERT_NE(half, nullptr);
      for (int i = 0; i < portions; ++i) half->weights().packing.Pack(1, half->pool());
      done = half->weights().packing.done();
      EXPECT_EQ(Logits(*half), expected) << IsaName(isa) << ", " << portions << " portions";
      EXPECT_EQ(half->weights().packing.done(), done);  // the first step packs nothing
    }
  }
}

TEST_P(WeightPackingTest, LaterStepsPackWhatIsLeft) {
  ASSERT_TRUE(written_);
  const std::unique_ptr<LoadedModel> model = Load(Isa::kScalar);
  ASSERT_NE(model, nullptr);
  const std::vector<float> first = Logits(*model);
  EXPECT_FALSE(model->weights().packing.done());
  EXPECT_EQ(Logits(*model), first);
  EXPECT_TRUE(model->weights().packing.done());
  EXPECT_EQ(model->weights().output.unpacked, nullptr);
  EXPECT_EQ(model->weights().layers.back().ffn.down.unpacked, nullptr);
}

TEST_P(WeightPackingTest, FinishTellsHowFarItIs) {
  ASSERT_TRUE(written_);
  const std::unique_ptr<LoadedModel> model = Load(Isa::kScalar);
  ASSERT_NE(model, nullptr);
  double last = 0;
  model->weights().packing.Finish(model->pool(), [&last](double fraction) { last = fraction; });
  EXPECT_EQ(last, 1.0);
}

// Of a Mixture of Experts.
class RouterPackingTest : public testing::Test {
 protected:
  std::unique_ptr<LoadedModel> Load(bool bf16_routers) {
    const std::string path =
        testing::TempDir() + "folio_routers_" + std::to_string(getpid()) + ".gguf";
    TinyModelSpec spec{.architecture = "qwen3moe", .type = GgmlType::kQ4_0, .experts = 40};
    spec.bf16_routers = bf16_routers;
    EXPECT_TRUE(WriteTinyModel(spec, path));
    Result<std::unique_ptr<LoadedModel>> model = LoadedModel::Load(path, {.threads = 2});
    std::filesystem::remove(path);  // it stays mapped
    EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().Message());
    return model ? *std::move(model) : nullptr;
  }
};

TEST_F(RouterPackingTest, RoutersThatBf16HoldsArePackedAsThatWithTheSameBits) {
  const std::unique_ptr<LoadedModel> model = Load(true);
  ASSERT_NE(model, nullptr);
  const PackedMatrix& router = model->weights().layers.back().moe.router;
  EXPECT_EQ(router.type, GgmlType::kF32);
  const std::vector<float> from_file = Logits(*model);
  model->weights().packing.Finish(model->pool(), {});
  EXPECT_EQ(router.type, GgmlType::kBF16);
  EXPECT_EQ(router.unpacked, nullptr);
  EXPECT_EQ(Logits(*model), from_file);
}

TEST_F(RouterPackingTest, OthersStayAsTheyAre) {
  const std::unique_ptr<LoadedModel> model = Load(false);
  ASSERT_NE(model, nullptr);
  const std::vector<float> from_file = Logits(*model);
  model->weights().packing.Finish(model->pool(), {});
  EXPECT_EQ(model->weights().layers.back().moe.router.type, GgmlType::kF32);
  EXPECT_EQ(Logits(*model), from_file);
}

INSTANTIATE_TEST_SUITE_P(Types, WeightPackingTest,
                         testing::Values(GgmlType::kF32, GgmlType::kQ8_0, GgmlType::kQ4_0),
                         [](const auto& param) { return std::string(TypeInfo(param.param).name); });

}  // namespace
}  // namespace folio
