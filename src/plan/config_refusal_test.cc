// Bad configurations: an input error in one line that names file and field, never a guess.
#include <gtest/gtest.h>

#include <string>

#include "formats/json.h"
#include "plan/config_shape.h"

namespace folio {
namespace {

constexpr const char* kGood =
    R"({"model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128,
        "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 151936})";

std::string With(const std::string& field, const std::string& value) {
  Json json = Json::parse(kGood);
  if (value.empty()) {
    json.erase(field);
  } else {
    json[field] = Json::parse(value);
  }
  return json.dump();
}

std::string RefusalOf(const std::string& text) {
  const Result<ModelShape> shape = ReadConfigShape("config.json", text);
  if (shape) return "accepted";
  EXPECT_EQ(shape.error().kind, ErrorKind::kInput);
  EXPECT_EQ(shape.error().Message().find('\n'), std::string::npos);
  return shape.error().Message();
}

struct BadField {
  std::string field;
  std::string value;  // empty: missing
  std::string why;    // a part of the message
};

TEST(ConfigRefusalTest, AFieldThatIsMissingOrWrongIsNamed) {
  EXPECT_EQ(RefusalOf(kGood), "accepted");
  const std::vector<BadField> cases = {
      {"model_type", "", "is missing"},
      {"model_type", "\"sparkle\"", "\"sparkle\" is not known"},
      {"model_type", "7", "a string is needed"},
      {"num_hidden_layers", "", "is missing"},
      {"num_hidden_layers", "0", "is 0"},
      {"num_hidden_layers", "-3", "is -3"},
      {"num_hidden_layers", "36.5", "is 36.5"},
      {"num_hidden_layers", "1e300", "integer"},
      {"num_hidden_layers", "4294967297", "4294967297"},
      {"num_hidden_layers", "99999999999999999999999", "integer"},
      {"num_hidden_layers", "2000", "at most 1024"},
      {"num_hidden_layers", "\"36\"", "is needed"},
      {"num_hidden_layers", "[36]", "is needed"},
      {"num_hidden_layers", "true", "is needed"},
      {"num_attention_heads", "", "is missing"},
      {"num_attention_heads", "0", "is 0"},
      {"num_key_value_heads", "7", "does not divide"},
      {"num_key_value_heads", "-1", "is -1"},
      {"hidden_size", "", "is missing"},
      {"hidden_size", "1000000000000", "is 1000000000000"},
      {"head_dim", "1048576", "elements together"},
      {"vocab_size", "", "is missing"},
      {"vocab_size", "null", "is missing"},
      {"intermediate_size", "1.0", "is 1.0"},
      {"max_position_embeddings", "-1", "is -1"},
      {"tie_word_embeddings", "1", "true or false"},
  };
  for (const BadField& bad : cases) {
    const std::string message = RefusalOf(With(bad.field, bad.value));
    EXPECT_NE(message.find("config.json: " + (bad.why == "elements together"
                                                  ? std::string("num_attention_heads")
                                                  : bad.field)),
              std::string::npos)
        << bad.field << " = " << bad.value << ": " << message;
    EXPECT_NE(message.find(bad.why), std::string::npos) << message;
  }
}

TEST(ConfigRefusalTest, HeadsThatDoNotDivideTheWidthNeedTheirSize) {
  Json json = Json::parse(kGood);
  json.erase("head_dim");
  json["model_type"] = "llama";
  json["hidden_size"] = 4097;
  EXPECT_NE(RefusalOf(json.dump()).find("config.json: head_dim: is missing"), std::string::npos);
}

TEST(ConfigRefusalTest, ListsOfLayersMustFitTheirNumber) {
  Json json = Json::parse(R"({"model_type": "gemma2", "hidden_size": 2304, "head_dim": 256,
      "intermediate_size": 9216, "num_hidden_layers": 3, "num_attention_heads": 8,
      "num_key_value_heads": 4, "sliding_window": 4096, "vocab_size": 256000})");
  EXPECT_EQ(RefusalOf(json.dump()), "accepted");
  json["layer_types"] = {"full_attention", "sliding_attention"};
  EXPECT_NE(RefusalOf(json.dump()).find("layer_types: has 2 entries for 3 layers"),
            std::string::npos);
  json["layer_types"] = {"full_attention", "sliding_attention", "telepathy"};
  EXPECT_NE(RefusalOf(json.dump()).find("'telepathy'"), std::string::npos);
  json["layer_types"] = {"full_attention", 7, "full_attention"};
  EXPECT_NE(RefusalOf(json.dump()).find("layer_types: has 7"), std::string::npos);
  json.erase("layer_types");
  json.erase("sliding_window");
  EXPECT_NE(RefusalOf(json.dump()).find("sliding_window: is missing"), std::string::npos);
}

TEST(ConfigRefusalTest, MoreExpertsOfATokenThanThereAreContradictThemselves) {
  const std::string text =
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
          "num_local_experts": 8, "num_experts_per_tok": 9, "vocab_size": 32000})";
  EXPECT_NE(RefusalOf(text).find("num_experts_per_tok: is 9, more than the 8"), std::string::npos);
}

