#include "formats/huggingface/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/open_model.h"
#include "formats/safetensors_test_writer.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

using ::folio::testing::TestSafetensors;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A folder in memory: config.json's fields as text, which a test may change, and tensors.
struct TestFolder {
  std::vector<std::pair<std::string, std::string>> fields;
  TestSafetensors tensors;
  std::string tokenizer = "{}";
  std::string tokenizer_config;
  std::string generation_config;
  std::string chat_template;

  void Set(const std::string& field, const std::string& json) {
    for (auto& [name, value] : fields) {
      if (name != field) continue;
      value = json;
      return;
    }
    fields.emplace_back(field, json);
  }
  void Remove(const std::string& field) {
    std::erase_if(fields, [&](const auto& pair) { return pair.first == field; });
  }
  std::string Config() const {
    std::string text;
    for (const auto& [field, json] : fields)
      text.append(text.empty() ? "{\"" : ",\"").append(field).append("\":").append(json);
    return text + "}";
  }

  Result<ModelFile> Read() {
    config_ = Config();
    bytes_ = tensors.Bytes();
    Checkpoint checkpoint;
    checkpoint.files = {"f/model.safetensors"};
    auto read = ReadSafetensors("f/model.safetensors", bytes_);
    if (!read) return std::unexpected(read.error());
    for (SafetensorsTensor& tensor : *read) checkpoint.tensors.push_back({std::move(tensor), 0});
    return ReadHuggingFaceFolder("f",
                                 {.config = config_,
                                  .generation_config = generation_config,
                                  .tokenizer = tokenizer,
                                  .tokenizer_config = tokenizer_config,
                                  .chat_template = chat_template},
                                 std::move(checkpoint));
  }
  std::string Refusal() {
    const auto model = Read();
    return model ? "accepted" : model.error().Message();
  }

 private:
  std::string config_;
  std::vector<std::byte> bytes_;
};

TestFolder Decoder(const std::string& model_type) {
  TestFolder folder;
  folder.fields = {{"model_type", "\"" + model_type + "\""},
                   {"architectures", "[\"SomeForCausalLM\"]"},
                   {"hidden_size", "8"},
                   {"num_attention_heads", "2"},
                   {"num_key_value_heads", "1"},
                   {"num_hidden_layers", "1"},
                   {"intermediate_size", "6"},
                   {"max_position_embeddings", "64"},
                   {"rms_norm_eps", "1e-5"}};
  folder.tensors.AddMatrix("model.embed_tokens.weight", 10, 8);
  folder.tensors.AddVector("model.norm.weight", 8);
  return folder;
}

TestFolder Llama() {
  TestFolder folder = Decoder("llama");
  folder.tensors.AddMatrix("model.layers.0.self_attn.q_proj.weight", 8, 8);
  return folder;
}

std::uint64_t Uint(const ModelFile& model, std::string_view key) {
  const auto value = model.GetUint(key);
  EXPECT_TRUE(value.has_value()) << key;
  return value.value_or(0);
}

std::vector<float> Values(const ModelFile& model, std::string_view name) {
  const ModelTensor* tensor = model.FindTensor(name);
  if (tensor == nullptr) return {};
  std::vector<float> values(static_cast<std::size_t>(tensor->elements));
  Dequantize(tensor->type, tensor->data.data(), tensor->elements, values.data());
  return values;
}

TEST(HuggingFaceFolder, FieldsBecomeTheKeysOfGguf) {
  TestFolder folder = Llama();
  folder.Set("rope_theta", "500000.0");
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  EXPECT_EQ(model->GetString("general.architecture").value_or(""), "llama");
  EXPECT_EQ(Uint(*model, "llama.embedding_length"), 8U);
  EXPECT_EQ(Uint(*model, "llama.feed_forward_length"), 6U);
  EXPECT_EQ(Uint(*model, "llama.attention.head_count_kv"), 1U);
  EXPECT_EQ(Uint(*model, "llama.attention.key_length"), 4U);
  EXPECT_EQ(Uint(*model, "llama.context_length"), 64U);
  EXPECT_EQ(model->GetFloat("llama.rope.freq_base").value_or(0), 500000.0);
  EXPECT_EQ(model->GetBool("llama.rope.halves").value_or(false), true);
  EXPECT_EQ(model->SourceName("llama.embedding_length"), "config.json: hidden_size");
}

