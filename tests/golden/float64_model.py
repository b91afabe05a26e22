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
GEMMA2_27B_LAYERS = 46
# architecture -> whether the weights of the experts that a token goes through are scaled to sum to one
_EXPERT_WEIGHTS_SUM_TO_ONE = {"llama": True, "qwen2moe": False, "qwen3moe": True, "olmoe": False, "granitemoe": True,
                              "gpt-oss": True}
_ADJACENT_PAIRS = ("llama", "granite", "granitemoe", "deepseek2")


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
        """x [tokens, heads, head_dim], token t at position t; of a head, what has no frequency stays."""
        turned, rest = x[..., :2 * len(self.frequencies)], x[..., 2 * len(self.frequencies):]
        return np.concatenate([self._rotate_all(turned), rest], axis=-1)

    def _rotate_all(self, x):
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


def smallest_margin(x, count):
    """The smallest distance, of any row, between the last of its `count` largest values and the next."""
    ordered = -np.sort(-x, axis=-1)
    return float((ordered[:, count - 1] - ordered[:, count]).min())


def architecture(path):
    return gguf.GGUFReader(path).fields["general.architecture"].contents()


@dataclasses.dataclass(frozen=True)
class Routing:
    """How one layer's tokens were sent to experts."""

    logits: np.ndarray  # [tokens, experts], the router's
    chosen: np.ndarray  # [tokens, used]
    weights: np.ndarray  # [tokens, used], what the experts' outputs are multiplied by
    margin: float  # by how much, in logits, the closest choice of all tokens was made


