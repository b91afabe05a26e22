// Real models for tests, by the fields of their published config.json's that matter. Each expected
// figure is derived in the comment beside it from the model's paper or configuration, and none from
// this code.
#ifndef FOLIO_PLAN_KNOWN_CONFIGS_TESTING_H_
#define FOLIO_PLAN_KNOWN_CONFIGS_TESTING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plan/config_shape.h"
#include "plan/kv_plan.h"

namespace folio {

struct KnownConfig {
  std::string name;
  std::string config;
  // Bytes that a token adds in bf16, every layer counted as full.
  std::uint64_t kv_per_token = 0;
  // All parameters, as the sum over the tensors that are published; 0: not compared.
  std::uint64_t parameters = 0;
  // Of one sequence, as 32-bit floats.
  std::uint64_t state = 0;
};

inline std::vector<KnownConfig> KnownConfigs() {
  return {
      // 36 layers x 2 x 8 KV heads x 128 x 2 bytes.
      {"Qwen3-8B",
       R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128,
           "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
           "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false})",
       147'456, 8'190'735'360},
      // Heads of 128 although hidden / heads is 64: 28 x 2 x 8 x 128 x 2.
      {"Qwen3-0.6B",
       R"({"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "head_dim": 128,
           "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
           "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": true})",
       114'688, 596'049'920},
      // 32 x 2 x 8 x 128 x 2.
      {"Llama-3.1-8B",
       R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
           "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       131'072, 8'030'261'248},
      // 16 x 2 x 8 x 64 x 2.
      {"Llama-3.2-1B",
       R"({"model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "head_dim": 64,
           "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
           "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": true})",
       32'768, 1'235'814'400},
      // Every head its own keys and values (MHA): 32 x 2 x 32 x 128 x 2.
      {"Llama-2-7B",
       R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
           "vocab_size": 32000, "max_position_embeddings": 4096, "tie_word_embeddings": false})",
       524'288, 6'738'415'616},
      // 80 x 2 x 8 x 128 x 2.
      {"Llama-3.1-70B",
       R"({"model_type": "llama", "hidden_size": 8192, "intermediate_size": 28672,
           "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
           "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       327'680, 70'553'706'496},
      // 30 x 2 x 3 x 64 x 2; the model that Folio's tests run.
      {"SmolLM2-135M",
       R"({"model_type": "llama", "hidden_size": 576, "intermediate_size": 1536,
           "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
           "vocab_size": 49152, "max_position_embeddings": 8192, "tie_word_embeddings": true})",
       23'040, 134'515'008},
      // 32 x 2 x 8 x 128 x 2; a window of 4096 in every layer.
      {"Mistral-7B-v0.1",
       R"({"model_type": "mistral", "hidden_size": 4096, "intermediate_size": 14336,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
           "sliding_window": 4096, "vocab_size": 32000, "max_position_embeddings": 32768})",
       131'072, 7'241'732'096},
      // Biases of q, k and v; 28 x 2 x 4 x 128 x 2.
      {"Qwen2.5-7B",
       R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
           "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
           "use_sliding_window": false, "sliding_window": 131072, "max_window_layers": 28,
           "vocab_size": 152064, "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       57'344, 7'615'616'512},
      // Fused matrices in the file, 32 x 2 x 32 x 96 x 2: heads of 96.
      {"Phi-3-mini-4k",
       R"({"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
           "sliding_window": 2047, "vocab_size": 32064, "max_position_embeddings": 4096,
           "tie_word_embeddings": false})",
       393'216, 3'821'079'552},
      // 12 x 2 x 12 x 64 x 2; learned positions, biases everywhere.
      {"GPT-2",
       R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
           "vocab_size": 50257})",
       36'864, 124'439'808},
      // 32 x 2 x 32 x 80 x 2: heads of 80, which Folio's kernels do not read.
      {"phi-2",
       R"({"model_type": "phi", "hidden_size": 2560, "intermediate_size": 10240,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
           "vocab_size": 51200, "max_position_embeddings": 2048, "tie_word_embeddings": false})",
       327'680, 2'779'683'840},
      // Multi-query attention: 32 x 2 x 1 x 64 x 2.
      {"Falcon-7B",
       R"({"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32,
           "num_attention_heads": 71, "multi_query": true, "parallel_attn": true, "bias": false,
           "vocab_size": 65024})",
       8'192, 6'921'720'704},
      // Multi-query attention: 40 x 2 x 1 x 128 x 2.
      {"StarCoder-15B",
       R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40, "n_head": 48,
           "n_positions": 8192, "n_inner": 24576, "multi_query": true, "vocab_size": 49152})",
       20'480, 15'517'456'384},
      // 26 x 2 x 4 x 256 x 2.
      {"Gemma-2-2B",
       R"({"model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216, "head_dim": 256,
           "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
           "sliding_window": 4096, "vocab_size": 256000, "max_position_embeddings": 8192})",
       106'496, 2'614'341'888},
      // 62 x 2 x 16 x 128 x 2: 52 layers see 1024 positions, 10 all.
      {"Gemma-3-27B",
       R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 5376,
           "intermediate_size": 21504, "head_dim": 128, "num_hidden_layers": 62,
           "num_attention_heads": 32, "num_key_value_heads": 16, "sliding_window": 1024,
           "vocab_size": 262208, "max_position_embeddings": 131072}})",
       507'904, 27'009'346'304},
      // 18 x 2 x 1 x 256 x 2: 15 layers see 512 positions, 3 all.
      {"Gemma-3-270M",
       R"({"model_type": "gemma3_text", "hidden_size": 640, "intermediate_size": 2048,
           "head_dim": 256, "num_hidden_layers": 18, "num_attention_heads": 4,
           "num_key_value_heads": 1, "sliding_window": 512, "vocab_size": 262144,
           "max_position_embeddings": 32768})",
       18'432, 268'098'176},
      // Of 35 layers the last 15 read others' keys and values: 20 x 2 x 2 x 256 x 2. Parameters, of
      // text alone (published with 6.87 B): embedding 262,400 x 2048; a table of 262,144 rows of
      // 256
      // for each layer; 2 x 3 matrices of 2048 x 2048 for AltUp's streams; 2048 x 35 x 256 into the
      // layers' inputs and a norm of 256; the last norm. A layer: q and o 2 x 2048 x 2048, k and v
      // 2 x 2048 x 512, head norms 2 x 256; 3 x 2048 x 16,384; 4 norms of 2048; AltUp's router
      // 4 x 2048 and norm 2048, 64 + 16 coefficients, scale 2048; LAuReL 2 x 2048 x 64 and norm
      // 2048;
      // its input's gate and way back 2 x 2048 x 256 and norm 2048.
      {"Gemma-3n-E4B",
       R"({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text",
           "hidden_size": 2048, "head_dim": 256, "num_hidden_layers": 35, "num_attention_heads": 8,
           "num_key_value_heads": 2, "sliding_window": 512, "num_kv_shared_layers": 15,
           "intermediate_size": 16384, "altup_num_inputs": 4, "laurel_rank": 64,
           "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144,
           "vocab_size": 262400, "max_position_embeddings": 32768}})",
       40'960,
       262'400ULL * 2048 + 262'144ULL * 35 * 256 + 6ULL * 2048 * 2048 + 2048ULL * 35 * 256 + 256 +
           2048 +
           35ULL *
               (2ULL * 2048 * 2048 + 2 * 2048 * 512 + 2 * 256 + 3ULL * 2048 * 16'384 + 4 * 2048 +
                4 * 2048 + 2048 + 64 + 16 + 2048 + 2 * 2048 * 64 + 2048 + 2 * 2048 * 256 + 2048)},
      // The same with 30 layers of 8192 (published with 4.46 B for text); 20 of them store.
      {"Gemma-3n-E2B",
       R"({"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text",
           "hidden_size": 2048, "head_dim": 256, "num_hidden_layers": 30, "num_attention_heads": 8,
           "num_key_value_heads": 2, "sliding_window": 512, "num_kv_shared_layers": 10,
           "intermediate_size": [8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192,
             8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192,
             8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192, 8192],
           "altup_num_inputs": 4, "laurel_rank": 64,
           "hidden_size_per_layer_input": 256, "vocab_size_per_layer_input": 262144,
           "vocab_size": 262400, "max_position_embeddings": 32768}})",
       40'960,
       262'400ULL * 2048 + 262'144ULL * 30 * 256 + 6ULL * 2048 * 2048 + 2048ULL * 30 * 256 + 256 +
           2048 +
           30ULL *
               (2ULL * 2048 * 2048 + 2 * 2048 * 512 + 2 * 256 + 3ULL * 2048 * 8192 + 4 * 2048 +
                4 * 2048 + 2048 + 64 + 16 + 2048 + 2 * 2048 * 64 + 2048 + 2 * 2048 * 256 + 2048)},
      // Attention and Mamba-2 in each of 36 layers, 36 x 2 x 2 x 64 x 2; 24 states of 64 x 128 and
      // 3
      // inputs of 1536 + 2 x 128 channels. Published: 521,411,104 parameters.
      {"Falcon-H1-0.5B",
       R"({"model_type": "falcon_h1", "hidden_size": 1024, "intermediate_size": 2048,
           "head_dim": 64, "num_hidden_layers": 36, "num_attention_heads": 8,
           "num_key_value_heads": 2, "mamba_d_ssm": 1536, "mamba_n_heads": 24, "mamba_d_head": 64,
           "mamba_d_state": 128, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_rms_norm": false,
           "mamba_conv_bias": true, "mamba_proj_bias": false, "projectors_bias": false,
           "vocab_size": 32784, "max_position_embeddings": 16384, "tie_word_embeddings": false})",
       18'432, 521'411'104, 36ULL * 4 * (24 * 64 * 128 + 3 * (1536 + 2 * 128))},
      // 36 x 2 x 8 x 64 x 2 (vLLM's log: 78,384 tokens in 5.38 GiB).
      {"gpt-oss-120b",
       R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64,
           "num_hidden_layers": 36, "num_attention_heads": 64, "num_key_value_heads": 8,
           "num_local_experts": 128, "num_experts_per_tok": 4, "sliding_window": 128,
           "vocab_size": 201088, "max_position_embeddings": 131072, "tie_word_embeddings": false,
           "quantization_config": {"quant_method": "mxfp4"}})",
       73'728, 116'829'156'672},
      // 24 x 2 x 8 x 64 x 2.
      {"gpt-oss-20b",
       R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64,
           "num_hidden_layers": 24, "num_attention_heads": 64, "num_key_value_heads": 8,
           "num_local_experts": 32, "num_experts_per_tok": 4, "sliding_window": 128,
           "vocab_size": 201088, "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       49'152, 20'914'757'184},
      // 32 x 2 x 8 x 128 x 2.
      {"Mixtral-8x7B",
       R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
           "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": null,
           "vocab_size": 32000, "max_position_embeddings": 32768, "tie_word_embeddings": false})",
       131'072, 46'702'792'704},
      // Heads of 128 although hidden / heads is 64: 48 x 2 x 4 x 128 x 2.
      {"Qwen3-30B-A3B",
       R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
           "head_dim": 128, "num_hidden_layers": 48, "num_attention_heads": 32,
           "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8,
           "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [],
           "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": false})",
       98'304, 30'532'122'624},
      // 16 x 2 x 16 x 128 x 2.
      {"OLMoE-1B-7B",
       R"({"model_type": "olmoe", "hidden_size": 2048, "intermediate_size": 1024,
           "num_hidden_layers": 16, "num_attention_heads": 16, "num_key_value_heads": 16,
           "num_experts": 64, "num_experts_per_tok": 8, "vocab_size": 50304,
           "max_position_embeddings": 4096, "tie_word_embeddings": false})",
       131'072, 6'919'161'856},
      // One vector of 512 + 64 for all heads: 61 x 576 x 2.
      {"DeepSeek-V3",
       R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
           "num_hidden_layers": 61, "num_attention_heads": 128, "num_key_value_heads": 128,
           "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
           "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
           "moe_layer_freq": 1, "first_k_dense_replace": 3, "vocab_size": 129280,
           "max_position_embeddings": 163840, "tie_word_embeddings": false,
           "quantization_config": {"quant_method": "fp8"}})",
       70'272, 671'026'419'200},
      // The same vector, 27 layers: 27 x 576 x 2.
      {"DeepSeek-V2-Lite",
       R"({"model_type": "deepseek_v2", "hidden_size": 2048, "intermediate_size": 10944,
           "num_hidden_layers": 27, "num_attention_heads": 16, "num_key_value_heads": 16,
           "kv_lora_rank": 512, "q_lora_rank": null, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64,
           "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408,
           "moe_layer_freq": 1, "first_k_dense_replace": 1, "vocab_size": 102400,
           "max_position_embeddings": 163840, "tie_word_embeddings": false})",
       31'104, 15'706'484'224},
      // Kimi Team 2025: V3 with 384 experts and 64 heads; 61 x 576 x 2.
      {"Kimi-K2",
       R"({"model_type": "kimi_k2", "hidden_size": 7168, "intermediate_size": 18432,
           "num_hidden_layers": 61, "num_attention_heads": 64, "num_key_value_heads": 64,
           "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 384,
           "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
           "moe_layer_freq": 1, "first_k_dense_replace": 1, "vocab_size": 163840,
           "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       70'272},
      // Heads of 128, 92 layers x 2 x 8 x 128 x 2.
      {"GLM-4.5",
       R"({"model_type": "glm4_moe", "hidden_size": 5120, "intermediate_size": 12288,
           "head_dim": 128, "num_hidden_layers": 92, "num_attention_heads": 96,
           "num_key_value_heads": 8, "n_routed_experts": 160, "n_shared_experts": 1,
           "num_experts_per_tok": 8, "moe_intermediate_size": 1536, "first_k_dense_replace": 3,
           "use_qk_norm": true, "attention_bias": true, "vocab_size": 151552,
           "max_position_embeddings": 131072, "tie_word_embeddings": false})",
       376'832},
      // 6 of 16 layers have attention, 6 x 2 x 8 x 64 x 2; the other 10 keep the last 2 inputs of
      // 2048 numbers, of 4 bytes each.
      {"LFM2-1.2B",
       R"({"model_type": "lfm2", "hidden_size": 2048, "num_hidden_layers": 16,
           "num_attention_heads": 32, "num_key_value_heads": 8, "conv_L_cache": 3,
           "full_attn_idxs": [2, 5, 8, 10, 12, 14], "block_ff_dim": 12288,
           "block_auto_adjust_ff_dim": true, "block_multiple_of": 256, "vocab_size": 65536,
           "max_position_embeddings": 128000, "tie_embedding": true})",
       12'288, 1'170'340'608, 10 * 2 * 2048 * 4},
      // 12 of 48 layers have attention, 12 x 2 x 2 x 256 x 2; the other 36 keep 32 matrices of
      // 128 x 128 and 3 inputs of 2 x 16 x 128 + 32 x 128 numbers.
      {"Qwen3-Next-80B-A3B",
       R"({"model_type": "qwen3_next", "hidden_size": 2048, "intermediate_size": 5120,
           "head_dim": 256, "num_hidden_layers": 48, "num_attention_heads": 16,
           "num_key_value_heads": 2, "full_attention_interval": 4, "linear_num_key_heads": 16,
           "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
           "linear_conv_kernel_dim": 4, "num_experts": 512, "num_experts_per_tok": 10,
           "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
           "vocab_size": 151936, "max_position_embeddings": 262144, "tie_word_embeddings": false})",
       24'576, 0, 36ULL * 4 * (32 * 128 * 128 + 3 * (2 * 16 * 128 + 32 * 128))},
      // 4 of 32 layers have attention, 4 x 2 x 8 x 128 x 2; the other 28 keep 2 x 4096 channels of
      // 16 states and 3 inputs.
      {"Jamba-v0.1",
       R"({"model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336,
           "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
           "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
           "expert_layer_offset": 1, "num_experts": 16, "num_experts_per_tok": 2,
           "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256,
           "vocab_size": 65536, "max_position_embeddings": 262144, "tie_word_embeddings": false})",
       16'384, 51'570'323'328, 28ULL * 4 * 8192 * (16 + 3)},
      // Of 64 layers every second stores keys and values: 32 x 2 x 8 x 128 x 2.
      {"Hunyuan-Large",
       R"({"model_type": "hunyuan", "hidden_size": 6400, "intermediate_size": 18304,
           "num_hidden_layers": 64, "num_attention_heads": 80, "num_key_value_heads": 8,
           "attention_head_dim": 128, "head_dim": 128, "use_cla": true, "cla_share_factor": 2,
           "num_experts": 16, "moe_topk": 1, "num_shared_expert": 1, "vocab_size": 128512,
           "max_position_embeddings": 131072})",
       131'072},
      // Meta 2025: 48 x 2 x 8 x 128 x 2, 36 layers see their chunk of 8192.
      {"Llama-4-Scout",
       R"({"model_type": "llama4", "text_config": {"model_type": "llama4_text",
           "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
           "head_dim": 128, "num_hidden_layers": 48, "num_attention_heads": 40,
           "num_key_value_heads": 8, "num_local_experts": 16, "num_experts_per_tok": 1,
           "interleave_moe_layer_step": 1, "attention_chunk_size": 8192, "vocab_size": 202048,
           "max_position_embeddings": 10485760}})",
       196'608},
  };
}

inline ModelShape ShapeOrFail(const KnownConfig& model) {
  Result<ModelShape> shape = ReadConfigShape(model.name + "/config.json", model.config);
  EXPECT_TRUE(shape.has_value()) << (shape ? "" : shape.error().Message());
  return shape ? *std::move(shape) : ModelShape{};
}

inline KvPlan PlanOrFail(const ModelShape& shape, const KvQuestion& question) {
  Result<KvPlan> plan = PlanKv(shape, question);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().Message());
  return plan ? *std::move(plan) : KvPlan{};
}

inline const KnownConfig& Model(const std::string& name) {
  static const std::vector<KnownConfig> models = KnownConfigs();
  for (const KnownConfig& model : models) {
    if (model.name == name) return model;
  }
  ADD_FAILURE() << "no model " << name;
  return models.front();
}

}  // namespace folio

#endif  // FOLIO_PLAN_KNOWN_CONFIGS_TESTING_H_
