"""What tiny models of Granite, Phi-3, Gemma 2, GPT-2, gpt-oss and DeepSeek have beside what Llama's have:
metadata keys and tensors. make_tiny_models.py has the models.
"""

import dataclasses

from gguf_writer import metadata as pair

ROUTER_GAIN = 2.5  # router logits with this standard deviation favour a few experts without silencing the others
SOFTMAX_GATING, SIGMOID_GATING = 1, 2


@dataclasses.dataclass(frozen=True)
class Scales:
    """Granite's multipliers."""

    embedding: float
    attention: float
    residual: float
    logit: float  # a divisor

    def metadata(self, arch):
        return [pair(f"{arch}.attention.scale", "f32", self.attention),
                pair(f"{arch}.embedding_scale", "f32", self.embedding),
                pair(f"{arch}.residual_scale", "f32", self.residual),
                pair(f"{arch}.logit_scale", "f32", self.logit)]


@dataclasses.dataclass(frozen=True)
class SoftCaps:
    """Gemma 2's bounds of attention scores and of logits."""

    attention: float
    final: float

    def metadata(self, arch):
        return [pair(f"{arch}.attn_logit_softcapping", "f32", self.attention),
                pair(f"{arch}.final_logit_softcapping", "f32", self.final)]


@dataclasses.dataclass(frozen=True)
class Latent:
    """DeepSeek's attention and experts. A head of queries and keys has `plain` elements without and `rotary` with
    positions. `absorbed` files hold the keys' and values' matrices apart and describe the cache of latent vectors.
    """

    plain: int
    rotary: int
    value: int
    rank: int
    query_rank: int = 0  # 0: queries come from one matrix
    absorbed: bool = True
    dense_layers: int = 1
    shared_experts: int = 1
    weights_scale: float = 1.0
    # V3: sigmoid gates with a bias, weights that sum to one, experts in (groups, groups used).
    gating: int = SOFTMAX_GATING
    groups: tuple = None
    # 0.1 of the configuration's mscale_all_dim
    yarn_log_multiplier: float = 0.0

    def _attention_metadata(self, arch):
        key = self.plain + self.rotary
        pairs = [pair(f"{arch}.attention.kv_lora_rank", "u32", self.rank)]
        if self.query_rank:
            pairs.append(pair(f"{arch}.attention.q_lora_rank", "u32", self.query_rank))
        if self.absorbed:
            return pairs + [pair(f"{arch}.attention.key_length", "u32", self.rank + self.rotary),
                            pair(f"{arch}.attention.value_length", "u32", self.rank),
                            pair(f"{arch}.attention.key_length_mla", "u32", key),
                            pair(f"{arch}.attention.value_length_mla", "u32", self.value)]
        return pairs + [pair(f"{arch}.attention.key_length", "u32", key),
                        pair(f"{arch}.attention.value_length", "u32", self.value)]

    def metadata(self, arch):
        pairs = self._attention_metadata(arch)
        pairs += [pair(f"{arch}.leading_dense_block_count", "u32", self.dense_layers),
                  pair(f"{arch}.expert_shared_count", "u32", self.shared_experts),
                  pair(f"{arch}.expert_weights_scale", "f32", self.weights_scale),
                  pair(f"{arch}.rope.scaling.yarn_log_multiplier", "f32", self.yarn_log_multiplier)]
        if self.gating == SIGMOID_GATING:
            pairs += [pair(f"{arch}.expert_weights_norm", "bool", True),
                      pair(f"{arch}.expert_gating_func", "u32", SIGMOID_GATING)]
        if self.groups:
            pairs += [pair(f"{arch}.expert_group_count", "u32", self.groups[0]),
                      pair(f"{arch}.expert_group_used_count", "u32", self.groups[1])]
        return pairs


def biased_matrix(make, name, inputs, outputs, gain=1.0):
    make.matrix(f"{name}.weight", inputs, outputs, gain)
    make.table(f"{name}.bias", (outputs,), -0.5, 0.5)


def _layer_norm(make, name, size):
    make.norm(f"{name}.weight", size)
    make.table(f"{name}.bias", (size,), -0.3, 0.3)


def gpt2_outer(model, make):
    make.gate("position_embd.weight", (model.hidden, model.context), gain=1.0)
    make.table("output_norm.bias", (model.hidden,), -0.3, 0.3)


def gpt2_layer(model, make, layer):
    block = f"blk.{layer}."
    _layer_norm(make, block + "attn_norm", model.hidden)
    biased_matrix(make, block + "attn_qkv", model.hidden, 3 * model.hidden, gain=1.5)
    biased_matrix(make, block + "attn_output", model.hidden, model.hidden)
    _layer_norm(make, block + "ffn_norm", model.hidden)
    biased_matrix(make, block + "ffn_up", model.hidden, model.ff)
    biased_matrix(make, block + "ffn_down", model.ff, model.hidden)


