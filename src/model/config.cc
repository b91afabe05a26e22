#include "model/config.h"

#include <array>
#include <cmath>
#include <limits>

#include "model/architectures.h"

namespace folio {
namespace {

struct Architecture {
  std::string_view name;
  Status (*configure)(const Gguf& file, ModelConfig& config);
};

constexpr std::array<Architecture, 4> kArchitectures = {{
    {"llama", ConfigureLlama},
    {"qwen2", ConfigureQwen2},
    {"qwen3", ConfigureQwen3},
    {"gemma3", ConfigureGemma3},
}};

// Far above any model, far below what could overflow a product of three of them.
constexpr std::uint64_t kLargestDim = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestLayers = 1024;
constexpr std::uint64_t kLargestContext = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestHeadDim = 1024;

// Reads integers and floats of "<architecture>.<suffix>" and keeps the first error: the reads below
// stay one line each.
class Reader {
 public:
  Reader(const Gguf& file, std::string prefix) : file_(&file), prefix_(std::move(prefix)) {}

  std::int64_t Int(const char* suffix, std::uint64_t least, std::uint64_t most) {
    return Checked(suffix, file_->GetUint(prefix_ + suffix), least, most);
  }
  std::int64_t IntOr(const char* suffix, std::int64_t fallback, std::uint64_t least,
                     std::uint64_t most) {
    return Checked(suffix, file_->GetUintOr(prefix_ + suffix, static_cast<std::uint64_t>(fallback)),
                   least, most);
  }
  double FloatOr(const char* suffix, double fallback, double least, double most) {
    return Checked(suffix, file_->GetFloatOr(prefix_ + suffix, fallback), least, most);
  }
  double Float(const char* suffix, double least, double most) {
    return Checked(suffix, file_->GetFloat(prefix_ + suffix), least, most);
  }
  std::string_view StringOr(const char* suffix, std::string_view fallback) {
    const Result<std::string_view> value = file_->GetStringOr(prefix_ + suffix, fallback);
    if (!value) {
      Fail(value.error());
      return fallback;
    }
    return *value;
  }
  void Refuse(const char* suffix, std::string why) {
    Fail(Error{ErrorKind::kInput, file_->path(), prefix_ + suffix, std::move(why)});
  }
  const Status& status() const { return status_; }

 private:
  void Fail(Error error) {
    if (status_) status_ = std::unexpected(std::move(error));
  }
  std::int64_t Checked(const char* suffix, const Result<std::uint64_t>& value, std::uint64_t least,
                       std::uint64_t most) {
    if (!value) {
      Fail(value.error());
      return static_cast<std::int64_t>(least);
    }
    if (*value < least || *value > most) {
      Refuse(suffix, "is " + std::to_string(*value) + ", must be from " + std::to_string(least) +
                         " to " + std::to_string(most));
      return static_cast<std::int64_t>(least);
    }
    return static_cast<std::int64_t>(*value);
  }
  double Checked(const char* suffix, const Result<double>& value, double least, double most) {
    if (!value) {
      Fail(value.error());
      return least;
    }
    if (!(*value >= least && *value <= most)) {  // also refuses NaN
      Refuse(suffix, "is " + std::to_string(*value) + ", must be from " + std::to_string(least) +
                         " to " + std::to_string(most));
      return least;
    }
    return *value;
  }

