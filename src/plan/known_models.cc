#include "plan/known_models.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "plan/config_shape.h"

namespace folio {
namespace {

struct KnownModel {
  std::string_view name;
  std::string_view source;
  std::string_view config;  // empty: only what follows is known
  int experts = 0;
  int top_k = 0;
  std::uint64_t parameters = 0;  // 0: not published
  std::uint64_t active = 0;
  std::string_view unknown;
};

constexpr std::string_view kModelCard = "config.json of the model's repository";

constexpr auto kModels = std::to_array<KnownModel>({
    {"DeepSeek-V3", kModelCard,
     R"({"model_type":"deepseek_v3","hidden_size":7168,"intermediate_size":18432,
         "num_hidden_layers":61,"num_attention_heads":128,"kv_lora_rank":512,"q_lora_rank":1536,
         "qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":256,
         "n_shared_experts":1,"num_experts_per_tok":8,"moe_intermediate_size":2048,
         "first_k_dense_replace":3,"vocab_size":129280,"max_position_embeddings":163840,
         "quantization_config":{"quant_method":"fp8"}})"},
    {"DeepSeek-V4-Pro", "DeepSeek-AI 2026, DeepSeek-V4: 1.6 T parameters, 49 B for a token", "",
     384, 6, 1'600'000'000'000, 49'000'000'000,
     "its attention keeps compressed keys and values, for which there is no formula here"},
    {"Gemma-3-27B", kModelCard,
     R"({"model_type":"gemma3_text","hidden_size":5376,"intermediate_size":21504,"head_dim":128,
         "num_hidden_layers":62,"num_attention_heads":32,"num_key_value_heads":16,
         "sliding_window":1024,"vocab_size":262208,"max_position_embeddings":131072})"},
    {"gpt-oss-120b", kModelCard,
     R"({"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"head_dim":64,
         "num_hidden_layers":36,"num_attention_heads":64,"num_key_value_heads":8,
         "num_local_experts":128,"num_experts_per_tok":4,"sliding_window":128,
         "vocab_size":201088,"max_position_embeddings":131072,
         "quantization_config":{"quant_method":"mxfp4"}})"},
    {"gpt-oss-20b", kModelCard,
     R"({"model_type":"gpt_oss","hidden_size":2880,"intermediate_size":2880,"head_dim":64,
         "num_hidden_layers":24,"num_attention_heads":64,"num_key_value_heads":8,
         "num_local_experts":32,"num_experts_per_tok":4,"sliding_window":128,
         "vocab_size":201088,"max_position_embeddings":131072,
         "quantization_config":{"quant_method":"mxfp4"}})"},
    {"Kimi-K3", "16 of 896 experts are published; its other sizes are not known here", "", 896, 16,
     0, 0, "only its experts are known here"},
    {"LFM2-1.2B", kModelCard,
     R"({"model_type":"lfm2","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,
         "num_key_value_heads":8,"conv_L_cache":3,"full_attn_idxs":[2,5,8,10,12,14],
         "block_ff_dim":12288,"vocab_size":65536,"max_position_embeddings":128000})"},
    {"Llama-3.1-8B", kModelCard,
     R"({"model_type":"llama","hidden_size":4096,"intermediate_size":14336,
         "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
         "vocab_size":128256,"max_position_embeddings":131072})"},
    {"Llama-3.1-70B", kModelCard,
     R"({"model_type":"llama","hidden_size":8192,"intermediate_size":28672,
         "num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,
         "vocab_size":128256,"max_position_embeddings":131072})"},
    {"Mixtral-8x7B", kModelCard,
     R"({"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,
         "num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,
         "num_local_experts":8,"num_experts_per_tok":2,"vocab_size":32000,
         "max_position_embeddings":32768})"},
    {"Qwen3-8B", kModelCard,
     R"({"model_type":"qwen3","hidden_size":4096,"intermediate_size":12288,"head_dim":128,
         "num_hidden_layers":36,"num_attention_heads":32,"num_key_value_heads":8,
         "vocab_size":151936,"max_position_embeddings":40960})"},
    {"Qwen3-30B-A3B", kModelCard,
     R"({"model_type":"qwen3_moe","hidden_size":2048,"intermediate_size":6144,"head_dim":128,
         "num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,
         "num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768,
         "vocab_size":151936,"max_position_embeddings":40960})"},
    {"Qwen3-Next-80B-A3B", kModelCard,
     R"({"model_type":"qwen3_next","hidden_size":2048,"head_dim":256,"num_hidden_layers":48,
         "num_attention_heads":16,"num_key_value_heads":2,"full_attention_interval":4,
         "linear_num_key_heads":16,"linear_num_value_heads":32,"linear_key_head_dim":128,
         "linear_value_head_dim":128,"linear_conv_kernel_dim":4,"num_experts":512,
         "num_experts_per_tok":10,"moe_intermediate_size":512,
         "shared_expert_intermediate_size":512,"vocab_size":151936,
         "max_position_embeddings":262144})"},
    {"SmolLM2-135M", kModelCard,
     R"({"model_type":"llama","hidden_size":576,"intermediate_size":1536,"num_hidden_layers":30,
         "num_attention_heads":9,"num_key_value_heads":3,"vocab_size":49152,
         "max_position_embeddings":8192,"tie_word_embeddings":true})"},
});

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

Result<ModelShape> ShapeOf(const KnownModel& model) {
  const std::string source = std::string(model.name) + " (built in)";
  ModelShape shape;
  if (!model.config.empty()) {
    Result<ModelShape> read = ReadConfigShape(source, model.config);
    if (!read) return read;
    shape = *std::move(read);
  } else {
    shape.architecture = "unknown";
    shape.stored_type = "bf16";
    shape.runs_not = "its architecture is not among those that Folio runs";
    shape.unknown = model.unknown;
    shape.experts = model.experts;
    shape.top_k = model.top_k;
    if (model.parameters > 0) shape.published_parameters = model.parameters;
    if (model.active > 0) shape.published_active = model.active;
  }
  shape.source = source;
  shape.name = model.name;
  shape.notes.push_back("source: " + std::string(model.source));
  return shape;
}

}  // namespace

std::optional<Result<ModelShape>> FindKnownModel(std::string_view name) {
  for (const KnownModel& model : kModels) {
    if (SameName(model.name, name)) return ShapeOf(model);
  }
  return std::nullopt;
}

std::vector<std::string_view> KnownModelNames() {
  std::vector<std::string_view> names;
  for (const KnownModel& model : kModels) names.push_back(model.name);
  return names;
}

}  // namespace folio
