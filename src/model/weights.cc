#include "model/weights.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/checked.h"
#include "model/expect_tensor.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

// Which tensor becomes which matrix or vector; built before a byte is reserved, so that a bad file
// costs nothing.
class WeightPlan {
 public:
  WeightPlan(const ModelFile& file, const ModelConfig& config, ModelWeights& weights)
      : file_(file), transposed_(weights.transposed) {
    weights.layers.resize(config.layers.size());
    AddMatrix("token_embd.weight", config.vocab, config.hidden, weights.token_embedding);
    if (file.FindTensor("output.weight") != nullptr) {
      AddMatrix("output.weight", config.vocab, config.hidden, weights.output);
    } else if (status_) {
      weights.output = weights.token_embedding;
      matrices_.back().twin = &weights.output;
    }
    if (config.learned_positions) {
      AddMatrix("position_embd.weight", config.context_length, config.hidden,
                weights.position_embedding);
    }
    AddNorm("output_norm", config, weights.output_norm);
    for (std::size_t i = 0; i < config.layers.size() && status_; ++i) {
      AddLayer("blk." + std::to_string(i) + ".", config, config.layers[i].experts,
               weights.layers[i]);
    }
  }

  const Status& status() const { return status_; }
  // Of all packed matrices.
  std::size_t bytes() const { return bytes_; }
  const std::vector<MatrixToPack>& matrices() const { return matrices_; }

 private:
  void AddLayer(const std::string& prefix, const ModelConfig& config, bool experts,
                LayerWeights& layer) {
    const std::int64_t q_dim = std::int64_t{config.query_heads} * config.head_dim;
    const std::int64_t kv_dim = std::int64_t{config.kv_heads} * config.head_dim;
    const bool latent = config.latent.rank > 0;
    AddNorm(prefix + "attn_norm", config, layer.attn_norm);
    if (latent) {
      AddLatent(prefix, config, layer);
    } else {
      AddQkv(prefix, config, layer);
    }
    AddMatrix(prefix + "attn_output.weight", config.hidden,
              latent ? config.query_heads * config.latent.value : q_dim, layer.attn_out);
    if (config.attn_out_bias)
      AddVector(prefix + "attn_output.bias", config.hidden, layer.attn_out_bias);
    if (config.attention_sinks)
      AddVector(prefix + "attn_sinks.weight", config.query_heads, layer.sinks);
    if (config.qk_norm) {
      AddVector(prefix + "attn_q_norm.weight", config.head_dim, layer.q_norm);
      AddVector(prefix + "attn_k_norm.weight", config.head_dim, layer.k_norm);
    }
    if (config.qk_norm_whole) {
      AddVector(prefix + "attn_q_norm.weight", q_dim, layer.q_norm);
      AddVector(prefix + "attn_k_norm.weight", kv_dim, layer.k_norm);
    }
    AddNorm(prefix + std::string(config.ffn_norm_tensor), config, layer.ffn_norm);
    if (experts) {
      AddExperts(prefix, config, layer.moe);
    } else {
      AddDenseFfn(prefix, config, layer.ffn);
    }
    if (config.post_norms) {
      AddNorm(prefix + "post_attention_norm", config, layer.attn_post_norm);
      AddNorm(prefix + "post_ffw_norm", config, layer.ffn_post_norm);
    }
  }

  void AddQkv(const std::string& prefix, const ModelConfig& config, LayerWeights& layer) {
    const std::int64_t q_dim = std::int64_t{config.query_heads} * config.head_dim;
    const std::int64_t kv_dim = std::int64_t{config.kv_heads} * config.head_dim;
    if (config.fused_qkv) {
      AddFused(prefix + "attn_qkv.weight", config.hidden,
               {{q_dim, &layer.q}, {kv_dim, &layer.k}, {kv_dim, &layer.v}});
    } else {
      AddMatrix(prefix + "attn_q.weight", q_dim, config.hidden, layer.q);
      AddMatrix(prefix + "attn_k.weight", kv_dim, config.hidden, layer.k);
      AddMatrix(prefix + "attn_v.weight", kv_dim, config.hidden, layer.v);
    }
    if (!config.qkv_bias) return;
    if (config.fused_qkv) {
      AddFusedVector(prefix + "attn_qkv.bias",
                     {{q_dim, &layer.q_bias}, {kv_dim, &layer.k_bias}, {kv_dim, &layer.v_bias}});
    } else {
      AddVector(prefix + "attn_q.bias", q_dim, layer.q_bias);
      AddVector(prefix + "attn_k.bias", kv_dim, layer.k_bias);
      AddVector(prefix + "attn_v.bias", kv_dim, layer.v_bias);
    }
  }

