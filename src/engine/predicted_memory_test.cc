// What the planner predicts from a file's header is what the engine then takes, byte for byte: for
// each architecture, KV type, block size and number of users.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_testing.h"
#include "engine/load_options.h"
#include "model/moe_layer.h"
#include "model/positions.h"
#include "plan/planner.h"
#include "plan/read_shape.h"

namespace folio {
namespace {

std::vector<TinyModelSpec> Models() {
  std::vector<TinyModelSpec> specs;
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"})
    specs.push_back({.architecture = architecture, .layers = 4});
  for (const char* architecture : {"llama", "qwen2moe", "qwen3moe", "olmoe", "deepseek2"})
    specs.push_back({.architecture = architecture, .layers = 3, .experts = 4});
  specs.push_back({.type = GgmlType::kQ8_0, .layers = 2});
  specs.push_back({.type = GgmlType::kQ4_0, .layers = 2, .kv_heads = 4});
  return specs;
}

// Long enough for attention to be cut into parts, whose room depends on it.
constexpr std::int64_t kContext = 601;

LoadOptions OptionsOf(const std::string& kv_type, int block_size, std::int64_t users) {
  EngineOptions options;
  options.threads = 2;
  options.context = kContext;
  options.memory = std::uint64_t{512} << 20;
  options.block_size = block_size;
  options.kv_type = kv_type;
  options.max_batch_tokens = 64;
  options.max_requests = users;
  options.contexts = users;
  const Result<LoadOptions> load = LoadOptionsOf(options);
  EXPECT_TRUE(load.has_value());
  return load.value_or(LoadOptions{});
}

Plan PredictOrFail(const std::string& path, const LoadOptions& options, Isa isa,
                   std::int64_t users) {
  Result<ModelShape> shape = ReadModelShape(path);
  EXPECT_TRUE(shape.has_value()) << (shape ? "" : shape.error().Message());
  if (!shape) return {};
  EXPECT_EQ(shape->runs_not, "");
  PlanSettings settings;
  settings.kv = {.chunk = options.max_batch_tokens,
                 .block_size = options.block_size,
                 .codings = KvCodingsOf(options.kv_type)};
  settings.step_type = options.kv_type;
  settings.engine = {.isa = isa,
                     .numerics = options.numerics,
                     .threads = options.threads,
                     .max_batch_tokens = options.max_batch_tokens,
                     .prompt_log_bytes = options.prompt_log_bytes};
  const Result<Planner> planner =
      Planner::Create(std::make_shared<const ModelShape>(*std::move(shape)), settings);
  EXPECT_TRUE(planner.has_value()) << (planner ? "" : planner.error().Message());
  const Result<Plan> plan =
      planner ? planner->At(users, kContext) : std::unexpected(planner.error());
  EXPECT_TRUE(plan.has_value());
  return plan.value_or(Plan{});
}

// What the weights' buffers hold.
std::uint64_t WeightBytesOf(const LoadedModel& model) {
  std::uint64_t bytes = model.weights().packing.storage_bytes();
  for (const TransposedTensor& transposed : model.weights().transposed)
    bytes += transposed.tensor().bytes;
  return bytes;
}

// The forward pass's buffer, and beside it the positions' factors, the experts' lists and logits of
// each request and of a draft.
std::uint64_t WorkspaceBytesOf(LoadedModel& model, const LoadOptions& options) {
  const ModelConfig& config = model.config();
  const std::size_t lists =
      config.router.experts > 0 ? MoeLayer::ListBytes(config, options.max_batch_tokens) : 0;
  return model.forward().workspace_bytes() +
         RopePositions::Bytes(config, options.max_batch_tokens) + lists +
         static_cast<std::uint64_t>(options.max_logit_rows * config.vocab) * sizeof(float);
}

class PredictedMemoryTest : public testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(PredictedMemoryTest, IsWhatTheEngineTakes) {
  const auto [kv_type, block_size] = GetParam();
  std::int64_t users = 1;
  for (const TinyModelSpec& spec : Models()) {
    SCOPED_TRACE(spec.architecture + " with " + std::to_string(spec.experts) + " experts");
    users = users % 3 + 1;
    const TinyModelFile file(spec);
    ASSERT_TRUE(file.written());
    const LoadOptions options = OptionsOf(kv_type, block_size, users);
    const auto model = LoadOrFail(file.path(), options);
    ASSERT_NE(model, nullptr);
    const Plan plan = PredictOrFail(file.path(), options, model->isa(), users);

    EXPECT_EQ(plan.kv.block_bytes, model->kv_layout().block_bytes);
    EXPECT_EQ(plan.kv.num_blocks, model->cache().pool().num_blocks());
    EXPECT_EQ(plan.kv.bytes, model->kv_storage().size());
    EXPECT_EQ(plan.kv.groups.size(), model->kv_layout().groups.size());
    EXPECT_EQ(plan.parts.weights_bytes, WeightBytesOf(*model));
    EXPECT_EQ(plan.parts.weights_bytes, model->plan().weights_bytes);
    EXPECT_EQ(plan.parts.kv_index_bytes, model->plan().kv_index_bytes);
    EXPECT_EQ(plan.parts.workspace_bytes, WorkspaceBytesOf(*model, options));
    EXPECT_EQ(plan.parts.workspace_bytes, model->plan().workspace_bytes);
    EXPECT_EQ(plan.parts.program_bytes, model->plan().program_bytes);
    EXPECT_EQ(plan.total_bytes(), model->plan().total_bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(AllKvTypesAndBlockSizes, PredictedMemoryTest,
                         testing::Combine(testing::Values("bf16", "f16", "f32", "q8_0"),
                                          testing::Values(16, 32, 80)));

}  // namespace
}  // namespace folio
