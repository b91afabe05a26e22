#include "plan/gguf_keys.h"

#include <algorithm>
#include <string>
#include <utility>

#include "model/config_reader.h"
#include "plan/gguf_architectures.h"
#include "plan/gguf_tensors.h"

namespace folio {
namespace {

using Numbers = std::vector<std::int64_t>;

// A key's number for each layer: one for all, or a list.
Numbers PerLayer(const ModelFile& file, const std::string& key, std::size_t layers,
                 std::int64_t fallback, std::uint64_t most, Status& status) {
  Numbers values(layers, fallback);
  const MetadataValue* value = file.Find(key);
  if (value == nullptr || !status) return values;
  if (std::holds_alternative<std::vector<std::int64_t>>(*value) ||
      std::holds_alternative<std::vector<std::uint64_t>>(*value)) {
    Result<Numbers> list = file.GetInts(key);
    if (!list) {
      status = std::unexpected(list.error());
    } else if (list->size() != layers) {
      status = InputError(file.path(), key,
                          "has " + std::to_string(list->size()) + " numbers for " +
                              std::to_string(layers) + " layers");
    } else {
      values = *std::move(list);
    }
  } else {
    const Result<std::uint64_t> one = file.GetUint(key);
    if (!one) status = std::unexpected(one.error());
    const std::uint64_t number = one.value_or(0);
    values.assign(layers, number <= most ? static_cast<std::int64_t>(number) : -1);
  }
  for (const std::int64_t one : values) {
    if (status && (one < 0 || one > static_cast<std::int64_t>(most)))
      status = InputError(file.path(), key,
                          "has a number that is not from 0 to " + std::to_string(most));
  }
  return values;
}

class KeysReader {
 public:
  KeysReader(const ModelFile& file, const GgufArchitecture& architecture)
      : file_(file), architecture_(architecture), read_(file, architecture.name) {}

  Result<ModelShape> Read() {
    shape_.source = file_.path();
    shape_.architecture = architecture_.name;
    shape_.name = file_.GetStringOr("general.name", architecture_.name).value_or("");
    shape_.hidden = read_.Int("embedding_length", 1, kLargestDim);
    shape_.context_length = read_.Int("context_length", 1, kLargestContext);
    shape_.layers.resize(static_cast<std::size_t>(read_.Int("block_count", 1, kLargestLayers)));
    shape_.experts = static_cast<int>(read_.IntOr("expert_count", 0, 0, 65536));
    shape_.top_k = static_cast<int>(read_.IntOr("expert_used_count", 0, 0, 65536));
    ReadAttention();
    ReadWindows();
    ReadStates();
    CheckKeepsAnything();
    CheckExperts();
    ShareLayers();
    const ModelTensor* embedding = file_.FindTensor("token_embd.weight");
    if (embedding != nullptr && embedding->dims.size() == 2) shape_.vocab = embedding->dims[1];
    if (!read_.status()) return std::unexpected(read_.status().error());
    if (!status_) return std::unexpected(status_.error());
    CountTensors(file_, shape_);
    return std::move(shape_);
  }

 private:
  std::size_t count() const { return shape_.layers.size(); }
  std::string Key(std::string_view suffix) const {
    return std::string(architecture_.name) + "." + std::string(suffix);
  }
  Numbers Each(std::string_view suffix, std::int64_t fallback, std::uint64_t most) {
    return PerLayer(file_, Key(suffix), count(), fallback, most, status_);
  }