  void AddLatent(const std::string& prefix, const ModelConfig& config, LayerWeights& layer) {
    const LatentConfig& latent = config.latent;
    const std::int64_t q_dim = config.query_heads * (latent.plain + latent.rotary);
    if (latent.query_rank > 0) {
      AddMatrix(prefix + "attn_q_a.weight", latent.query_rank, config.hidden, layer.latent.q_a);
      AddVector(prefix + "attn_q_a_norm.weight", latent.query_rank, layer.latent.q_a_norm);
      AddMatrix(prefix + "attn_q_b.weight", q_dim, latent.query_rank, layer.latent.q_b);
    } else {
      AddMatrix(prefix + "attn_q.weight", q_dim, config.hidden, layer.q);
    }
    AddMatrix(prefix + "attn_kv_a_mqa.weight", latent.rank + latent.rotary, config.hidden,
              layer.latent.kv_a);
    AddVector(prefix + "attn_kv_a_norm.weight", latent.rank, layer.latent.kv_a_norm);
    layer.latent.k_b.resize(static_cast<std::size_t>(config.query_heads));
    layer.latent.v_b.resize(layer.latent.k_b.size());
    if (file_.FindTensor(prefix + "attn_kv_b.weight") != nullptr) {
      AddJoinedHeads(prefix + "attn_kv_b.weight", latent, layer.latent);
    } else {
      AddHeads(prefix + "attn_k_b.weight", latent.rank, latent.plain, layer.latent.k_b);
      AddHeads(prefix + "attn_v_b.weight", latent.value, latent.rank, layer.latent.v_b);
    }
  }

  // Of every head the matrix [n, k]: one tensor holds them all, one after another.
  void AddHeads(const std::string& name, std::int64_t n, std::int64_t k,
                std::vector<PackedMatrix>& heads) {
    const ModelTensor* tensor = Expect(name, {k, n, static_cast<std::int64_t>(heads.size())});
    if (tensor == nullptr) return;
    for (std::size_t i = 0; i < heads.size(); ++i)
      AddRows(*tensor, static_cast<std::int64_t>(i) * n, n, k, heads[i]);
  }

  // Files of before April 2025: each head's rows of keys, which the absorbed form needs transposed,
  // and then its rows of values.
  void AddJoinedHeads(const std::string& name, const LatentConfig& latent, LatentWeights& target) {
    const std::int64_t of_head = latent.plain + latent.value;
    const ModelTensor* tensor =
        Expect(name, {latent.rank, of_head * static_cast<std::int64_t>(target.k_b.size())});
    if (tensor == nullptr) return;
    std::int64_t row = 0;
    for (std::size_t i = 0; i < target.k_b.size(); ++i, row += of_head) {
      transposed_.emplace_back(*tensor, row, latent.plain, latent.rank);
      AddRows(transposed_.back().tensor(), 0, latent.rank, latent.plain, target.k_b[i]);
      AddRows(*tensor, row + latent.plain, latent.value, latent.rank, target.v_b[i]);
    }
  }

  void AddNorm(const std::string& name, const ModelConfig& config, NormWeights& target) {
    AddVector(name + ".weight", config.hidden, target.weight);
    if (config.layer_norm) AddVector(name + ".bias", config.hidden, target.bias);
  }