TEST(ConfigRefusalTest, WhatIsNoJsonOrTooMuchOfItIsRefusedAtOnce) {
  EXPECT_NE(RefusalOf("").find("config.json: text"), std::string::npos);
  EXPECT_NE(RefusalOf("[1, 2]").find("object"), std::string::npos);
  EXPECT_NE(RefusalOf("{\"model_type\": ").find("is no JSON"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  EXPECT_NE(RefusalOf(deep).find("nests deeper"), std::string::npos);
  const std::string large = "{\"a\": \"" + std::string(kMostConfigBytes, 'x') + "\"}";
  EXPECT_NE(RefusalOf(large).find("bytes"), std::string::npos);
}

// A parser would take one of the two and say nothing.
TEST(ConfigRefusalTest, FieldsThatAreThereTwiceAreRefusedIfTheyDiffer) {
  const auto with = [](const std::string& more) {
    std::string text = kGood;
    return text.insert(text.rfind('}'), ", " + more);
  };
  EXPECT_EQ(RefusalOf(with(R"("head_dim": 128)")), "accepted");
  EXPECT_EQ(RefusalOf(with(R"("a": [1, {"b": "c"}], "a": [1, {"b": "c"}])")), "accepted");
  EXPECT_EQ(RefusalOf(with(R"("a": {"c": 1}, "b": {"c": 2}, "d": [{"c": 1}, {"c": 2}])")),
            "accepted");
  for (const auto& [more, field] : std::vector<std::pair<std::string, std::string>>{
           {R"("head_dim": 64)", "head_dim"},
           {R"("head_dim": "128")", "head_dim"},
           {R"("head_dim": null)", "head_dim"},
           {R"("model_type": "llama")", "model_type"},
           {R"("a": [1, 2], "a": [1, 3])", "a"},
           {R"("a": {"b": {"c": 1, "c": 1.5}})", "a.b.c"},
           {R"("a": [{"b": true, "b": false}])", "a.b"}}) {
    EXPECT_NE(RefusalOf(with(more)).find("config.json: " + field + ": is there twice"),
              std::string::npos)
        << more << ": " << RefusalOf(with(more));
  }
}

// The largest numbers that each field may have: no product of them overflows.
TEST(ConfigRefusalTest, TheLargestNumbersMakeNoNonsense) {
  Json json = Json::parse(R"({"model_type": "qwen3_moe", "hidden_size": 1048576, "head_dim": 16,
      "num_hidden_layers": 1024, "num_attention_heads": 1048576, "num_key_value_heads": 1048576,
      "num_experts": 65536, "num_experts_per_tok": 65536, "moe_intermediate_size": 1048576,
      "vocab_size": 16777216})");
  EXPECT_NE(RefusalOf(json.dump()).find("parameters"), std::string::npos);
  json["num_experts"] = 1048576;
  EXPECT_NE(RefusalOf(json.dump()).find("num_experts: is 1048576"), std::string::npos);
}

TEST(ConfigRefusalTest, TheClassSaysWhatModelTypeDoesNot) {
  Json json = Json::parse(kGood);
  json.erase("model_type");
  for (const auto& [name, type] : std::vector<std::pair<std::string, std::string>>{
           {"Qwen3ForCausalLM", "qwen3"}, {"LlamaForCausalLM", "llama"}}) {
    json["architectures"] = {name};
    const Result<ModelShape> shape = ReadConfigShape("config.json", json.dump());
    ASSERT_TRUE(shape.has_value()) << shape.error().Message();
    EXPECT_EQ(shape->architecture, type);
  }
  json["architectures"] = {"DeepseekV3ForCausalLM"};
  EXPECT_NE(RefusalOf(json.dump()).find("kv_lora_rank"), std::string::npos);
  json["architectures"] = {"TelepathyModel"};
  EXPECT_NE(RefusalOf(json.dump()).find("model_type"), std::string::npos);
}

TEST(ConfigRefusalTest, DefaultsOfAClassAreNoted) {
  const Result<ModelShape> shape =
      ReadConfigShape("config.json",
                      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
          "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34,
          "sliding_window": 1024, "vocab_size": 262208}})");
  ASSERT_TRUE(shape.has_value()) << shape.error().Message();
  // gemma-3-4b: 8 heads, 4 of keys and values, of 256.
  EXPECT_EQ(shape->layers[0].kv.kv_heads, 4);
  EXPECT_EQ(shape->layers[0].kv.head_dim, 256);
  int notes = 0;
  for (const std::string& note : shape->notes) notes += note.contains("class's default") ? 1 : 0;
  EXPECT_EQ(notes, 3);
}

