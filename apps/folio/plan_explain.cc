#include "folio/plan_explain.h"

#include <algorithm>
#include <set>
#include <utility>

#include "folio/text_table.h"

namespace folio {
namespace {

class Explanation {
 public:
  explicit Explanation(const PlanAnswer& answer)
      : answer_(answer),
        codings_(answer.settings.kv.codings),
        tokens_(answer.plan.context),
        stored_(StoredLayersOf(*answer.shape)) {}

  std::vector<ExplainStep> Steps() {
    if (stored_.spec.layers.empty()) return {};
    const KvLayerSpec& first = stored_.spec.layers.front();
    if (first.latent_dim > 0) {
      AddLatent(first);
    } else {
      AddHeads(first);
    }
    AddWindows();
    AddBlocks();
    AddUsers();
    return std::move(steps_);
  }

 private:
  std::string N() const { return Grouped(tokens_); }
  int QueryHeads() const {
    const auto layer = static_cast<std::size_t>(stored_.layers.front());
    return std::max(1, answer_.shape->layers[layer].query_heads);
  }
  std::uint64_t OfTokens(const KvSpec& spec) const {
    return KvBytesPerToken(spec, codings_) * static_cast<std::uint64_t>(tokens_);
  }
  // "2 bytes", "34 bytes for 32"
  static std::string Coding(const KvCoding& coding) {
    return std::to_string(coding.bytes) + (coding.bytes == 1 ? " byte" : " bytes") +
           (coding.elements == 1 ? "" : " for " + std::to_string(coding.elements));
  }
  std::string Bytes() const {
    const bool same = codings_.keys.bytes == codings_.values.bytes &&
                      codings_.keys.elements == codings_.values.elements;
    return same ? Coding(codings_.keys)
                : "(K " + Coding(codings_.keys) + ", V " + Coding(codings_.values) + ")";
  }
  void Add(std::string formula, std::string meaning, std::string arithmetic, std::uint64_t bytes) {
    steps_.push_back({std::move(formula), std::move(meaning), std::move(arithmetic), bytes});
  }
  // A model of `layers` layers like `layer`.
  static KvSpec Uniform(KvLayerSpec layer, std::size_t layers, int kv_heads) {
    layer.kv_heads = kv_heads;
    return {.layers = std::vector<KvLayerSpec>(layers, layer)};
  }

  void AddHeads(const KvLayerSpec& first) {
    const int heads = QueryHeads();
    const std::size_t layers = stored_.spec.layers.size();
    const std::string d = std::to_string(first.head_dim);
    const std::string nd = "2 x " + N() + " x " + d;
    Add("2 n d", "K and V of one head, d = " + d, nd + " x " + Bytes(),
        OfTokens(Uniform(first, 1, 1)));
    Add("2 n d h", "every head keeps its own, h = " + std::to_string(heads),
        nd + " x " + std::to_string(heads) + " x " + Bytes(), OfTokens(Uniform(first, 1, heads)));
    Add("2 n d h L", LayersMeaning(layers),
        nd + " x " + std::to_string(heads) + " x " + std::to_string(layers) + " x " + Bytes(),
        OfTokens(Uniform(first, layers, heads)));
    const bool same = std::ranges::all_of(stored_.spec.layers, [&](const KvLayerSpec& layer) {
      return layer.kv_heads == first.kv_heads && layer.head_dim == first.head_dim;
    });
    Add("2 n d h_kv L", "heads share K and V in groups, h_kv = " + HeadsMeaning(first, heads),
        same ? nd + " x " + std::to_string(first.kv_heads) + " x " + std::to_string(layers) +
                   " x " + Bytes()
             : "each layer with its own heads",
        OfTokens(stored_.spec));
  }

  std::string LayersMeaning(std::size_t layers) const {
    std::string text = "and every layer, L = " + std::to_string(layers);
    if (layers != answer_.shape->layers.size()) {
      text +=
          " of " + std::to_string(answer_.shape->layers.size()) + " (the others store no K and V)";
    }
    return text;
  }

  static std::string HeadsMeaning(const KvLayerSpec& layer, int heads) {
    const std::string number = std::to_string(layer.kv_heads);
    if (layer.kv_heads == heads) return number + " = h: this is MHA";
    return number + (layer.kv_heads == 1 ? ": this is MQA" : ": this is GQA");
  }