  void AddDenseFfn(const std::string& prefix, const ModelConfig& config, FfnWeights& target) {
    if (!config.gated_ffn) {
      AddMatrix(prefix + "ffn_up.weight", config.ffn, config.hidden, target.up);
      AddMatrix(prefix + "ffn_down.weight", config.hidden, config.ffn, target.down);
    } else if (config.fused_gate_up) {
      AddFused(prefix + "ffn_up.weight", config.hidden,
               {{config.ffn, &target.gate}, {config.ffn, &target.up}});
      AddMatrix(prefix + "ffn_down.weight", config.hidden, config.ffn, target.down);
    } else {
      AddFfn(prefix, ".weight", config.ffn, config.hidden, target);
    }
    if (!config.ffn_bias) return;
    if (config.gated_ffn) AddVector(prefix + "ffn_gate.bias", config.ffn, target.gate_bias);
    AddVector(prefix + "ffn_up.bias", config.ffn, target.up_bias);
    AddVector(prefix + "ffn_down.bias", config.hidden, target.down_bias);
  }

  // `suffix` tells the networks of a layer apart: ".weight", "_shexp.weight".
  void AddFfn(const std::string& prefix, const std::string& suffix, std::int64_t ffn,
              std::int64_t hidden, FfnWeights& target) {
    AddMatrix(prefix + "ffn_gate" + suffix, ffn, hidden, target.gate);
    AddMatrix(prefix + "ffn_up" + suffix, ffn, hidden, target.up);
    AddMatrix(prefix + "ffn_down" + suffix, hidden, ffn, target.down);
  }

  void AddExperts(const std::string& prefix, const ModelConfig& config, MoeWeights& target) {
    const std::int64_t experts = config.router.experts;
    AddMatrix(prefix + "ffn_gate_inp.weight", experts, config.hidden, target.router);
    target.experts.resize(static_cast<std::size_t>(experts));
    AddStack(prefix + "ffn_gate", config.expert_ffn, config.hidden, target.experts,
             &FfnWeights::gate);
    AddStack(prefix + "ffn_up", config.expert_ffn, config.hidden, target.experts, &FfnWeights::up);
    AddStack(prefix + "ffn_down", config.hidden, config.expert_ffn, target.experts,
             &FfnWeights::down);
    if (config.expert_bias) AddExpertBiases(prefix, config, target);
    if (config.choice_bias) AddVector(prefix + "exp_probs_b.bias", experts, target.choice_bias);
    if (config.shared_ffn == 0) return;
    AddFfn(prefix, "_shexp.weight", config.shared_ffn, config.hidden, target.shared);
    if (config.shared_gate)
      AddRow(prefix + "ffn_gate_inp_shexp.weight", config.hidden, target.shared_gate);
  }

  void AddExpertBiases(const std::string& prefix, const ModelConfig& config, MoeWeights& target) {
    AddVector(prefix + "ffn_gate_inp.bias", config.router.experts, target.router_bias);
    AddVectorStack(prefix + "ffn_gate_exps.bias", config.expert_ffn, target.experts,
                   &FfnWeights::gate_bias);
    AddVectorStack(prefix + "ffn_up_exps.bias", config.expert_ffn, target.experts,
                   &FfnWeights::up_bias);
    AddVectorStack(prefix + "ffn_down_exps.bias", config.hidden, target.experts,
                   &FfnWeights::down_bias);
  }

  // Null, and the first error kept, if the tensor isn't there or isn't so.
  const ModelTensor* Expect(const std::string& name, const std::vector<std::int64_t>& dims) {
    if (!status_) return nullptr;
    const Result<const ModelTensor*> tensor = ExpectTensor(file_, name, dims);
    if (tensor) return *tensor;
    status_ = std::unexpected(tensor.error());
    return nullptr;
  }

  void AddMatrix(const std::string& name, std::int64_t n, std::int64_t k, PackedMatrix& target) {
    if (const ModelTensor* tensor = Expect(name, {k, n})) AddRows(*tensor, 0, n, k, target);
  }

  // Matrices of n rows each that one tensor holds, one after another.
  void AddFused(const std::string& name, std::int64_t k,
                std::initializer_list<std::pair<std::int64_t, PackedMatrix*>> parts) {
    std::int64_t rows = 0;
    for (const auto& [n, target] : parts) rows += n;
    const ModelTensor* tensor = Expect(name, {k, rows});
    if (tensor == nullptr) return;
    std::int64_t first = 0;
    for (const auto& [n, target] : parts) {
      AddRows(*tensor, first, n, k, *target);
      first += n;
    }
  }