  void ReadAttention() {
    constexpr std::uint64_t kMostHeads = 65536;
    if (file_.Find(Key("attention.head_count")) == nullptr) read_.Int("attention.head_count", 1, 1);
    const Numbers heads = Each("attention.head_count", 0, kMostHeads);
    const std::int64_t most_heads = *std::ranges::max_element(heads);
    const Numbers kv_heads = Each("attention.head_count_kv", 0, kMostHeads);
    const bool has_kv = file_.Find(Key("attention.head_count_kv")) != nullptr;
    const std::int64_t head =
        most_heads == 0 ? 1 : std::max<std::int64_t>(1, shape_.hidden / most_heads);
    if (file_.Find(Key("attention.key_length")) == nullptr && most_heads > 0 &&
        shape_.hidden % most_heads != 0) {
      read_.Refuse("attention.key_length", "is missing, and embedding_length " +
                                               std::to_string(shape_.hidden) +
                                               " is no multiple of the heads");
    }
    const auto key = static_cast<int>(read_.IntOr("attention.key_length", head, 1, kLargestDim));
    const auto value = static_cast<int>(read_.IntOr("attention.value_length", key, 1, kLargestDim));
    const auto rank = static_cast<int>(read_.IntOr("attention.kv_lora_rank", 0, 0, kLargestDim));
    // With a latent vector the key that carries positions is stored beside it: no number, no plan.
    const auto rotary =
        static_cast<int>(rank > 0 ? read_.Int("rope.dimension_count", 0, kLargestDim) : 0);
    shape_.query_heads = static_cast<int>(most_heads);
    if (rank > 0) shape_.latent = {.rank = rank, .plain = key, .rotary = rotary, .value = value};
    for (std::size_t i = 0; i < count(); ++i) {
      LayerShape& layer = shape_.layers[i];
      layer.query_heads = static_cast<int>(heads[i]);
      if (!HasAttention(i)) continue;
      const std::int64_t own = has_kv ? kv_heads[i] : heads[i];
      if (own == 0) continue;
      CheckHeads(i, heads[i], own, std::max(key, value));
      layer.kv =
          rank > 0
              ? KvLayerSpec{.kv_heads = 1, .head_dim = rank + rotary, .latent_dim = rank}
              : KvLayerSpec{.kv_heads = static_cast<int>(own), .head_dim = key, .value_dim = value};
    }
  }

  void CheckHeads(std::size_t layer, std::int64_t heads, std::int64_t kv_heads, std::int64_t dim) {
    if (!status_) return;
    constexpr std::int64_t kWidest = std::int64_t{1} << 24;
    const std::string where = " in layer " + std::to_string(layer);
    if (heads == 0 || heads % kv_heads != 0) {
      read_.Refuse("attention.head_count_kv", "is " + std::to_string(kv_heads) + where +
                                                  ", which does not divide the layer's " +
                                                  std::to_string(heads) + " heads");
    } else if (heads * dim > kWidest) {
      read_.Refuse("attention.key_length", "makes heads of " + std::to_string(heads * dim) +
                                               " elements together; at most " +
                                               std::to_string(kWidest) + " are taken");
    }
  }

  // A model that keeps nothing of what it read is a file that lacks something.
  void CheckKeepsAnything() {
    const bool keeps = std::ranges::any_of(shape_.layers, [](const LayerShape& layer) {
      return layer.kv.kv_heads > 0 || layer.recurrent_elements + layer.convolution_elements > 0;
    });
    if (!keeps && status_) {
      read_.Refuse("attention.head_count_kv",
                   "leaves no layer keys and values, and no layer has a state");
    }
  }

  void CheckExperts() {
    if (shape_.top_k > shape_.experts) {
      read_.Refuse("expert_used_count", "is " + std::to_string(shape_.top_k) + ", more than the " +
                                            std::to_string(shape_.experts) + " experts");
    }
  }

  bool HasAttention(std::size_t layer) {
    if (architecture_.full_interval == 0) return true;
    const std::int64_t every =
        read_.IntOr("full_attention_interval", architecture_.full_interval, 1, kLargestLayers);
    return (static_cast<std::int64_t>(layer) + 1) % every == 0;
  }

  // Which layers see a window, by a list of truths or a number; else by the architecture.
  std::vector<bool> WindowedLayers() {
    std::vector<bool> windowed(count(), true);
    std::int64_t pattern = architecture_.window_pattern;
    const MetadataValue* value = file_.Find(Key("attention.sliding_window_pattern"));
    if (const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<bool>>(value)) {
      if (list->size() == count()) return *list;
      read_.Refuse("attention.sliding_window_pattern", "has " + std::to_string(list->size()) +
                                                           " entries for " +
                                                           std::to_string(count()) + " layers");
    } else if (value != nullptr) {
      pattern = read_.Int("attention.sliding_window_pattern", 1, kLargestLayers);
    }
    if (pattern == 0) return windowed;
    for (std::size_t i = 0; i < count(); ++i)
      windowed[i] = (static_cast<std::int64_t>(i) + 1) % pattern != 0;
    return windowed;
  }

