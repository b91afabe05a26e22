"""A plain forward pass in float64 over a GGUF file's dequantised weights: the yardstick of the fidelity tests.

Written from the models' published definitions, for clarity and not for speed; nothing is shared with
the engine. The scripts that make golden values compare it with Hugging Face transformers.

Needs numpy and the `gguf` package.
"""

import dataclasses
import math

import gguf
import numpy as np

GEMMA_LOCAL_ROPE_BASE = 10000.0
GEMMA_GLOBAL_EVERY = 6
# architecture -> whether the weights of the experts that a token goes through are scaled to sum to one
_EXPERT_WEIGHTS_SUM_TO_ONE = {"llama": True, "qwen2moe": False, "qwen3moe": True, "olmoe": False}


def open_file(path):
    """(metadata as a dict, tensors by name) of a GGUF file."""
    reader = gguf.GGUFReader(path)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    return fields, {tensor.name: tensor for tensor in reader.tensors}


def dequantise(tensor):
    """A tensor's values as float32, in its own shape (rows first)."""
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type).reshape(tuple(int(n) for n in tensor.shape[::-1]))


@dataclasses.dataclass(frozen=True)
class Rope:
    """Rotation angles: position * frequencies[pair]; cosines and sines are multiplied by `factor`."""

    frequencies: np.ndarray
    adjacent_pairs: bool  # pairs (0,1), (2,3), …; else (i, i + head_dim/2)
    factor: float = 1.0

    def rotate(self, x):
        """x [tokens, heads, head_dim], token t at position t."""
        angle = np.arange(x.shape[0], dtype=np.float64)[:, None] * self.frequencies
        cos, sin = self.factor * np.cos(angle)[:, None, :], self.factor * np.sin(angle)[:, None, :]
        half = x.shape[-1] // 2
        first, second = (x[..., 0::2], x[..., 1::2]) if self.adjacent_pairs else (x[..., :half], x[..., half:])
        out = np.empty_like(x)
        rotated_first, rotated_second = first * cos - second * sin, second * cos + first * sin
        if self.adjacent_pairs:
            out[..., 0::2], out[..., 1::2] = rotated_first, rotated_second
        else:
            out[..., :half], out[..., half:] = rotated_first, rotated_second
        return out


def rms_norm(x, weight, eps):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def silu(x):
    return x / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_softmax(x):
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def gated(x, gate, up, down, activation=silu):
    """A feed-forward network of three matrices, rows first."""
    return (activation(x @ gate.T) * (x @ up.T)) @ down.T


def largest(x, count):
    """Indices [rows, count] of each row's largest values; of equal ones, those of lower index."""
    return np.argsort(-x, axis=-1, kind="stable")[:, :count]