TEST(ConfigRefusalTest, HeadsAreAsWideAsTheirClassSaysWhereTheFileDoesNot) {
  const Result<ModelShape> shape = ReadConfigShape("config.json", With("head_dim", ""));
  ASSERT_TRUE(shape.has_value()) << shape.error().Message();
  EXPECT_EQ(shape->layers[0].kv.head_dim, 128);
  Json small = Json::parse(With("head_dim", ""));
  small["hidden_size"] = 1024;  // Qwen3-0.6B's: 32 would be hidden / heads
  const Result<ModelShape> other = ReadConfigShape("config.json", small.dump());
  ASSERT_TRUE(other.has_value()) << other.error().Message();
  EXPECT_EQ(other->layers[0].kv.head_dim, 128);
  ASSERT_EQ(other->notes.size(), 1U);
  EXPECT_NE(other->notes[0].find("head_dim"), std::string::npos);
}

TEST(ConfigRefusalTest, WhatIsSupposedIsNoted) {
  for (const auto& [text, note] : std::vector<std::pair<std::string, std::string>>{
           {With("num_key_value_heads", ""), "num_key_value_heads is not in the file"},
           {With("torch_dtype", "\"int3\""), "dtype \"int3\" is not known"}}) {
    const Result<ModelShape> shape = ReadConfigShape("config.json", text);
    ASSERT_TRUE(shape.has_value()) << shape.error().Message();
    ASSERT_EQ(shape->notes.size(), 1U);
    EXPECT_NE(shape->notes[0].find(note), std::string::npos) << shape->notes[0];
  }
}

TEST(ConfigRefusalTest, Qwen3sUpperLayersMaySeeAWindow) {
  Json json = Json::parse(kGood);
  json["sliding_window"] = 512;
  json["max_window_layers"] = 35;
  json["use_sliding_window"] = true;
  const Result<ModelShape> shape = ReadConfigShape("config.json", json.dump());
  ASSERT_TRUE(shape.has_value()) << shape.error().Message();
  EXPECT_EQ(shape->layers[34].kv.window, 0);
  EXPECT_EQ(shape->layers[35].kv.window, 512);
  json["model_type"] = "qwen3_moe";
  EXPECT_NE(RefusalOf(json.dump()).find("use_sliding_window: is true"), std::string::npos);
}

TEST(ConfigRefusalTest, TheKeyThatCarriesPositionsIsNotGuessed) {
  Json json = Json::parse(R"({"model_type": "deepseek_v2", "hidden_size": 2048,
      "intermediate_size": 10944, "num_hidden_layers": 27, "num_attention_heads": 16,
      "kv_lora_rank": 512, "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 64,
      "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "vocab_size": 102400})");
  EXPECT_NE(RefusalOf(json.dump()).find("qk_rope_head_dim: is missing"), std::string::npos);
  json["qk_rope_head_dim"] = 0;
  EXPECT_EQ(RefusalOf(json.dump()), "accepted");
}

}  // namespace
}  // namespace folio