  // Of every expert the `matrix` [n, k]: one tensor NAME_exps.weight holds them all, one after
  // another, or each has its own, NAME.0.weight and so on.
  void AddStack(const std::string& name, std::int64_t n, std::int64_t k,
                std::vector<FfnWeights>& experts, PackedMatrix FfnWeights::* matrix) {
    if (file_.FindTensor(name + "_exps.weight") == nullptr &&
        file_.FindTensor(name + ".0.weight") != nullptr) {
      for (std::size_t i = 0; i < experts.size(); ++i)
        AddMatrix(name + "." + std::to_string(i) + ".weight", n, k, experts[i].*matrix);
      return;
    }
    const ModelTensor* tensor =
        Expect(name + "_exps.weight", {k, n, static_cast<std::int64_t>(experts.size())});
    if (tensor == nullptr) return;
    for (std::size_t i = 0; i < experts.size(); ++i)
      AddRows(*tensor, static_cast<std::int64_t>(i) * n, n, k, experts[i].*matrix);
  }

  // A matrix of one row, which a file may hold as a vector.
  void AddRow(const std::string& name, std::int64_t k, PackedMatrix& target) {
    const ModelTensor* tensor = file_.FindTensor(name);
    const bool is_matrix = tensor != nullptr && tensor->dims.size() == 2;
    tensor = Expect(name, is_matrix ? std::vector{k, std::int64_t{1}} : std::vector{k});
    if (tensor != nullptr) AddRows(*tensor, 0, 1, k, target);
  }

  // Rows [first_row, first_row + n) of the tensor as a matrix of their own.
  void AddRows(const ModelTensor& tensor, std::int64_t first_row, std::int64_t n, std::int64_t k,
               PackedMatrix& target) {
    target = {.type = tensor.type, .n = n, .k = k, .data = nullptr};
    matrices_.push_back({.tensor = &tensor,
                         .first_row = first_row,
                         .offset = bytes_,
                         .target = &target,
                         .twin = nullptr});
    const auto bytes = CheckedAdd(bytes_, PackedBytes(tensor.type, n, k));
    if (!bytes) {
      status_ =
          InputError(file_.path(), std::string(tensor.name), "weights are larger than any memory");
      return;
    }
    bytes_ = *bytes;
  }

  void AddVector(const std::string& name, std::int64_t n, std::vector<float>& target) {
    const ModelTensor* tensor = Expect(name, {n});
    if (tensor == nullptr) return;
    target.resize(static_cast<std::size_t>(n));
    ReadValues(*tensor, target);
  }

  // Of a file whose header alone was opened (gguf_header.h) there is nothing to read: enough to be
  // measured.
  static void ReadValues(const ModelTensor& tensor, std::vector<float>& values) {
    if (tensor.data.empty()) return;
    Dequantize(tensor.type, tensor.data.data(), static_cast<std::int64_t>(values.size()),
               values.data());
  }

  // Vectors that one tensor holds, one after another.
  void AddFusedVector(const std::string& name,
                      std::initializer_list<std::pair<std::int64_t, std::vector<float>*>> parts) {
    std::int64_t all = 0;
    for (const auto& [n, target] : parts) all += n;
    std::vector<float> values;
    AddVector(name, all, values);
    if (!status_) return;
    auto from = values.begin();
    for (const auto& [n, target] : parts) {
      target->assign(from, from + n);
      from += n;
    }
  }

  // Of every expert the `vector` [n].
  void AddVectorStack(const std::string& name, std::int64_t n, std::vector<FfnWeights>& experts,
                      std::vector<float> FfnWeights::* vector) {
    const ModelTensor* tensor = Expect(name, {n, static_cast<std::int64_t>(experts.size())});
    if (tensor == nullptr) return;
    std::vector<float> values(static_cast<std::size_t>(n) * experts.size());
    ReadValues(*tensor, values);
    auto from = values.begin();
    for (FfnWeights& expert : experts) {
      (expert.*vector).assign(from, from + n);
      from += n;
    }
  }

  const ModelFile& file_;
  std::deque<TransposedTensor>& transposed_;
  Status status_;
  std::size_t bytes_ = 0;
  std::vector<MatrixToPack> matrices_;
};