class Float64Model:
    """A model of architecture llama (with experts or without), qwen2, qwen3, gemma3, qwen2moe, qwen3moe or olmoe."""

    def __init__(self, path):
        self.fields, self._tensors = open_file(path)
        self.arch = self.fields["general.architecture"]
        if self.arch not in ("llama", "qwen2", "qwen3", "gemma3", *_EXPERT_WEIGHTS_SUM_TO_ONE):
            raise ValueError(f"{path}: no forward pass for architecture {self.arch!r}")
        self.layers = self._get("block_count")
        self.hidden = self._get("embedding_length")
        self.heads = self._get("attention.head_count")
        self.kv_heads = self._get("attention.head_count_kv", self.heads)
        self.head_dim = self._get("attention.key_length", self.hidden // self.heads)
        self.eps = float(self._get("attention.layer_norm_rms_epsilon"))
        self.gemma = self.arch == "gemma3"
        self.experts = self._get("expert_count", 0)
        self.experts_used = self._get("expert_used_count", 0)
        self._cache = {}

    def _get(self, key, default=None):
        value = self.fields.get(f"{self.arch}.{key}", default)
        if value is None:
            raise ValueError(f"the file has no {self.arch}.{key}")
        return value

    def tensor_names(self):
        return list(self._tensors)

    def weight32(self, name):
        """The tensor in float32, which holds its values exactly; rows first."""
        return dequantise(self._tensors[name])

    def weight(self, name):
        return self.weight32(name).astype(np.float64)

    def _layer_weights(self, layer):
        if layer not in self._cache:
            prefix = f"blk.{layer}."
            self._cache[layer] = {name[len(prefix):]: self.weight(name)
                                  for name in self._tensors if name.startswith(prefix)}
        return self._cache[layer]

    def is_global(self, layer):
        return not self.gemma or (layer + 1) % GEMMA_GLOBAL_EVERY == 0

    def window(self, layer):
        """Positions that a query sees, itself included; None = all before it."""
        return None if self.is_global(layer) else self._get("attention.sliding_window")

    def rope(self, layer):
        base = float(self._get("rope.freq_base", 10000.0))
        if not self.is_global(layer):
            base = float(self._get("rope.freq_base_swa", GEMMA_LOCAL_ROPE_BASE))
        frequencies = base ** (-np.arange(0, self.head_dim, 2, dtype=np.float64) / self.head_dim)
        if "rope_freqs.weight" in self._tensors:
            frequencies = frequencies / self.weight("rope_freqs.weight")
        factor = 1.0
        if self.is_global(layer):
            frequencies, factor = self._scaled(frequencies)
        return Rope(frequencies, adjacent_pairs=self.arch == "llama", factor=factor)

    def _scaled(self, frequencies):
        """(frequencies, attention factor) after the file's scaling."""
        scaling = self._get("rope.scaling.type", "none")
        if scaling == "none":
            return frequencies, 1.0
        if scaling == "linear":
            return frequencies / float(self._get("rope.scaling.factor")), 1.0
        original = self._get("rope.scaling.original_context_length")
        if scaling == "longrope":
            is_long = self._get("context_length") > original
            factors = self.weight("rope_factors_long.weight" if is_long else "rope_factors_short.weight")
            return frequencies / factors, float(self._get("rope.scaling.attn_factor"))
        if scaling != "yarn":
            raise ValueError(f"{self.arch}.rope.scaling.type {scaling!r} is not known here")
        factor, base = float(self._get("rope.scaling.factor")), float(self._get("rope.freq_base", 10000.0))

        def pair(rotations):
            return self.head_dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

        low = max(math.floor(pair(self._get("rope.scaling.yarn_beta_fast", 32.0))), 0)
        high = min(math.ceil(pair(self._get("rope.scaling.yarn_beta_slow", 1.0))), self.head_dim - 1)
        slowed = np.clip((np.arange(len(frequencies)) - low) / max(high - low, 0.001), 0, 1)
        return frequencies * (slowed / factor + 1 - slowed), 0.1 * math.log(factor) + 1

    def _attention(self, x, layer, w):
        tokens = x.shape[0]

        def project(name, heads):
            out = x @ w[f"attn_{name}.weight"].T
            if f"attn_{name}.bias" in w:
                out = out + w[f"attn_{name}.bias"]
            if f"attn_{name}_norm.weight" in w:  # of a head's size, or (OLMoE) of all heads together
                norm = w[f"attn_{name}_norm.weight"]
                out = rms_norm(out.reshape(tokens, -1, norm.size), norm, self.eps)
            return out.reshape(tokens, heads, self.head_dim)

        rope = self.rope(layer)
        q, k = rope.rotate(project("q", self.heads)), rope.rotate(project("k", self.kv_heads))
        v = project("v", self.kv_heads)
        group = self.heads // self.kv_heads
        position = np.arange(tokens)
        visible = position[None, :] <= position[:, None]
        if self.window(layer):
            visible &= position[None, :] > position[:, None] - self.window(layer)
        out = np.empty_like(q)
        for head in range(self.heads):
            scores = q[:, head] @ k[:, head // group].T / math.sqrt(self.head_dim)
            out[:, head] = softmax(np.where(visible, scores, -np.inf)) @ v[:, head // group]
        return out.reshape(tokens, -1) @ w["attn_output.weight"].T

    def _expert_weights(self, router_logits):
        """(experts [tokens, used] of each token, what their outputs are multiplied by)."""
        probabilities = softmax(router_logits)
        chosen = largest(probabilities, self.experts_used)
        weights = np.take_along_axis(probabilities, chosen, axis=-1)
        if _EXPERT_WEIGHTS_SUM_TO_ONE[self.arch]:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        return chosen, weights

    def _mixture(self, x, w, router_logits):
        chosen, weights = self._expert_weights(router_logits)
        out = np.zeros_like(x)
        for expert in range(self.experts):
            token, place = np.nonzero(chosen == expert)
            matrices = (w[f"ffn_{name}_exps.weight"][expert] for name in ("gate", "up", "down"))
            out[token] += weights[token, place, None] * gated(x[token], *matrices)
        if "ffn_gate_shexp.weight" in w:
            matrices = (w[f"ffn_{name}_shexp.weight"] for name in ("gate", "up", "down"))
            share = sigmoid(x @ w["ffn_gate_inp_shexp.weight"].reshape(-1))
            out += share[:, None] * gated(x, *matrices)
        return out

    def _feed_forward(self, x, w):
        """(output, router logits [tokens, experts] or None)."""
        if self.experts:
            router_logits = x @ w["ffn_gate_inp.weight"].T
            return self._mixture(x, w, router_logits), router_logits
        matrices = (w[f"ffn_{name}.weight"] for name in ("gate", "up", "down"))
        return gated(x, *matrices, activation=gelu_tanh if self.gemma else silu), None

    def _run(self, tokens):
        """(hidden states [layers + 1, tokens, hidden], router logits of each layer that has experts)."""
        embedding = self._tensors["token_embd.weight"]
        x = gguf.quants.dequantize(embedding.data[np.asarray(tokens)], embedding.tensor_type).astype(np.float64)
        x = x.reshape(len(tokens), self.hidden)
        if self.gemma:
            x = x * math.sqrt(self.hidden)
        states, router_logits = [x], []
        for layer in range(self.layers):
            w = self._layer_weights(layer)
            out = self._attention(rms_norm(x, w["attn_norm.weight"], self.eps), layer, w)
            if self.gemma:
                out = rms_norm(out, w["post_attention_norm.weight"], self.eps)
            x = x + out
            out, routed_by = self._feed_forward(rms_norm(x, w["ffn_norm.weight"], self.eps), w)
            if routed_by is not None:
                router_logits.append(routed_by)
            if self.gemma:
                out = rms_norm(out, w["post_ffw_norm.weight"], self.eps)
            x = x + out
            states.append(x)
        return np.stack(states), router_logits

    def hidden_states(self, tokens):
        """[layers + 1, tokens, hidden]: the embeddings, then each layer's output."""
        return self._run(tokens)[0]

    def router_logits(self, tokens):
        """[layers, tokens, experts] of a model with experts."""
        return np.stack(self._run(tokens)[1])

    def head_logits(self, x):
        """Logits [tokens, vocab] of the last layer's output."""
        x = rms_norm(x, self.weight("output_norm.weight"), self.eps)
        if "head" not in self._cache:
            head = "output.weight" if "output.weight" in self._tensors else "token_embd.weight"
            self._cache["head"] = self.weight(head)
        return x @ self._cache["head"].T

    def logits(self, tokens):
        """Logits [tokens, vocab] in float64, the first token at position 0."""
        return self.head_logits(self.hidden_states(tokens)[-1])