TEST(HuggingFaceFolder, TensorsKeepTheirBytesUnderTheNamesOfGguf) {
  TestFolder folder = Llama();
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  const ModelTensor* embedding = model->FindTensor("token_embd.weight");
  ASSERT_NE(embedding, nullptr);
  EXPECT_THAT(embedding->dims, ElementsAre(8, 10));
  EXPECT_EQ(embedding->bytes, 320U);
  EXPECT_NE(model->FindTensor("blk.0.attn_q.weight"), nullptr);
  EXPECT_EQ(model->SourceName("blk.0.attn_q.weight"), "model.layers.0.self_attn.q_proj.weight");
}

TEST(HuggingFaceFolder, UnknownFamiliesAreRefusedWithTheKnownOnes) {
  TestFolder folder = Decoder("bert");
  EXPECT_THAT(folder.Refusal(),
              HasSubstr("f/config.json: model_type: is \"bert\"; known in folders "
                        "are llama, mistral"));
  folder.Remove("model_type");
  EXPECT_THAT(folder.Refusal(), HasSubstr("model_type: is missing"));
  folder = Llama();
  folder.Set("architectures", "[\"LlamaForSequenceClassification\"]");
  EXPECT_THAT(folder.Refusal(), HasSubstr("architectures: has \"LlamaForSequence"));
}

TEST(HuggingFaceFolder, BadFieldsAreRefusedByFileFieldAndValue) {
  const std::vector<std::array<std::string, 3>> kBad = {
      {"hidden_size", "-8", "hidden_size: is -8"},
      {"hidden_size", "8.5", "hidden_size: is 8.5"},
      {"hidden_size", "\"8\"", "hidden_size: is \"8\""},
      {"hidden_size", "null", "hidden_size: is missing"},
      {"num_attention_heads", "0", "num_attention_heads: is 0"},
      {"rms_norm_eps", "[]", "rms_norm_eps: is a list"},
      {"hidden_act", "\"relu\"", "hidden_act: is \"relu\"; supported is only silu"},
      {"attention_bias", "true", "attention_bias: is true"},
      {"mlp_bias", "true", "mlp_bias: is true"},
      {"quantization_config", "{}", "quantization_config: is an object"},
      {"rope_scaling", "3", "rope_scaling: is 3"},
      {"rope_scaling", "{\"rope_type\": \"dynamic\"}", "rope_scaling.rope_type: is 'dynamic'"},
      {"rope_scaling", "{\"type\": \"linear\"}", "rope_scaling.factor: is missing"},
      {"rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"truncate\": false}",
       "rope_scaling.truncate: is false"},
      {"rope_scaling", "{\"rope_type\": \"llama3\", \"factor\": 0}", "rope_scaling."},
      {"tie_word_embeddings", "false", "tie_word_embeddings: is false, but there is no tensor"},
      {"bos_token_id", "\"x\"", "bos_token_id: has \"x\""},
  };
  for (const auto& [field, json, message] : kBad) {
    TestFolder folder = Llama();
    folder.Set(field, json);
    EXPECT_THAT(folder.Refusal(), HasSubstr("f/config.json: " + message)) << json;
  }
}

TEST(HuggingFaceFolder, TensorsThatNoRuleKnowsAreRefusedByName) {
  for (const char* name :
       {"model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.q_projection.weight",
        "model.layers.1.self_attn.q_proj.weight", "model.layers.00.self_attn.k_proj.weight",
        "model.layers.x.self_attn.k_proj.weight", "score.weight"}) {
    TestFolder folder = Llama();
    folder.tensors.AddVector(name, 8);
    EXPECT_THAT(folder.Refusal(), HasSubstr("f/model.safetensors: tensor " + std::string(name)));
  }
  TestFolder folder = Llama();
  folder.tensors.Add("model.layers.0.self_attn.k_proj.weight", "F8_E4M3", "[4, 8]", 32);
  EXPECT_THAT(folder.Refusal(), HasSubstr("dtype F8_E4M3 is not one of F32, F16, BF16"));
}

TEST(HuggingFaceFolder, WhatAnOlderWriterLeftIsPassedOver) {
  TestFolder folder = Llama();
  folder.tensors.AddVector("model.layers.0.self_attn.rotary_emb.inv_freq", 2);
  EXPECT_EQ(folder.Refusal(), "accepted");
}