  const Gguf* file_;
  std::string prefix_;
  Status status_;
};

void ReadShapes(Reader& read, ModelConfig& config) {
  config.hidden = read.Int("embedding_length", 1, kLargestDim);
  config.ffn = read.Int("feed_forward_length", 1, kLargestDim);
  config.context_length = read.Int("context_length", 1, kLargestContext);
  config.layers.resize(static_cast<std::size_t>(read.Int("block_count", 1, kLargestLayers)));
  config.query_heads = static_cast<int>(read.Int("attention.head_count", 1, kLargestDim));
  config.kv_heads =
      static_cast<int>(read.IntOr("attention.head_count_kv", config.query_heads, 1, kLargestDim));
  if (config.query_heads % config.kv_heads != 0) {
    read.Refuse("attention.head_count_kv", "is " + std::to_string(config.kv_heads) +
                                               ", must divide head_count " +
                                               std::to_string(config.query_heads));
  }
  const std::int64_t head_dim =
      read.IntOr("attention.key_length", config.hidden / config.query_heads, 1, kLargestHeadDim);
  const std::int64_t value_dim = read.IntOr("attention.value_length", head_dim, 1, kLargestHeadDim);
  if (value_dim != head_dim) {
    read.Refuse(
        "attention.value_length",
        "is " + std::to_string(value_dim) + ", must equal key_length " + std::to_string(head_dim));
  }
  if (head_dim % 32 != 0) {
    read.Refuse("attention.key_length",
                "is " + std::to_string(head_dim) + ", must be a multiple of 32");
  }
  config.head_dim = static_cast<int>(head_dim);
  config.attention_scale = 1.0F / std::sqrt(static_cast<float>(head_dim));
  config.norm_eps = static_cast<float>(read.Float("attention.layer_norm_rms_epsilon", 0.0, 1.0));
}

void ReadRope(Reader& read, ModelConfig& config) {
  RopeConfig rope;
  rope.base = read.FloatOr("rope.freq_base", 10000.0, kSmallestRopeBase, kLargestRopeBase);
  rope.rotary_dim = read.IntOr("rope.dimension_count", config.head_dim, 2, kLargestHeadDim);
  if (rope.rotary_dim > config.head_dim || rope.rotary_dim % 2 != 0) {
    read.Refuse("rope.dimension_count", "is " + std::to_string(rope.rotary_dim) +
                                            ", must be even and at most " +
                                            std::to_string(config.head_dim));
  }
  const std::string_view scaling = read.StringOr("rope.scaling.type", "none");
  if (scaling == "linear") {
    rope.linear_factor = read.Float("rope.scaling.factor", 1e-3, 1e6);
  } else if (scaling != "none") {
    read.Refuse("rope.scaling.type", "is '" + std::string(scaling) + "', must be none or linear");
  }
  config.ropes.push_back(rope);
}

Status ReadVocabulary(const Gguf& file, ModelConfig& config) {
  // The embedding has one row a token: its shape, not the metadata, says how many logits there are.
  const GgufTensor* embedding = file.FindTensor("token_embd.weight");
  if (embedding == nullptr)
    return InputError(file.path(), "token_embd.weight", "tensor is missing");
  if (embedding->dims.size() != 2) {
    return InputError(file.path(), "token_embd.weight",
                      "has " + std::to_string(embedding->dims.size()) + " dimensions, must have 2");
  }
  if (embedding->dims[1] > std::int64_t{1} << 24) {
    return InputError(file.path(), "token_embd.weight",
                      "has " + std::to_string(embedding->dims[1]) + " rows");
  }
  config.vocab = embedding->dims[1];
  return {};
}

std::string KnownList() {
  std::string list;
  for (const Architecture& architecture : kArchitectures) {
    if (!list.empty()) list += ", ";
    list += architecture.name;
  }
  return list;
}

}  // namespace

Result<ModelConfig> ReadModelConfig(const Gguf& file) {
  const Result<std::string_view> name = file.GetString("general.architecture");
  if (!name) return std::unexpected(name.error());
  const Architecture* architecture = nullptr;
  for (const Architecture& candidate : kArchitectures) {
    if (candidate.name == *name) architecture = &candidate;
  }
  if (architecture == nullptr) {
    return InputError(file.path(), "general.architecture",
                      "'" + std::string(*name) + "' is not known; known are " + KnownList());
  }
  ModelConfig config;
  config.architecture = *name;
  config.name = file.GetStringOr("general.name", *name).value_or(*name);
  Reader read(file, config.architecture + ".");
  ReadShapes(read, config);
  if (read.status()) ReadRope(read, config);
  if (!read.status()) return std::unexpected(read.status().error());
  if (Status status = ReadVocabulary(file, config); !status) return std::unexpected(status.error());
  if (Status status = architecture->configure(file, config); !status)
    return std::unexpected(status.error());
  return config;
}

KvSpec KvSpecOf(const ModelConfig& config) {
  KvSpec spec;
  for (const LayerConfig& layer : config.layers) {
    spec.layers.push_back(
        {.kv_heads = config.kv_heads, .head_dim = config.head_dim, .window = layer.window});
  }
  return spec;
}

std::vector<std::string_view> KnownArchitectures() {
  std::vector<std::string_view> names;
  for (const Architecture& architecture : kArchitectures) names.push_back(architecture.name);
  return names;
}

}  // namespace folio