  void ReadWindows() {
    const bool chunks = !architecture_.chunk.empty();
    const std::string key(chunks ? architecture_.chunk : "attention.sliding_window");
    const bool needed = architecture_.window_pattern > 0 && !architecture_.window_optional;
    std::int64_t window = architecture_.fixed_window;
    if (window > 0 && file_.Find(Key(key)) == nullptr) {
      shape_.notes.push_back(key + " is not in the file; its architecture's is " +
                             std::to_string(window));
    } else {
      window = needed ? read_.Int(key.c_str(), 0, kLargestContext)
                      : read_.IntOr(key.c_str(), 0, 0, kLargestContext);
    }
    if (window == 0) return;
    const std::vector<bool> windowed = WindowedLayers();
    for (std::size_t i = 0; i < count(); ++i) {
      LayerShape& layer = shape_.layers[i];
      if (!windowed[i] || layer.kv.kv_heads == 0) continue;
      layer.kv.window = window;
      layer.chunked = chunks;
    }
  }

  void ReadStates() {
    const std::int64_t short_convolution = read_.IntOr("shortconv.l_cache", 0, 0, kLargestDim);
    const std::int64_t inner = read_.IntOr("ssm.inner_size", 0, 0, kLargestDim);
    const std::int64_t state = read_.IntOr("ssm.state_size", 0, 0, kLargestDim);
    const std::int64_t kernel = read_.IntOr("ssm.conv_kernel", 1, 1, kLargestDim);
    const std::int64_t groups = read_.IntOr("ssm.group_count", 0, 0, kLargestDim);
    if (short_convolution == 0 && inner == 0) return;
    const Numbers networks = Each("feed_forward_length", 0, kLargestDim);
    const std::int64_t channels = inner + (architecture_.grouped_state ? 2 * groups * state : 0);
    for (std::size_t i = 0; i < count(); ++i) {
      LayerShape& layer = shape_.layers[i];
      if (layer.kv.kv_heads > 0 && !architecture_.parallel_state) continue;
      // Of Nemotron-H, a layer with a network has nothing else.
      if (architecture_.name == "nemotron_h" && networks[i] > 0) continue;
      if (layer.kv.kv_heads == 0) layer.query_heads = 0;
      layer.convolution_elements =
          short_convolution > 0 ? (short_convolution - 1) * shape_.hidden : (kernel - 1) * channels;
      layer.recurrent_elements = inner * state;
    }
  }

  // Gemma 3n's last layers read what the last of their kind before them stored.
  void ShareLayers() {
    const auto layers = static_cast<std::int64_t>(count());
    const std::int64_t shared =
        read_.IntOr("attention.shared_kv_layers", 0, 0, static_cast<std::uint64_t>(layers - 1));
    for (std::int64_t i = layers - shared; i < layers; ++i) {
      LayerShape& layer = shape_.layers[static_cast<std::size_t>(i)];
      for (std::int64_t from = layers - shared - 1; from >= 0 && layer.reuses < 0; --from) {
        if (shape_.layers[static_cast<std::size_t>(from)].kv.window == layer.kv.window)
          layer.reuses = static_cast<int>(from);
      }
      if (layer.reuses < 0) {
        read_.Refuse("attention.shared_kv_layers",
                     "leaves no layer that sees what layer " + std::to_string(i) + " does");
        return;
      }
      layer.kv.kv_heads = 0;
    }
  }

  const ModelFile& file_;
  const GgufArchitecture& architecture_;
  ConfigReader read_;
  Status status_;
  ModelShape shape_;
};

}  // namespace

Result<ModelShape> ReadGgufShapeByKeys(const ModelFile& file) {
  const Result<std::string_view> name = file.GetString("general.architecture");
  if (!name) return std::unexpected(name.error());
  for (const GgufArchitecture& architecture : GgufArchitectures()) {
    if (architecture.name == *name) return KeysReader(file, architecture).Read();
  }
  return InputError(file.path(), "general.architecture",
                    QuotedExcerpt(*name) + " is not known; `folio plan --list` tells which are");
}

}  // namespace folio