def gpt_oss_layer(model, make, layer):
    block, kv = f"blk.{layer}.", model.kv_heads * model.head_dim
    make.norm(block + "attn_norm.weight", model.hidden)
    biased_matrix(make, block + "attn_q", model.hidden, model.heads * model.head_dim, gain=1.5)
    biased_matrix(make, block + "attn_k", model.hidden, kv, gain=1.5)
    biased_matrix(make, block + "attn_v", model.hidden, kv)
    biased_matrix(make, block + "attn_output", model.heads * model.head_dim, model.hidden)
    make.table(block + "attn_sinks.weight", (model.heads,), 0.0, 5.0)
    make.norm(block + "post_attention_norm.weight", model.hidden)  # the feed-forward network's
    make.gate(block + "ffn_gate_inp.weight", (model.hidden, model.experts), ROUTER_GAIN)
    make.table(block + "ffn_gate_inp.bias", (model.experts,), -1.0, 1.0)
    # Wide enough that some gates and ups reach the limit of 7 in either direction.
    for name in ("gate", "up"):
        make.expert_matrices(f"{block}ffn_{name}_exps.weight", model.hidden, model.expert_ff, gain=3.0)
        make.table(f"{block}ffn_{name}_exps.bias", (model.expert_ff, model.experts), -1.0, 1.0)
    make.expert_matrices(block + "ffn_down_exps.weight", model.expert_ff, model.hidden, gain=0.2)
    make.table(block + "ffn_down_exps.bias", (model.hidden, model.experts), -0.5, 0.5)


def _latent_attention(model, make, block):
    latent, heads = model.details, model.heads
    key = latent.plain + latent.rotary
    if latent.query_rank:
        make.matrix(block + "attn_q_a.weight", model.hidden, latent.query_rank)
        make.norm(block + "attn_q_a_norm.weight", latent.query_rank)
        make.matrix(block + "attn_q_b.weight", latent.query_rank, heads * key, gain=1.5)
    else:
        make.matrix(block + "attn_q.weight", model.hidden, heads * key, gain=1.5)
    make.matrix(block + "attn_kv_a_mqa.weight", model.hidden, latent.rank + latent.rotary, gain=1.5)
    make.norm(block + "attn_kv_a_norm.weight", latent.rank)
    if latent.absorbed:  # the keys' matrix is transposed: a head's rows are the latent vector's elements
        make.stacked(block + "attn_k_b.weight", latent.plain, latent.rank, heads,
                     gain=1.5 * (latent.plain / latent.rank) ** 0.5)
        make.stacked(block + "attn_v_b.weight", latent.rank, latent.value, heads)
    else:
        make.matrix(block + "attn_kv_b.weight", latent.rank, heads * (latent.plain + latent.value), gain=1.5)
    make.matrix(block + "attn_output.weight", heads * latent.value, model.hidden)


def _latent_experts(model, make, block):
    latent, shared = model.details, model.details.shared_experts * model.expert_ff
    make.gate(block + "ffn_gate_inp.weight", (model.hidden, model.experts), ROUTER_GAIN)
    if latent.gating == SIGMOID_GATING:
        make.table(block + "exp_probs_b.bias", (model.experts,), -0.25, 0.25)
    make.expert_matrices(block + "ffn_gate_exps.weight", model.hidden, model.expert_ff)
    make.expert_matrices(block + "ffn_up_exps.weight", model.hidden, model.expert_ff)
    make.expert_matrices(block + "ffn_down_exps.weight", model.expert_ff, model.hidden)
    make.matrix(block + "ffn_gate_shexp.weight", model.hidden, shared)
    make.matrix(block + "ffn_up_shexp.weight", model.hidden, shared)
    make.matrix(block + "ffn_down_shexp.weight", shared, model.hidden)


def deepseek_layer(model, make, layer):
    block = f"blk.{layer}."
    make.norm(block + "attn_norm.weight", model.hidden)
    _latent_attention(model, make, block)
    make.norm(block + "ffn_norm.weight", model.hidden)
    if layer >= model.details.dense_layers:
        _latent_experts(model, make, block)
        return
    make.matrix(block + "ffn_gate.weight", model.hidden, model.ff)
    make.matrix(block + "ffn_up.weight", model.hidden, model.ff)
    make.matrix(block + "ffn_down.weight", model.ff, model.hidden)


# Architectures whose layers are not Llama's with a few tensors more: functions (model, make, layer).
LAYERS = {"gpt2": gpt2_layer, "gpt-oss": gpt_oss_layer, "deepseek2": deepseek_layer}