  void AddLatent(const KvLayerSpec& first) {
    const LatentConfig& latent = answer_.shape->latent;
    const std::string d = std::to_string(first.head_dim);
    const int heads = QueryHeads();
    const KvLayerSpec as_heads = {.kv_heads = heads,
                                  .head_dim = static_cast<int>(latent.plain + latent.rotary),
                                  .value_dim = static_cast<int>(latent.value)};
    if (latent.plain > 0 && latent.value > 0) {
      Add("n (d_k + d_v) h",
          "what all heads' K and V would take in a layer, h = " + std::to_string(heads),
          N() + " x (" + std::to_string(as_heads.head_dim) + " + " +
              std::to_string(as_heads.value_dim) + ") x " + std::to_string(heads) + " x " + Bytes(),
          OfTokens({.layers = {as_heads}}));
    }
    Add("n d_c",
        "one vector for all heads holds both, d_c = " + d + ": a latent of " +
            std::to_string(first.latent_dim) + " and what turns with the position",
        N() + " x " + d + " x " + Bytes(), OfTokens({.layers = {first}}));
    Add("n d_c L", LayersMeaning(stored_.spec.layers.size()),
        N() + " x " + d + " x " + std::to_string(stored_.spec.layers.size()) + " x " + Bytes(),
        OfTokens(stored_.spec));
  }

  void AddWindows() {
    std::set<std::int64_t> windows;
    std::uint64_t bytes = 0;
    int windowed = 0;
    for (const KvLayerSpec& layer : stored_.spec.layers) {
      const std::int64_t seen = layer.window == 0 ? tokens_ : std::min(layer.window, tokens_);
      bytes += KvBytesPerToken(layer, codings_) * static_cast<std::uint64_t>(seen);
      if (layer.window == 0) continue;
      windows.insert(layer.window);
      ++windowed;
    }
    if (windows.empty()) return;
    std::string list;
    for (const std::int64_t window : windows) list += (list.empty() ? "" : ", ") + Grouped(window);
    Add("min(n, w)",
        std::to_string(windowed) + " layers see only the last w = " + list +
            " positions and let go of the rest",
        "w in the place of n in these layers", bytes);
  }

  void AddBlocks() {
    const KvPlan& kv = answer_.plan.kv;
    Add("blocks",
        "whole blocks of " + std::to_string(answer_.settings.kv.block_size) +
            " tokens in the place of n; the last one has " + Grouped(kv.empty_slots) +
            " slots empty" + (kv.padding_bytes > 0 ? ", and groups of layers are padded" : ""),
        Grouped(kv.blocks_per_sequence) + " blocks x " + Grouped(kv.block_bytes) + " bytes",
        kv.bytes_per_sequence);
  }

  void AddUsers() {
    const Plan& plan = answer_.plan;
    if (plan.users == 1) return;
    const std::int64_t shared = answer_.settings.kv.shared_prefix;
    Add("users",
        Grouped(plan.users) + " sequences" +
            (shared > 0 ? "; whole blocks of the first " + Grouped(shared) + " tokens once" : ""),
        Grouped(plan.kv.num_blocks) + " blocks x " + Grouped(plan.kv.block_bytes) + " bytes",
        plan.kv.bytes);
  }

  const PlanAnswer& answer_;
  KvCodings codings_;
  std::int64_t tokens_;
  StoredLayers stored_;
  std::vector<ExplainStep> steps_;
};

}  // namespace

std::vector<ExplainStep> ExplainKv(const PlanAnswer& answer) { return Explanation(answer).Steps(); }

std::string ExplainText(const PlanAnswer& answer) {
  std::string text = "\nThe KV cache, factor by factor: n = " + Grouped(answer.plan.context) +
                     " tokens, " + answer.kv_type + "\n";
  int number = 0;
  for (const ExplainStep& step : ExplainKv(answer)) {
    text += "  " + std::to_string(++number) + ". " + step.formula + "  (" + step.meaning + ")\n";
    text += "     " + step.arithmetic + " = " + Grouped(step.bytes) +
            " bytes = " + HumanBytes(step.bytes) + "\n";
  }
  if (const std::uint64_t state = answer.plan.kv.state_bytes_per_sequence; state > 0) {
    text += "  and a state of " + Grouped(state) + " bytes = " + HumanBytes(state) +
            " a sequence, once, whatever n is\n";
  }
  return text;
}

OutputJson ExplainJson(const PlanAnswer& answer) {
  OutputJson list = OutputJson::array();
  for (const ExplainStep& step : ExplainKv(answer)) {
    list.push_back({{"formula", step.formula},
                    {"meaning", step.meaning},
                    {"arithmetic", step.arithmetic},
                    {"bytes", step.bytes}});
  }
  return list;
}

}  // namespace folio