TEST(HuggingFaceFolder, TiedHeadsAreLeftOut) {
  TestFolder folder = Llama();
  folder.tensors.AddMatrix("lm_head.weight", 10, 8);
  EXPECT_NE(folder.Read()->FindTensor("output.weight"), nullptr);
  folder.Set("tie_word_embeddings", "true");
  EXPECT_EQ(folder.Read()->FindTensor("output.weight"), nullptr);
}

TEST(HuggingFaceFolder, EachExpertHasItsPartOfAFusedTensor) {
  TestFolder folder = Decoder("granitemoe");
  folder.Set("num_local_experts", "2");
  folder.Set("num_experts_per_tok", "1");
  folder.tensors.Add("model.layers.0.block_sparse_moe.input_linear.weight", "F32", "[2, 4, 3]", 96);
  folder.tensors.Add("model.layers.0.block_sparse_moe.output_linear.weight", "F32", "[2, 3, 2]",
                     48);
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  const std::byte* start = model->FindTensor("blk.0.ffn_gate.0.weight")->data.data();
  std::size_t part = 0;
  for (const char* name : {"blk.0.ffn_gate.0.weight", "blk.0.ffn_up.0.weight",
                           "blk.0.ffn_gate.1.weight", "blk.0.ffn_up.1.weight"}) {
    const ModelTensor* tensor = model->FindTensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_THAT(tensor->dims, ElementsAre(3, 2));
    EXPECT_EQ(tensor->data.data(), start + 24 * part++) << name;
  }
  EXPECT_THAT(model->FindTensor("blk.0.ffn_down_exps.weight")->dims, ElementsAre(2, 3, 2));

  folder.tensors.Add("model.layers.0.block_sparse_moe.experts.gate_up_proj", "F32", "[2, 4, 3]",
                     96);
  EXPECT_THAT(folder.Refusal(), HasSubstr("is blk.0.ffn_gate.0.weight, which another tensor is"));
}

TEST(HuggingFaceFolder, ExpertsOfTheirOwnKeepTheirNumbers) {
  TestFolder folder = Decoder("mixtral");
  folder.Set("num_local_experts", "11");
  folder.Set("num_experts_per_tok", "2");
  folder.tensors.AddMatrix("model.layers.0.block_sparse_moe.experts.10.w3.weight", 6, 8);
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  EXPECT_NE(model->FindTensor("blk.0.ffn_up.10.weight"), nullptr);
}

TestFolder Gemma() {
  TestFolder folder = Decoder("gemma3_text");
  folder.Set("head_dim", "4");
  folder.Set("sliding_window", "16");
  return folder;
}

TEST(HuggingFaceFolder, NormsOfGemmaHoldOneMore) {
  TestFolder folder = Gemma();
  folder.tensors.Add("model.layers.0.input_layernorm.weight", "BF16", "[1]", 2);
  TestFolder plain = Llama();
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  const std::vector<float> norm = Values(*model, "output_norm.weight");
  const std::vector<float> stored = Values(*plain.Read(), "output_norm.weight");
  ASSERT_EQ(norm.size(), 8U);
  for (std::size_t i = 0; i < norm.size(); ++i) EXPECT_EQ(norm[i], stored[i] + 1.0F);
  EXPECT_EQ(model->FindTensor("blk.0.attn_norm.weight")->type, GgmlType::kF32);
}

TEST(HuggingFaceFolder, OtherPatternsAndScalesOfGemmaAreRefused) {
  const std::vector<std::array<std::string, 3>> kBad = {
      {"sliding_window_pattern", "4", "sliding_window_pattern: is 4"},
      {"layer_types", "[\"full_attention\"]", "layer_types: has \"full_attention\" for layer 1"},
      {"query_pre_attn_scalar", "5", "query_pre_attn_scalar: is 5"},
      {"final_logit_softcapping", "30.0", "final_logit_softcapping: is 30.0"},
      {"sliding_window", "null", "sliding_window: is missing"},
  };
  for (const auto& [field, json, message] : kBad) {
    TestFolder folder = Gemma();
    folder.Set(field, json);
    EXPECT_THAT(folder.Refusal(), HasSubstr("f/config.json: " + message)) << json;
  }
}