class Float64Model:
    """A decoder with RMS norms, rotary positions and gated feed-forward networks, with experts or without.

    float64_families.open_model gives a file's model, of this class or of one of those there.
    """

    ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma2", "gemma3", "qwen2moe", "qwen3moe", "olmoe", "granite",
                     "granitemoe", "phi3")
    EPS_KEY = "attention.layer_norm_rms_epsilon"
    FFN_NORM = "ffn_norm"
    YARN_ENDS_ARE_WHOLE = True

    def __init__(self, path):
        self.fields, self._tensors = open_file(path)
        self.arch = self.fields["general.architecture"]
        if self.arch not in self.ARCHITECTURES:
            raise ValueError(f"{path}: no forward pass for architecture {self.arch!r}")
        self.layers = self._get("block_count")
        self.hidden = self._get("embedding_length")
        self.heads = self._get("attention.head_count")
        self.kv_heads = self._get("attention.head_count_kv", self.heads)
        self.head_dim = self._get("attention.key_length", self.hidden // self.heads)
        self.rope_dim = self._get("rope.dimension_count", self.head_dim)
        self.eps = float(self._get(self.EPS_KEY))
        self.gemma = self.arch in ("gemma2", "gemma3")
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
        if self.arch == "gemma3":
            return (layer + 1) % GEMMA_GLOBAL_EVERY == 0
        if self.arch in ("gemma2", "gpt-oss"):
            return layer % 2 == 1
        return self.arch != "phi3" or not self._get("attention.sliding_window", 0)

    def window(self, layer):
        """Positions that a query sees, itself included; None = all before it."""
        return None if self.is_global(layer) else self._get("attention.sliding_window")

    def attention_scale(self):
        """What a query's product with a key is multiplied by."""
        if self.arch == "gemma2" and self.layers == GEMMA2_27B_LAYERS:
            return (self.hidden // self.heads) ** -0.5
        return float(self._get("attention.scale", self.head_dim**-0.5))

    def rope(self, layer):
        base = float(self._get("rope.freq_base", 10000.0))
        is_local = self.arch == "gemma3" and not self.is_global(layer)
        if is_local:
            base = float(self._get("rope.freq_base_swa", GEMMA_LOCAL_ROPE_BASE))
        frequencies = base ** (-np.arange(0, self.rope_dim, 2, dtype=np.float64) / self.rope_dim)
        if "rope_freqs.weight" in self._tensors:
            frequencies = frequencies / self.weight("rope_freqs.weight")
        factor = 1.0
        if not is_local:
            frequencies, factor = self._scaled(frequencies)
        return Rope(frequencies, adjacent_pairs=self.arch in _ADJACENT_PAIRS, factor=factor)

    def _scaled(self, frequencies):
        """(frequencies, attention factor) after the file's scaling."""
        # Phi-3's files have the factors, but no type of scaling.
        has_factors = self.arch == "phi3" and "rope_factors_long.weight" in self._tensors
        scaling = "longrope" if has_factors else self._get("rope.scaling.type", "none")
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
            return self.rope_dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

        low = pair(self._get("rope.scaling.yarn_beta_fast", 32.0))
        high = pair(self._get("rope.scaling.yarn_beta_slow", 1.0))
        if self.YARN_ENDS_ARE_WHOLE:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, self.rope_dim - 1)
        slowed = np.clip((np.arange(len(frequencies)) - low) / max(high - low, 0.001), 0, 1)
        return frequencies * (slowed / factor + 1 - slowed), 0.1 * math.log(factor) + 1

    def _projection(self, x, name, w):
        """x [tokens, …] times a matrix, plus its bias where it has one."""
        out = x @ w[f"{name}.weight"].T
        return out + w[f"{name}.bias"] if f"{name}.bias" in w else out

    def _head_projections(self, x, w):
        """Queries, keys and values [tokens, heads, head_dim], from one matrix or three."""
        sizes = self.heads * self.head_dim, self.kv_heads * self.head_dim, self.kv_heads * self.head_dim
        if "attn_qkv.weight" in w:
            parts = np.split(self._projection(x, "attn_qkv", w), np.cumsum(sizes)[:-1], axis=-1)
        else:
            parts = [self._projection(x, f"attn_{name}", w) for name in "qkv"]
        for i, name in enumerate("qk"):
            norm = w.get(f"attn_{name}_norm.weight")
            if norm is not None:  # of a head's size, or (OLMoE) of all heads together
                parts[i] = rms_norm(parts[i].reshape(x.shape[0], -1, norm.size), norm, self.eps)
        return [part.reshape(x.shape[0], -1, self.head_dim) for part in parts]

    def _queries_keys_values(self, x, layer, w):
        """[tokens, heads, size] each, at their positions."""
        q, k, v = self._head_projections(x, w)
        rope = self.rope(layer)
        return rope.rotate(q), rope.rotate(k), v

    def _shares(self, scores, head, w):
        """The shares [queries, keys] that a head's scores give; a score that is not seen is -inf."""
        del head, w
        return softmax(scores)

    def _attention(self, x, layer, w):
        tokens = x.shape[0]
        q, k, v = self._queries_keys_values(x, layer, w)
        group = q.shape[1] // k.shape[1]
        position = np.arange(tokens)
        visible = position[None, :] <= position[:, None]
        if self.window(layer):
            visible &= position[None, :] > position[:, None] - self.window(layer)
        cap = self._get("attn_logit_softcapping", 0.0)
        out = np.empty((tokens, q.shape[1], v.shape[-1]))
        for head in range(q.shape[1]):
            scores = q[:, head] @ k[:, head // group].T * self.attention_scale()
            if cap:
                scores = cap * np.tanh(scores / cap)
            out[:, head] = self._shares(np.where(visible, scores, -np.inf), head, w) @ v[:, head // group]
        return self._projection(out.reshape(tokens, -1), "attn_output", w)

    def _route(self, x, w):
        """The Routing of a layer's tokens."""
        logits = self._projection(x, "ffn_gate_inp", w)
        probabilities = softmax(logits)
        chosen = largest(probabilities, self.experts_used)
        weights = np.take_along_axis(probabilities, chosen, axis=-1)
        if _EXPERT_WEIGHTS_SUM_TO_ONE[self.arch]:
            weights = weights / weights.sum(axis=-1, keepdims=True)
        return Routing(logits, chosen, weights, smallest_margin(logits, self.experts_used))

    def _expert(self, x, expert, w):
        """The output of one expert."""
        return gated(x, *(w[f"ffn_{name}_exps.weight"][expert] for name in ("gate", "up", "down")))

    def _mixture(self, x, w, routing):
        out = np.zeros_like(x)
        for expert in range(self.experts):
            token, place = np.nonzero(routing.chosen == expert)
            out[token] += routing.weights[token, place, None] * self._expert(x[token], expert, w)
        if "ffn_gate_shexp.weight" in w:
            shared = gated(x, *(w[f"ffn_{name}_shexp.weight"] for name in ("gate", "up", "down")))
            if "ffn_gate_inp_shexp.weight" in w:
                shared = shared * sigmoid(x @ w["ffn_gate_inp_shexp.weight"].reshape(-1))[:, None]
            out += shared
        return out

    def _feed_forward(self, x, w):
        """(output, Routing or None)."""
        if "ffn_gate_inp.weight" in w:
            routing = self._route(x, w)
            return self._mixture(x, w, routing), routing
        up = w["ffn_up.weight"]
        gate, up = (w["ffn_gate.weight"], up) if "ffn_gate.weight" in w else np.split(up, 2)
        return gated(x, gate, up, w["ffn_down.weight"], activation=gelu_tanh if self.gemma else silu), None

    def _norm(self, x, name, w):
        return rms_norm(x, w[f"{name}.weight"], self.eps)

    def _embed(self, tokens):
        embedding = self._tensors["token_embd.weight"]
        x = gguf.quants.dequantize(embedding.data[np.asarray(tokens)], embedding.tensor_type).astype(np.float64)
        scale = math.sqrt(self.hidden) if self.gemma else self._get("embedding_scale", 1.0)
        return x.reshape(len(tokens), self.hidden) * scale

    def _run(self, tokens):
        """(hidden states [layers + 1, tokens, hidden], Routing of each layer that has experts)."""
        x = self._embed(tokens)
        residual_scale = self._get("residual_scale", 1.0)
        states, routings = [x], []
        for layer in range(self.layers):
            w = self._layer_weights(layer)
            out = self._attention(self._norm(x, "attn_norm", w), layer, w)
            if self.gemma:
                out = self._norm(out, "post_attention_norm", w)
            x = x + out * residual_scale
            out, routing = self._feed_forward(self._norm(x, self.FFN_NORM, w), w)
            if routing is not None:
                routings.append(routing)
            if self.gemma:
                out = self._norm(out, "post_ffw_norm", w)
            x = x + out * residual_scale
            states.append(x)
        return np.stack(states), routings

    def hidden_states(self, tokens):
        """[layers + 1, tokens, hidden]: the embeddings, then each layer's output."""
        return self._run(tokens)[0]

    def routings(self, tokens):
        """The Routing of each layer that has experts."""
        return self._run(tokens)[1]

    def router_logits(self, tokens):
        """[layers, tokens, experts] of a model with experts."""
        return np.stack([routing.logits for routing in self.routings(tokens)])

    def head_logits(self, x):
        """Logits [tokens, vocab] of the last layer's output."""
        if "head" not in self._cache:
            head = "output.weight" if "output.weight" in self._tensors else "token_embd.weight"
            self._cache["head"] = self.weight(head)
            self._cache["norm"] = {name: self.weight(name) for name in self._tensors if name.startswith("output_norm.")}
        logits = self._norm(x, "output_norm", self._cache["norm"]) @ self._cache["head"].T
        logits = logits / self._get("logit_scale", 1.0)
        cap = self._get("final_logit_softcapping", 0.0)
        return cap * np.tanh(logits / cap) if cap else logits

    def logits(self, tokens):
        """Logits [tokens, vocab] in float64, the first token at position 0."""
        return self.head_logits(self.hidden_states(tokens)[-1])
