#include "support/tiny_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

#include "quant/half.h"

namespace folio {
namespace {

constexpr std::size_t kAlignment = 32;
constexpr std::uint32_t kUint32 = 4;
constexpr std::uint32_t kInt32 = 5;
constexpr std::uint32_t kFloat32 = 6;
constexpr std::uint32_t kString = 8;
constexpr std::uint32_t kArray = 9;

// SplitMix64 (Steele et al. 2014): the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  // In [-1, 1).
  float Symmetric() {
    return static_cast<float>(static_cast<double>(Next() >> 11) * 0x1p-52 - 1.0);
  }

 private:
  std::uint64_t state_;
};

class Bytes {
 public:
  template <typename T>
  void Pod(T value) {
    const auto* raw = reinterpret_cast<const char*>(&value);
    data_.append(raw, sizeof(T));
  }
  void String(const std::string& text) {
    Pod<std::uint64_t>(text.size());
    data_ += text;
  }
  void Align() { data_.resize((data_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0'); }
  const std::string& data() const { return data_; }
  void Append(const std::string& more) { data_ += more; }

 private:
  std::string data_;
};

class Metadata {
 public:
  void Uint(const std::string& key, std::uint32_t value) {
    Key(key, kUint32);
    bytes_.Pod(value);
  }
  void Float(const std::string& key, float value) {
    Key(key, kFloat32);
    bytes_.Pod(value);
  }
  void String(const std::string& key, const std::string& value) {
    Key(key, kString);
    bytes_.String(value);
  }
  void Strings(const std::string& key, const std::vector<std::string>& values) {
    Key(key, kArray);
    bytes_.Pod(kString);
    bytes_.Pod<std::uint64_t>(values.size());
    for (const std::string& value : values) bytes_.String(value);
  }
  void Ints(const std::string& key, const std::vector<std::int32_t>& values) {
    Key(key, kArray);
    bytes_.Pod(kInt32);
    bytes_.Pod<std::uint64_t>(values.size());
    for (const std::int32_t value : values) bytes_.Pod(value);
  }
  std::uint64_t count() const { return count_; }
  const std::string& data() const { return bytes_.data(); }

 private:
  void Key(const std::string& key, std::uint32_t type) {
    bytes_.String(key);
    bytes_.Pod(type);
    ++count_;
  }
  Bytes bytes_;
  std::uint64_t count_ = 0;
};

// Rows of random weights in blocks of 32 where the type has blocks.
std::string RandomData(GgmlType type, std::int64_t elements, float scale, Random& random) {
  Bytes out;
  if (type == GgmlType::kF32) {
    for (std::int64_t i = 0; i < elements; ++i) out.Pod(scale * random.Symmetric());
    return out.data();
  }
  for (std::int64_t block = 0; block < elements / 32; ++block) {
    const float jitter = 1.0F + 0.3F * random.Symmetric();
    out.Pod(FloatToHalf(scale * jitter / (type == GgmlType::kQ8_0 ? 127.0F : 8.0F)));
    const int bytes = type == GgmlType::kQ8_0 ? 32 : 16;
    for (int i = 0; i < bytes; ++i) out.Pod(static_cast<std::uint8_t>(random.Next() >> 56));
  }
  return out.data();
}

class Tensors {
 public:
  Tensors(GgmlType type, std::uint64_t seed) : type_(type), random_(seed) {}

  void Matrix(const std::string& name, int n, int k) {
    Add(name, type_, {k, n},
        RandomData(type_, std::int64_t{n} * k, 1.7F / std::sqrt(static_cast<float>(k)), random_));
  }
  void Embedding(int vocab, int hidden, int bad_token) {
    std::string data = RandomData(type_, std::int64_t{vocab} * hidden,
                                  1.7F / std::sqrt(static_cast<float>(hidden)), random_);
    if (bad_token >= 0) {
      const float infinity = std::numeric_limits<float>::infinity();
      const std::size_t at =
          static_cast<std::size_t>(bad_token) * static_cast<std::size_t>(hidden) * sizeof(float);
      std::memcpy(data.data() + at, &infinity, sizeof(infinity));
    }
    Add("token_embd.weight", type_, {hidden, vocab}, data);
  }
  void Matrices(const std::string& name, int count, int n, int k) {
    Add(name, type_, {k, n, count},
        RandomData(type_, std::int64_t{count} * n * k, 1.7F / std::sqrt(static_cast<float>(k)),
                   random_));
  }
  void Router(const std::string& name, int experts, int k, bool bf16) {
    std::string data = RandomData(GgmlType::kF32, std::int64_t{experts} * k,
                                  4.0F / std::sqrt(static_cast<float>(k)), random_);
    for (std::size_t i = 0; bf16 && i < data.size(); i += 4) data[i] = data[i + 1] = 0;
    Add(name, GgmlType::kF32, {k, experts}, data);
  }
  void Norm(const std::string& name, int n) {
    Bytes data;
    for (int i = 0; i < n; ++i) data.Pod(1.0F + 0.2F * random_.Symmetric());
    Add(name, GgmlType::kF32, {n}, data.data());
  }
  void Bias(const std::string& name, int n) {
    Add(name, GgmlType::kF32, {n}, RandomData(GgmlType::kF32, n, 0.5F, random_));
  }
  void Vector(const std::string& name, const std::vector<float>& values) {
    Bytes data;
    for (const float value : values) data.Pod(value);
    Add(name, GgmlType::kF32, {static_cast<int>(values.size())}, data.data());
  }
  std::uint64_t count() const { return count_; }
  const std::string& infos() const { return infos_.data(); }
  const std::string& data() const { return data_.data(); }

 private:
  void Add(const std::string& name, GgmlType type, const std::vector<int>& dims,
           const std::string& data) {
    infos_.String(name);
    infos_.Pod(static_cast<std::uint32_t>(dims.size()));
    for (const int dim : dims) infos_.Pod(static_cast<std::uint64_t>(dim));
    infos_.Pod(static_cast<std::uint32_t>(type));
    infos_.Pod(static_cast<std::uint64_t>(data_.data().size()));
    data_.Append(data);
    data_.Align();
    ++count_;
  }

  GgmlType type_;
  Random random_;
  Bytes infos_;
  Bytes data_;
  std::uint64_t count_ = 0;
};

std::string Utf8(std::uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0U | (code >> 6)), static_cast<char>(0x80U | (code & 0x3fU))};
}

// GPT-2's table: every byte as a printable character.
std::vector<std::string> ByteTokens() {
  std::vector<std::string> tokens;
  std::uint32_t moved = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    tokens.push_back(Utf8(printable ? byte : moved++));
  }
  return tokens;
}

void AddTokenizer(int vocab, Metadata& metadata) {
  std::vector<std::string> tokens = ByteTokens();
  std::vector<std::int32_t> types(tokens.size(), 1);
  while (static_cast<int>(tokens.size()) < vocab - 3) {
    tokens.push_back("[unused" + std::to_string(tokens.size()) + "]");
    types.push_back(5);
  }
  for (const char* control : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(control);
    types.push_back(3);
  }
  metadata.String("tokenizer.ggml.model", "gpt2");
  metadata.String("tokenizer.ggml.pre", "gpt-2");
  metadata.Strings("tokenizer.ggml.tokens", tokens);
  metadata.Ints("tokenizer.ggml.token_type", types);
  metadata.Strings("tokenizer.ggml.merges", {});
  metadata.Uint("tokenizer.ggml.bos_token_id", static_cast<std::uint32_t>(vocab - 3));
  metadata.Uint("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(vocab - 1));
  metadata.String(
      "tokenizer.chat_template",
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}");
}

void AddConfig(const TinyModelSpec& spec, Metadata& metadata) {
  const std::string prefix = spec.architecture + ".";
  const auto add = [&](const char* key, int value) {
    metadata.Uint(prefix + key, static_cast<std::uint32_t>(value));
  };
  metadata.String("general.architecture", spec.architecture);
  metadata.String("general.name", "tiny " + spec.architecture);
  add("block_count", spec.layers);
  add("context_length", spec.context);
  add("embedding_length", spec.hidden);
  add("feed_forward_length", spec.ffn);
  add("attention.head_count", spec.query_heads);
  add("attention.head_count_kv", spec.kv_heads);
  if (spec.architecture == "deepseek2") {
    add("attention.kv_lora_rank", spec.latent_rank);
    add("rope.dimension_count", spec.head_dim / 2);
    add("attention.key_length_mla", spec.head_dim);
    add("attention.value_length_mla", spec.head_dim);
    add("expert_shared_count", 1);
    add("expert_gating_func", 2);
    add("expert_group_count", 2);
    add("expert_group_used_count", 1);
  }
  add("attention.key_length", spec.head_dim);
  add("attention.value_length", spec.head_dim);
  metadata.Float(prefix + "attention.layer_norm_rms_epsilon", 1e-5F);
  metadata.Float(prefix + "rope.freq_base", 10000.0F);
  if (spec.architecture == "gemma3") add("attention.sliding_window", spec.window);
  if (!spec.rope_scaling.empty()) metadata.String(prefix + "rope.scaling.type", spec.rope_scaling);
  for (const auto& [key, value] : spec.floats) metadata.Float(prefix + key, value);
  for (const auto& [key, value] : spec.uints) metadata.Uint(prefix + key, value);
  if (spec.experts == 0) return;
  add("expert_count", spec.experts);
  add("expert_used_count", spec.top_k);
  add("expert_feed_forward_length", spec.expert_ffn);
  if (spec.architecture == "qwen2moe") add("expert_shared_feed_forward_length", spec.ffn);
}

void AddFfn(const std::string& prefix, const std::string& suffix, const TinyModelSpec& spec,
            Tensors& tensors) {
  tensors.Matrix(prefix + "ffn_gate" + suffix, spec.ffn, spec.hidden);
  tensors.Matrix(prefix + "ffn_up" + suffix, spec.ffn, spec.hidden);
  tensors.Matrix(prefix + "ffn_down" + suffix, spec.hidden, spec.ffn);
}

void AddExperts(const TinyModelSpec& spec, const std::string& prefix, Tensors& tensors) {
  tensors.Router(prefix + "ffn_gate_inp.weight", spec.experts, spec.hidden, spec.bf16_routers);
  tensors.Matrices(prefix + "ffn_gate_exps.weight", spec.experts, spec.expert_ffn, spec.hidden);
  tensors.Matrices(prefix + "ffn_up_exps.weight", spec.experts, spec.expert_ffn, spec.hidden);
  tensors.Matrices(prefix + "ffn_down_exps.weight", spec.experts, spec.hidden, spec.expert_ffn);
  if (spec.architecture == "deepseek2") {
    tensors.Bias(prefix + "exp_probs_b.bias", spec.experts);
    tensors.Matrix(prefix + "ffn_gate_shexp.weight", spec.expert_ffn, spec.hidden);
    tensors.Matrix(prefix + "ffn_up_shexp.weight", spec.expert_ffn, spec.hidden);
    tensors.Matrix(prefix + "ffn_down_shexp.weight", spec.hidden, spec.expert_ffn);
  }
  if (spec.architecture != "qwen2moe") return;
  AddFfn(prefix, "_shexp.weight", spec, tensors);
  tensors.Bias(prefix + "ffn_gate_inp_shexp.weight", spec.hidden);
}

// DeepSeek's, with matrices for the absorbed form.
void AddLatentHeads(const TinyModelSpec& spec, const std::string& prefix, Tensors& tensors) {
  const int rotary = spec.head_dim / 2;
  tensors.Matrix(prefix + "attn_kv_a_mqa.weight", spec.latent_rank + rotary, spec.hidden);
  tensors.Norm(prefix + "attn_kv_a_norm.weight", spec.latent_rank);
  tensors.Matrices(prefix + "attn_k_b.weight", spec.query_heads, spec.latent_rank,
                   spec.head_dim - rotary);
  tensors.Matrices(prefix + "attn_v_b.weight", spec.query_heads, spec.head_dim, spec.latent_rank);
}

void AddLayer(const TinyModelSpec& spec, const std::string& prefix, Tensors& tensors) {
  const int q_dim = spec.query_heads * spec.head_dim;
  const int kv_dim = spec.kv_heads * spec.head_dim;
  tensors.Norm(prefix + "attn_norm.weight", spec.hidden);
  tensors.Matrix(prefix + "attn_q.weight", q_dim, spec.hidden);
  if (spec.architecture == "deepseek2") {
    AddLatentHeads(spec, prefix, tensors);
  } else {
    tensors.Matrix(prefix + "attn_k.weight", kv_dim, spec.hidden);
    tensors.Matrix(prefix + "attn_v.weight", kv_dim, spec.hidden);
  }
  tensors.Matrix(prefix + "attn_output.weight", spec.hidden, q_dim);
  if (spec.architecture == "qwen2" || spec.architecture == "qwen2moe") {
    tensors.Bias(prefix + "attn_q.bias", q_dim);
    tensors.Bias(prefix + "attn_k.bias", kv_dim);
    tensors.Bias(prefix + "attn_v.bias", kv_dim);
  }
  if (spec.architecture == "qwen3" || spec.architecture == "qwen3moe" ||
      spec.architecture == "gemma3") {
    tensors.Norm(prefix + "attn_q_norm.weight", spec.head_dim);
    tensors.Norm(prefix + "attn_k_norm.weight", spec.head_dim);
  }
  tensors.Norm(prefix + "ffn_norm.weight", spec.hidden);
  if (spec.architecture == "olmoe") {
    tensors.Norm(prefix + "attn_q_norm.weight", q_dim);
    tensors.Norm(prefix + "attn_k_norm.weight", kv_dim);
  }
  if (spec.experts > 0) {
    AddExperts(spec, prefix, tensors);
  } else {
    AddFfn(prefix, ".weight", spec, tensors);
  }
  if (spec.architecture == "gemma3") {
    tensors.Norm(prefix + "post_attention_norm.weight", spec.hidden);
    tensors.Norm(prefix + "post_ffw_norm.weight", spec.hidden);
  }
}

}  // namespace

bool WriteTinyModel(const TinyModelSpec& spec, const std::string& path) {
  Metadata metadata;
  AddConfig(spec, metadata);
  AddTokenizer(spec.vocab, metadata);
  Tensors tensors(spec.type, spec.seed);
  tensors.Embedding(spec.vocab, spec.hidden, spec.bad_token);
  tensors.Norm("output_norm.weight", spec.hidden);
  if (spec.bad_token >= 0) tensors.Matrix("output.weight", spec.vocab, spec.hidden);
  for (int i = 0; i < spec.layers; ++i) AddLayer(spec, "blk." + std::to_string(i) + ".", tensors);
  for (const auto& [name, values] : spec.vectors) tensors.Vector(name, values);

  Bytes file;
  file.Append("GGUF");
  file.Pod<std::uint32_t>(3);
  file.Pod(tensors.count());
  file.Pod(metadata.count());
  file.Append(metadata.data());
  file.Append(tensors.infos());
  file.Align();
  file.Append(tensors.data());
  std::ofstream out(path, std::ios::binary);
  out.write(file.data().data(), static_cast<std::streamsize>(file.data().size()));
  return out.good();
}

}  // namespace folio