TEST(HuggingFaceFolder, NewerWritersGiveBothEmbeddingsOfPositionsInOneObject) {
  TestFolder folder = Gemma();
  folder.Set("rope_parameters", R"({"full_attention": {"rope_type": "linear", "factor": 8.0,
      "rope_theta": 1e6}, "sliding_attention": {"rope_type": "default", "rope_theta": 20000}})");
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  EXPECT_EQ(model->GetFloat("gemma3.rope.freq_base").value_or(0), 1e6);
  EXPECT_EQ(model->GetFloat("gemma3.rope.freq_base_swa").value_or(0), 20000.0);
  EXPECT_EQ(model->GetString("gemma3.rope.scaling.type").value_or(""), "linear");
  folder.Set("rope_parameters",
             R"({"full_attention": {}, "sliding_attention": {"rope_type": "yarn"}})");
  EXPECT_THAT(folder.Refusal(),
              HasSubstr("rope_parameters.sliding_attention.rope_type: is \"yarn\""));
}

TEST(HuggingFaceFolder, ScalingsOfPositionsAreTranslated) {
  TestFolder folder = Llama();
  folder.Set("rope_scaling", R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 32})");
  EXPECT_THAT(Values(*folder.Read(), "rope_freqs.weight"),
              ElementsAre(1.0F, 8.0F));  // waves of 6 and 628 positions

  folder.Set("rope_scaling", R"({"rope_type": "yarn", "factor": 4.0, "attention_factor": 1.0,
      "original_max_position_embeddings": 16})");
  const auto yarn = folder.Read();
  EXPECT_EQ(Uint(*yarn, "llama.rope.scaling.original_context_length"), 16U);
  EXPECT_NEAR(yarn->GetFloat("llama.rope.scaling.attn_factor").value_or(0), 1 / 1.1386294, 1e-7);

  TestFolder phi = Decoder("phi3");
  phi.Set("original_max_position_embeddings", "16");
  phi.Set("partial_rotary_factor", "0.5");
  phi.Set("rope_scaling", R"({"type": "su", "short_factor": [1.0], "long_factor": [2]})");
  const auto long_rope = phi.Read();
  ASSERT_TRUE(long_rope.has_value()) << long_rope.error().Message();
  EXPECT_EQ(Uint(*long_rope, "phi3.rope.dimension_count"), 2U);
  EXPECT_THAT(Values(*long_rope, "rope_factors_long.weight"), ElementsAre(2.0F));
  EXPECT_NEAR(long_rope->GetFloat("phi3.rope.scaling.attn_factor").value_or(0), std::sqrt(1.5),
              1e-7);
}

TEST(HuggingFaceFolder, TokenizerFilesAreKeptUnderTheirKeys) {
  TestFolder folder = Llama();
  folder.Set("eos_token_id", "[2, 5]");
  folder.generation_config = R"({"eos_token_id": 7})";
  folder.tokenizer_config =
      R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "chat_template": "T"})";
  const auto model = folder.Read();
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  EXPECT_EQ(model->GetString("tokenizer.huggingface.json").value_or(""), "{}");
  EXPECT_EQ(model->GetString("tokenizer.huggingface.bos_token").value_or(""), "<s>");
  EXPECT_EQ(model->GetString("tokenizer.huggingface.eos_token").value_or(""), "</s>");
  EXPECT_THAT(*model->GetInts("tokenizer.huggingface.end_token_ids"), ElementsAre(2, 5, 7));
  EXPECT_EQ(model->GetString("tokenizer.chat_template").value_or(""), "T");
  folder.chat_template = "of a file of its own";
  EXPECT_EQ(folder.Read()->GetString("tokenizer.chat_template").value_or(""),
            "of a file of its own");
  folder.chat_template.clear();
  folder.tokenizer_config =
      R"({"chat_template": [{"name": "rag", "template": "R"}, {"name": "default", "template": "D"}]})";
  EXPECT_EQ(folder.Read()->GetString("tokenizer.chat_template").value_or(""), "D");
}

TEST(HuggingFaceFolder, BrokenSideFilesAreRefusedByName) {
  TestFolder folder = Llama();
  folder.tokenizer.clear();
  EXPECT_THAT(folder.Refusal(), HasSubstr("f: tokenizer.json: is not there"));
  folder = Llama();
  folder.tokenizer_config = "{";
  EXPECT_THAT(folder.Refusal(), HasSubstr("f/tokenizer_config.json: text:"));
  folder.tokenizer_config = R"({"bos_token": 3})";
  EXPECT_THAT(folder.Refusal(), HasSubstr("f/tokenizer_config.json: bos_token: is 3"));
  folder = Llama();
  folder.generation_config = R"({"eos_token_id": [1, null]})";
  EXPECT_THAT(folder.Refusal(), HasSubstr("f/generation_config.json: eos_token_id: has null"));
}

class FolderOnDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "folder_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(path_);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  void Write(const std::string& name, std::string_view text) {
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
  }
  void Write(const std::string& name, const TestSafetensors& tensors) {
    const std::vector<std::byte> bytes = tensors.Bytes();
    Write(name, std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  std::string Refusal() {
    const auto model = OpenModelFile(path_);
    return model ? "accepted" : model.error().Message();
  }

  std::string path_;
};

TEST_F(FolderOnDisk, WhatIsMissingIsNamed) {
  EXPECT_THAT(Refusal(), HasSubstr(path_ + ": config.json: is not there"));
  Write("config.json", Llama().Config());
  EXPECT_THAT(Refusal(), HasSubstr(path_ + ": model.safetensors: is not there"));
  Write("model.safetensors", Llama().tensors);
  EXPECT_THAT(Refusal(), HasSubstr(path_ + ": tokenizer.json: is not there"));
  Write("tokenizer.json", "{}");
  EXPECT_EQ(Refusal(), "accepted");
}

TEST_F(FolderOnDisk, PartsAreOneModel) {
  Write("config.json", Llama().Config());
  Write("tokenizer.json", "{}");
  TestSafetensors one;
  one.AddMatrix("model.embed_tokens.weight", 10, 8);
  TestSafetensors two;
  two.AddVector("model.norm.weight", 8);
  Write("model-00001-of-00002.safetensors", one);
  Write("model-00002-of-00002.safetensors", two);
  const auto index = [this](const std::string& map) {
    Write("model.safetensors.index.json",
          R"({"metadata": {"total_size": 352}, "weight_map": )" + map + "}");
  };
  index(R"({"model.embed_tokens.weight": "model-00001-of-00002.safetensors",
            "model.norm.weight": "model-00002-of-00002.safetensors"})");
  const auto model = OpenModelFile(path_);
  ASSERT_TRUE(model.has_value()) << model.error().Message();
  EXPECT_EQ(model->files().size(), 2U);
  EXPECT_EQ(model->FindTensor("output_norm.weight")->file, 1);
  EXPECT_EQ(model->tensors().size(), 2U);

  index(R"({"model.embed_tokens.weight": "model-00001-of-00002.safetensors",
            "model.norm.weight": "model-00001-of-00002.safetensors"})");
  EXPECT_THAT(Refusal(), HasSubstr("weight_map: says that \"model.norm.weight\" is in "
                                   "model-00001-of-00002.safetensors"));
  index(R"({"model.norm.weight": "model-00003-of-00002.safetensors"})");
  EXPECT_THAT(Refusal(), HasSubstr("model-00003-of-00002.safetensors: open"));
  Write("model-00002-of-00002.safetensors", one);
  index(R"({"model.embed_tokens.weight": "model-00001-of-00002.safetensors",
            "model.norm.weight": "model-00002-of-00002.safetensors"})");
  EXPECT_THAT(Refusal(), HasSubstr("tensor model.embed_tokens.weight: is also in"));
}

TEST(CheckpointIndex, UnsafeNamesAndOtherFormsAreRefused) {
  for (const char* map : {R"({"a": "../b"})", R"({"a": "/etc/passwd"})", R"({"a": ".b"})",
                          R"({"a": ""})", R"({"a": 3})", R"({"a": ["b"]})", R"({"a": {"b": "c"}})",
                          R"({"a": "b", "a": "c"})", "3", "\"b\""}) {
    const auto read = ReadCheckpointIndex("i.json", "{\"weight_map\": " + std::string(map) + "}");
    ASSERT_FALSE(read.has_value()) << map;
    EXPECT_THAT(read.error().Message(), HasSubstr("i.json: weight_map")) << map;
  }
  for (const char* text : {"", "{", "[]", "{}", "{\"metadata\": {}}"})
    EXPECT_FALSE(ReadCheckpointIndex("i.json", text).has_value()) << text;
  const auto read = ReadCheckpointIndex(
      "i.json", R"({"metadata": {"x": [1]}, "weight_map": {"a": "b"}, "z": 1})");
  ASSERT_TRUE(read.has_value()) << read.error().Message();
  EXPECT_EQ(read->at("a"), "b");
}

}  // namespace
}  // namespace folio