// The experts' matrices apart from those that every row goes through, both with offsets of their
// own.
struct DenseAndExperts {
  std::vector<MatrixToPack> dense;
  std::size_t dense_bytes = 0;
  ExpertMatrices experts;
};

void AddExpert(const MatrixToPack& gate, const MatrixToPack& up, const MatrixToPack& down,
               ExpertMatrices& experts) {
  std::size_t bytes = 0;
  for (MatrixToPack matrix : {gate, up, down}) {
    matrix.offset = bytes;
    bytes += PackedBytes(matrix.target->type, matrix.target->n, matrix.target->k);
    experts.matrices.push_back(matrix);
  }
  experts.slot_bytes = std::max(experts.slot_bytes, bytes);
}

DenseAndExperts Split(const WeightPlan& plan, ModelWeights& weights) {
  std::unordered_map<const PackedMatrix*, const MatrixToPack*> of_target;
  for (const MatrixToPack& matrix : plan.matrices()) of_target[matrix.target] = &matrix;
  DenseAndExperts split;
  for (LayerWeights& layer : weights.layers) {
    if (layer.moe.experts.empty()) continue;
    layer.moe.cache_layer = split.experts.layers++;
    split.experts.of_a_layer = static_cast<int>(layer.moe.experts.size());
    for (const FfnWeights& expert : layer.moe.experts) {
      const auto take = [&](const PackedMatrix& matrix) {
        return *of_target.extract(&matrix).mapped();
      };
      AddExpert(take(expert.gate), take(expert.up), take(expert.down), split.experts);
    }
  }
  for (MatrixToPack matrix : plan.matrices()) {
    if (!of_target.contains(matrix.target)) continue;
    matrix.offset = split.dense_bytes;
    split.dense_bytes += PackedBytes(matrix.target->type, matrix.target->n, matrix.target->k);
    split.dense.push_back(matrix);
  }
  return split;
}

}  // namespace

Result<WeightBytes> MeasureWeights(const ModelFile& file, const ModelConfig& config) {
  ModelWeights weights;
  const WeightPlan plan(file, config, weights);
  if (!plan.status()) return std::unexpected(plan.status().error());
  std::uint64_t transposed_bytes = 0;
  for (const TransposedTensor& transposed : weights.transposed)
    transposed_bytes += transposed.tensor().bytes;
  const DenseAndExperts split = Split(plan, weights);
  WeightBytes bytes{.all = plan.bytes() + transposed_bytes,
                    .dense = split.dense_bytes + transposed_bytes};
  if (split.experts.layers == 0) return bytes;
  bytes.experts = split.experts.experts();
  bytes.cache_without_slots = ExpertCache::Bytes(split.experts, 0);
  bytes.cache_slot = ExpertCache::Bytes(split.experts, 1) - bytes.cache_without_slots;
  return bytes;
}

Result<std::unique_ptr<ModelWeights>> LoadWeights(const ModelFile& file, const ModelConfig& config,
                                                  const ThreadPool& pool,
                                                  std::int64_t expert_slots) {
  auto weights = std::make_unique<ModelWeights>();
  const WeightPlan plan(file, config, *weights);
  if (!plan.status()) return std::unexpected(plan.status().error());
  for (TransposedTensor& transposed : weights->transposed) transposed.Compute();
  std::vector<MatrixToPack> to_pack = plan.matrices();
  std::size_t bytes = plan.bytes();
  if (expert_slots > 0) {
    DenseAndExperts split = Split(plan, *weights);
    to_pack = std::move(split.dense);
    bytes = split.dense_bytes;
    auto cache = ExpertCache::Create(file, std::move(split.experts), expert_slots);
    if (!cache) return std::unexpected(cache.error());
    weights->expert_cache = *std::move(cache);
    for (LayerWeights& layer : weights->layers) layer.moe.cache = weights->expert_cache.get();
  }
  Result<WeightPacking> packing = WeightPacking::Create(file, to_pack, bytes, pool.size());
  if (!packing) return std::unexpected(packing.error());
  weights->packing = *std::move(packing);
  return weights;
}

}  // namespace folio
