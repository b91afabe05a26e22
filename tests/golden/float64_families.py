"""The float64 pass of models that are built otherwise: GPT-2, gpt-oss, DeepSeek V2 and V3.

Needs numpy and the `gguf` package.
"""

import math

import numpy as np

import float64_model
from float64_model import Float64Model, Routing, largest, sigmoid, smallest_margin, softmax

# gpt-oss has these in its definition, not in its files.
GPT_OSS_ALPHA = 1.702
GPT_OSS_LIMIT = 7.0
SIGMOID_GATING = 2
# A sigmoid changes by at most a quarter of what its argument changes by.
_LOGITS_A_SIGMOID = 4


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps) * weight + bias


class Gpt2(Float64Model):
    """Learned positions, layer norms, and two matrices a feed-forward network; a bias everywhere."""

    ARCHITECTURES = ("gpt2",)
    EPS_KEY = "attention.layer_norm_epsilon"

    def _norm(self, x, name, w):
        return layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"], self.eps)

    def _embed(self, tokens):
        return super()._embed(tokens) + self.weight("position_embd.weight")[:len(tokens)]

    def _queries_keys_values(self, x, layer, w):
        return self._head_projections(x, w)

    def _feed_forward(self, x, w):
        return self._projection(float64_model.gelu_tanh(self._projection(x, "ffn_up", w)), "ffn_down", w), None


class GptOss(Float64Model):
    """A score of its own in each head's softmax, and experts with biases and a clamped SwiGLU."""

    ARCHITECTURES = ("gpt-oss",)
    FFN_NORM = "post_attention_norm"
    YARN_ENDS_ARE_WHOLE = False

    def _shares(self, scores, head, w):
        sink = np.full((len(scores), 1), w["attn_sinks.weight"][head])
        return softmax(np.concatenate([scores, sink], axis=-1))[:, :-1]

    def _expert(self, x, expert, w):
        def project(x, name):
            return x @ w[f"ffn_{name}_exps.weight"][expert].T + w[f"ffn_{name}_exps.bias"][expert]

        gate = np.minimum(project(x, "gate"), GPT_OSS_LIMIT)
        up = np.clip(project(x, "up"), -GPT_OSS_LIMIT, GPT_OSS_LIMIT)
        return project((up + 1) * gate * sigmoid(GPT_OSS_ALPHA * gate), "down")


class DeepSeek2(Float64Model):
    """Keys and values from a latent vector that all heads share, and experts chosen in groups."""

    ARCHITECTURES = ("deepseek2",)

    def __init__(self, path):
        super().__init__(path)
        # Newer files describe what the cache would hold (the latent vector), and the heads in keys of their own.
        self.head_dim = self._get("attention.key_length_mla", self.head_dim)
        self.value_dim = self._get("attention.value_length_mla", self._get("attention.value_length"))
        self.latent = self._get("attention.kv_lora_rank")

    def attention_scale(self):
        factor = float(self._get("rope.scaling.factor", 1.0))
        mscale = 1 + float(self._get("rope.scaling.yarn_log_multiplier", 0.0)) * math.log(factor)
        return mscale * mscale / math.sqrt(self.head_dim)

    def _scaled(self, frequencies):
        return super()._scaled(frequencies)[0], 1.0  # the score's scale has what YaRN multiplies by

    def _queries(self, x, w):
        if "attn_q.weight" in w:
            return x @ w["attn_q.weight"].T
        return self._norm(x @ w["attn_q_a.weight"].T, "attn_q_a_norm", w) @ w["attn_q_b.weight"].T

    def _heads_of_latent(self, latent, w):
        """(keys without positions, values) [tokens, heads, size]."""
        if "attn_kv_b.weight" in w:
            both = (latent @ w["attn_kv_b.weight"].T).reshape(len(latent), self.heads, -1)
            return np.split(both, [both.shape[-1] - self.value_dim], axis=-1)
        return (np.einsum("tr,hrn->thn", latent, w["attn_k_b.weight"]),
                np.einsum("tr,hvr->thv", latent, w["attn_v_b.weight"]))

    def _queries_keys_values(self, x, layer, w):
        rope, plain = self.rope(layer), self.head_dim - self.rope_dim
        q = self._queries(x, w).reshape(len(x), self.heads, self.head_dim)
        q = np.concatenate([q[..., :plain], rope.rotate(q[..., plain:])], axis=-1)
        latent, shared_key = np.split(x @ w["attn_kv_a_mqa.weight"].T, [self.latent], axis=-1)
        k, v = self._heads_of_latent(self._norm(latent, "attn_kv_a_norm", w), w)
        shared_key = np.broadcast_to(rope.rotate(shared_key[:, None]), (len(x), self.heads, self.rope_dim))
        return q, np.concatenate([k, shared_key], axis=-1), v

    def _within_groups(self, scores):
        """(scores with -inf in groups that are not taken, by how much the closest group was taken)."""
        groups, used = self._get("expert_group_count", 1), self._get("expert_group_used_count", 1)
        if groups == used:
            return scores, math.inf
        by_group = scores.reshape(len(scores), groups, -1)
        group_scores = np.sort(by_group, axis=-1)[..., -2:].sum(axis=-1)
        taken = np.zeros((len(scores), groups, 1), dtype=bool)
        np.put_along_axis(taken[..., 0], largest(group_scores, used), True, axis=-1)
        return np.where(taken, by_group, -np.inf).reshape(scores.shape), smallest_margin(group_scores, used) / 2

    def _route(self, x, w):
        logits = x @ w["ffn_gate_inp.weight"].T
        is_sigmoid = self._get("expert_gating_func", 1) == SIGMOID_GATING
        scores = sigmoid(logits) if is_sigmoid else softmax(logits)
        # Softmax keeps the logits' order, so that without a bias and groups the logits can be compared.
        compared = scores + w["exp_probs_b.bias"] if is_sigmoid else logits
        allowed, group_margin = self._within_groups(compared)
        chosen = largest(allowed, self.experts_used)
        margin = min(smallest_margin(allowed, self.experts_used), group_margin)
        weights = np.take_along_axis(scores, chosen, axis=-1)
        if self._get("expert_weights_norm", False):
            weights = weights / weights.sum(axis=-1, keepdims=True)
        weights = weights * float(self._get("expert_weights_scale", 1.0))
        return Routing(logits, chosen, weights, margin * (_LOGITS_A_SIGMOID if is_sigmoid else 1))


_CLASSES = {arch: cls for cls in (Float64Model, Gpt2, GptOss, DeepSeek2) for arch in cls.ARCHITECTURES}


def open_model(path):
    """The model of this file."""
    return _CLASSES.get(float64_model.architecture(path), Float64Model)(path)
