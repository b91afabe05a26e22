#!/usr/bin/env python3
"""Writes one tiny random model per architecture as GGUF, the same bytes on every machine.

usage: make_tiny_models.py [--out DIR] [NAME ...]      (--list prints the names)

Metadata keys, tensor names and shapes are those of files converted from real models. Matrices are
noise of a standard deviation that keeps activations sane and the softmax far from uniform; norms
are 1 +- 0.2. The tokenizers are small but complete: every byte string can be encoded. Seeds of
models with experts are chosen so that no token of the reference has two experts nearly tied.
tiny_references.npz holds what Hugging Face transformers computes with them.

Needs numpy only.
"""

import argparse
import dataclasses
import math
import os
import sys

import numpy as np

import gguf_writer
import random_weights
import tiny_families
import tiny_tokenizers

DEFAULT_DIR = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "folio", "tiny-models")


@dataclasses.dataclass(frozen=True)
class TinyModel:
    """A model's shape. `types` are the matrices' types, taken in turn; F32 unless said."""

    arch: str
    tokenizer: str  # a name in tiny_tokenizers
    layers: int = 3
    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    ff: int = 96
    vocab: int = 384
    context: int = 2048
    eps: float = 1e-5
    rope_base: float = 10000.0
    tied: bool = False
    types: tuple = ("F32",)
    embedding_type: str = "F32"
    # Llama 3.1's scaling: (factor, low_freq_factor, high_freq_factor, original context)
    llama3_rope: tuple = None
    linear_rope: float = None
    # YaRN's: (factor, original context, beta_fast, beta_slow)
    yarn_rope: tuple = None
    # LongRoPE's: (factor, original context); its lists are long_rope_factors
    long_rope: tuple = None
    window: int = 0
    # Mixture of Experts, where `experts` is not 0. An expert has `expert_ff` rows, or `ff` where that is 0 (and the
    # file then has no key of its own for it); `shared_ff` > 0 adds an expert that every token goes through.
    experts: int = 0
    experts_used: int = 0
    expert_ff: int = 0
    shared_ff: int = 0
    # The shared expert's gate is a vector in files of older converters, a matrix of one row in those of newer ones.
    shared_gate_is_matrix: bool = False
    # How many elements of a head its positions turn; 0: all.
    rotary: int = 0
    # What the family has of its own: one of tiny_families' classes.
    details: object = None
    seed: int = 1

    @property
    def qkv_bias(self):
        return self.arch in ("qwen2", "qwen2moe")

    @property
    def qk_norm(self):
        """One norm for every head of the queries and keys."""
        return self.arch in ("qwen3", "qwen3moe", "gemma3")

    @property
    def whole_qk_norm(self):
        """One norm over all heads together."""
        return self.arch == "olmoe"

    @property
    def fused(self):
        """One matrix for queries, keys and values, one for the feed-forward network's gate and up."""
        return self.arch == "phi3"

    @property
    def post_norms(self):
        return self.arch in ("gemma2", "gemma3")

    @property
    def explicit_head_dim(self):
        if self.arch == "deepseek2":  # its details say it
            return False
        return (self.arch in ("qwen3", "qwen3moe", "gemma2", "gemma3", "gpt-oss")
                or self.heads * self.head_dim != self.hidden)


_ALL_TYPES = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS",
              "MXFP4", "F16", "BF16")

MODELS = {
    # Llama 2: as many KV heads as query heads, SentencePiece-style tokenizer, a head of its own.
    "llama2": TinyModel("llama", "llama_spm", heads=2, kv_heads=2),
    "llama3": TinyModel("llama", "llama3_bpe", heads=6, kv_heads=2, hidden=192, rope_base=500000.0, tied=True,
                        llama3_rope=(8.0, 1.0, 4.0, 64), seed=2),
    "llama-linear": TinyModel("llama", "llama_spm", heads=2, kv_heads=1, linear_rope=4.0, seed=3),
    "qwen2": TinyModel("qwen2", "qwen_bpe", heads=2, kv_heads=1, eps=1e-6, rope_base=1000000.0, tied=True, seed=4),
    "qwen3": TinyModel("qwen3", "qwen_bpe", heads=4, kv_heads=2, eps=1e-6, rope_base=1000000.0, tied=True, seed=5),
    # Layers 6 of 8 is global, the rest see a window shorter than the reference's 96 tokens.
    "gemma3": TinyModel("gemma3", "gemma_spm", layers=8, heads=4, kv_heads=1, eps=1e-6, rope_base=1000000.0,
                        tied=True, window=24, seed=6),
    # Larger Gemma 3 models scale the positions of their global layers only.
    "gemma3-linear": TinyModel("gemma3", "gemma_spm", layers=7, heads=4, kv_heads=2, eps=1e-6, rope_base=1000000.0,
                               tied=True, window=40, linear_rope=8.0, seed=7),
    "llama3-q8_0": TinyModel("llama", "llama3_bpe", heads=6, kv_heads=2, hidden=192, rope_base=500000.0, tied=True,
                             llama3_rope=(8.0, 1.0, 4.0, 64), types=("Q8_0",), embedding_type="Q8_0", seed=8),
    "qwen3-q4_0": TinyModel("qwen3", "qwen_bpe", heads=4, kv_heads=2, hidden=128, eps=1e-6, rope_base=1000000.0,
                            tied=True, types=("Q4_0",), embedding_type="Q8_0", seed=9),
    # The mixture of a Q4_K_M file with 256-wide superblocks.
    "gemma3-q4_k": TinyModel("gemma3", "gemma_spm", layers=6, heads=4, kv_heads=1, head_dim=64, hidden=256, ff=512,
                             eps=1e-6, rope_base=1000000.0, tied=True, window=24,
                             types=("Q5_0", "Q4_K", "Q8_0", "Q6_K"), embedding_type="Q6_K", seed=10),
    # As Qwen's own long-context files have it, and with other betas on the other order of pairs.
    "qwen3-yarn": TinyModel("qwen3", "qwen_bpe", heads=4, kv_heads=2, eps=1e-6, rope_base=1000000.0, tied=True,
                            yarn_rope=(4.0, 256, None, None), seed=12),
    "llama-yarn": TinyModel("llama", "llama_spm", heads=2, kv_heads=1, yarn_rope=(16.0, 128, 16.0, 2.0), seed=13),
    # Phi-3's scaling; both lists, for a context that is longer than the original one and one that is not.
    "llama-longrope": TinyModel("llama", "llama_spm", heads=2, kv_heads=1, long_rope=(8.0, 256), seed=14),
    "llama-longrope-short": TinyModel("llama", "llama_spm", heads=2, kv_heads=1, long_rope=(8.0, 2048), seed=15),
    # Every type that Folio reads, as a matrix of one model.
    "llama-all-types": TinyModel("llama", "llama_spm", layers=3, heads=4, kv_heads=4, head_dim=64, hidden=256, ff=512,
                                 types=_ALL_TYPES, embedding_type="Q4_K", seed=11),
}

# Models with experts.
MOE_MODELS = {
    # Mixtral: experts of the dense model's width, weights that sum to one.
    "mixtral": TinyModel("llama", "llama_spm", heads=4, kv_heads=2, eps=1e-3, rope_base=1000000.0, experts=8,
                         experts_used=2, seed=3121),
    # Far more rows in a dense feed-forward network, which no layer has, than in an expert.
    "qwen3moe": TinyModel("qwen3moe", "qwen_bpe", heads=4, kv_heads=2, eps=1e-3, rope_base=1000000.0, ff=224,
                          experts=12, experts_used=3, expert_ff=96, seed=4022),
    # Weights that sum to less than one, and a shared expert of another width.
    "qwen2moe": TinyModel("qwen2moe", "qwen_bpe", heads=2, kv_heads=1, eps=1e-3, rope_base=1000000.0, ff=224, experts=6,
                          experts_used=2, expert_ff=64, shared_ff=160, seed=3323),
    # Weights that sum to less than one, and one norm over all heads.
    "olmoe": TinyModel("olmoe", "qwen_bpe", heads=4, kv_heads=4, hidden=128, eps=1e-3, ff=64, experts=16,
                       experts_used=4, seed=8024),
    "mixtral-q4_k": TinyModel("llama", "llama_spm", heads=4, kv_heads=2, head_dim=64, hidden=256, ff=256, eps=1e-3,
                              rope_base=1000000.0, experts=8, experts_used=2, types=("Q4_K", "Q6_K", "Q8_0", "Q5_K"),
                              embedding_type="Q6_K", seed=325),
    "qwen3moe-q8_0": TinyModel("qwen3moe", "qwen_bpe", heads=4, kv_heads=2, eps=1e-3, rope_base=1000000.0, ff=224,
                               experts=12, experts_used=3, expert_ff=96, types=("Q8_0",), embedding_type="Q8_0",
                               seed=1726),
    "qwen2moe-q4_0": TinyModel("qwen2moe", "qwen_bpe", heads=2, kv_heads=1, eps=1e-3, rope_base=1000000.0, ff=224,
                               experts=6, experts_used=2, expert_ff=64, shared_ff=160, shared_gate_is_matrix=True,
                               types=("Q4_0",), embedding_type="Q8_0", seed=5027),
    "olmoe-mixed": TinyModel("olmoe", "qwen_bpe", heads=4, kv_heads=4, hidden=128, eps=1e-3, ff=64, experts=16,
                             experts_used=4, types=("Q4_1", "Q5_0", "IQ4_NL", "MXFP4", "Q5_1", "BF16"),
                             embedding_type="Q8_0", seed=3828),
}
MODELS.update(MOE_MODELS)

_GRANITE = tiny_families.Scales(embedding=3.0, attention=0.09, residual=0.4, logit=2.0)
_GRANITE_MOE = tiny_families.Scales(embedding=2.5, attention=0.11, residual=0.6, logit=3.0)
_CAPS = tiny_families.SoftCaps(attention=4.0, final=3.0)
_DEEPSEEK_V2 = tiny_families.Latent(plain=32, rotary=16, value=24, rank=64, absorbed=False, shared_experts=2,
                                    weights_scale=1.5, yarn_log_multiplier=0.0707)
_DEEPSEEK_V3 = tiny_families.Latent(plain=32, rotary=16, value=64, rank=64, query_rank=96, weights_scale=2.5,
                                    gating=tiny_families.SIGMOID_GATING, groups=(4, 2), yarn_log_multiplier=0.1)

# Models whose families have something of their own.
FAMILY_MODELS = {
    # Every multiplier changes the result; the attention's is not 1 / sqrt(head_dim).
    "granite": TinyModel("granite", "qwen_bpe", heads=2, kv_heads=1, tied=True, details=_GRANITE, seed=31),
    "granite-q4_k": TinyModel("granite", "qwen_bpe", heads=4, kv_heads=2, head_dim=64, hidden=256, ff=512, tied=True,
                              details=_GRANITE, types=("Q4_K", "Q6_K", "Q8_0", "Q5_K"), embedding_type="Q6_K", seed=32),
    "granitemoe": TinyModel("granitemoe", "qwen_bpe", heads=2, kv_heads=1, tied=True, experts=8, experts_used=3,
                            details=_GRANITE_MOE, seed=433),
    "granitemoe-q8_0": TinyModel("granitemoe", "qwen_bpe", heads=2, kv_heads=1, tied=True, experts=8, experts_used=3,
                                 details=_GRANITE_MOE, types=("Q8_0",), embedding_type="Q8_0", seed=1334),
    # A window in every layer, as Phi-3-mini-4k has.
    "phi3": TinyModel("phi3", "llama_spm", heads=4, kv_heads=4, hidden=128, window=40, seed=35),
    # Phi-4-mini's: no window, LongRoPE, and a quarter of each head without positions.
    "phi3-longrope": TinyModel("phi3", "qwen_bpe", heads=4, kv_heads=2, hidden=128, tied=True, rotary=24,
                               long_rope=(8.0, 256), seed=36),
    "phi3-longrope-q4_0": TinyModel("phi3", "qwen_bpe", heads=4, kv_heads=2, hidden=128, tied=True, rotary=24,
                                    long_rope=(8.0, 256), types=("Q4_0",), embedding_type="Q8_0", seed=37),
    "gemma2": TinyModel("gemma2", "gemma_spm", layers=4, heads=4, kv_heads=2, eps=1e-6, tied=True, window=24,
                        details=_CAPS, seed=38),
    # As many layers as the 27B has, whose queries alone are scaled by hidden / heads.
    "gemma2-27b-q8_0": TinyModel("gemma2", "gemma_spm", layers=46, heads=4, kv_heads=2, ff=64, eps=1e-6, tied=True,
                                 window=40, details=_CAPS, types=("Q8_0",), embedding_type="Q8_0", seed=39),
    "gpt2": TinyModel("gpt2", "qwen_bpe", heads=2, kv_heads=2, ff=256, context=1024, tied=True, seed=40),
    "gpt2-q5_0": TinyModel("gpt2", "qwen_bpe", heads=2, kv_heads=2, ff=256, context=1024, tied=True, types=("Q5_0",),
                           embedding_type="Q8_0", seed=41),
    # The YaRN ramp's ends lie between two pairs, and stay there.
    "gpt-oss": TinyModel("gpt-oss", "qwen_bpe", layers=4, heads=4, kv_heads=2, window=24, context=2816,
                         rope_base=150000.0, yarn_rope=(8.0, 352, None, None), experts=8, experts_used=2, expert_ff=96,
                         seed=142),
    "gpt-oss-mxfp4": TinyModel("gpt-oss", "qwen_bpe", layers=4, heads=4, kv_heads=2, window=24, context=2816,
                               rope_base=150000.0, yarn_rope=(8.0, 352, 32.0, 1.0), experts=8, experts_used=2,
                               expert_ff=96, types=("Q8_0",) * 4 + ("MXFP4",) * 3, embedding_type="Q8_0", seed=343),
    # V2-Lite as older files have it: keys and values in one matrix, queries from one, softmax.
    "deepseek2-v2": TinyModel("deepseek2", "qwen_bpe", heads=2, kv_heads=2, eps=1e-6, context=1024, experts=8,
                              experts_used=2, expert_ff=48, rotary=16, yarn_rope=(8.0, 128, None, None),
                              details=_DEEPSEEK_V2, seed=344),
    # V3 as newer files have it: latent queries, matrices for the absorbed form, sigmoid gates with biases, groups.
    "deepseek2-v3": TinyModel("deepseek2", "qwen_bpe", heads=2, kv_heads=1, eps=1e-6, context=1024, experts=12,
                              experts_used=3, expert_ff=64, rotary=16, yarn_rope=(8.0, 128, 32.0, 1.0),
                              details=_DEEPSEEK_V3, seed=2645),
    "deepseek2-v3-q8_0": TinyModel("deepseek2", "qwen_bpe", heads=2, kv_heads=1, eps=1e-6, context=1024, experts=12,
                                   experts_used=3, expert_ff=64, rotary=16, yarn_rope=(8.0, 128, 32.0, 1.0),
                                   details=_DEEPSEEK_V3, types=("Q8_0",), embedding_type="Q8_0", seed=646),
}
MODELS.update(FAMILY_MODELS)


def llama3_rope_factors(model):
    """The divisors of RoPE's frequencies that Llama 3.1 defines, one a pair, as `rope_freqs.weight` holds them."""
    factor, low, high, original = model.llama3_rope
    frequencies = model.rope_base ** (-np.arange(0, model.head_dim, 2) / model.head_dim)
    wavelengths = 2 * np.pi / frequencies
    smooth = (original / wavelengths - low) / (high - low)
    between = 1 / ((1 - smooth) / factor + smooth)
    divisors = np.where(wavelengths < original / high, 1.0, np.where(wavelengths > original / low, factor, between))
    return divisors.astype("<f4")


def expert_metadata(model):
    """The metadata pairs that only models with experts have."""
    lengths = {"expert_count": model.experts, "expert_used_count": model.experts_used,
               "expert_feed_forward_length": model.expert_ff, "expert_shared_feed_forward_length": model.shared_ff}
    return [gguf_writer.metadata(f"{model.arch}.{key}", "u32", value) for key, value in lengths.items() if value]


def long_rope_factors(model):
    """(short, long) divisors of RoPE's frequencies, one a pair: any that grow with the wavelength."""
    pairs = np.arange((model.rotary or model.head_dim) // 2)
    return (1 + pairs / 32).astype("<f4"), (1 + (model.long_rope[0] - 1) * (pairs / pairs[-1]) ** 2).astype("<f4")


def long_rope_attention_factor(model):
    factor, original = model.long_rope
    return math.sqrt(1 + math.log(factor) / math.log(original))


def _rope_scaling(model):
    arch, pair = model.arch, gguf_writer.metadata
    if model.linear_rope:
        return [pair(f"{arch}.rope.scaling.type", "str", "linear"),
                pair(f"{arch}.rope.scaling.factor", "f32", model.linear_rope)]
    if model.long_rope:
        pairs = [pair(f"{arch}.rope.scaling.original_context_length", "u32", model.long_rope[1]),
                 pair(f"{arch}.rope.scaling.attn_factor", "f32", long_rope_attention_factor(model))]
        # Phi-3's files have no type: their tensors say it.
        return pairs if arch == "phi3" else [pair(f"{arch}.rope.scaling.type", "str", "longrope")] + pairs
    if arch == "phi3":
        return [pair(f"{arch}.rope.scaling.original_context_length", "u32", model.context)]
    if not model.yarn_rope:
        return []
    factor, original, fast, slow = model.yarn_rope
    pairs = [pair(f"{arch}.rope.scaling.type", "str", "yarn"),
             pair(f"{arch}.rope.scaling.factor", "f32", factor),
             pair(f"{arch}.rope.scaling.original_context_length", "u32", original)]
    if fast:
        pairs += [pair(f"{arch}.rope.scaling.yarn_beta_fast", "f32", fast),
                  pair(f"{arch}.rope.scaling.yarn_beta_slow", "f32", slow)]
    return pairs


def metadata(model, name):
    """The metadata pairs of the model."""
    arch, pair = model.arch, gguf_writer.metadata
    pairs = [
        pair("general.architecture", "str", arch),
        pair("general.type", "str", "model"),
        pair("general.name", "str", f"tiny {name}"),
        pair("general.quantization_version", "u32", 2),
        pair(f"{arch}.block_count", "u32", model.layers),
        pair(f"{arch}.context_length", "u32", model.context),
        pair(f"{arch}.embedding_length", "u32", model.hidden),
        pair(f"{arch}.feed_forward_length", "u32", model.ff),
        pair(f"{arch}.attention.head_count", "u32", model.heads),
    ]
    if arch == "gpt2":
        pairs.append(pair("gpt2.attention.layer_norm_epsilon", "f32", model.eps))
    else:
        pairs += [pair(f"{arch}.attention.head_count_kv", "u32", model.kv_heads),
                  pair(f"{arch}.attention.layer_norm_rms_epsilon", "f32", model.eps)]
    if arch not in ("gpt2", "gemma2"):  # Gemma 2's files leave it at 10,000
        pairs.append(pair(f"{arch}.rope.freq_base", "f32", model.rope_base))
    if arch in ("llama", "granite", "granitemoe", "deepseek2"):
        pairs.append(pair(f"{arch}.vocab_size", "u32", model.vocab))
    if arch in ("llama", "granite", "granitemoe", "deepseek2", "phi3"):
        pairs.append(pair(f"{arch}.rope.dimension_count", "u32", model.rotary or model.head_dim))
    if model.explicit_head_dim:
        pairs += [pair(f"{arch}.attention.key_length", "u32", model.head_dim),
                  pair(f"{arch}.attention.value_length", "u32", model.head_dim)]
    if model.window or arch == "phi3":  # which says with a zero that it has none
        pairs.append(pair(f"{arch}.attention.sliding_window", "u32", model.window))
    if model.experts:
        pairs += expert_metadata(model)
    if model.details:
        pairs += model.details.metadata(arch)
    return pairs + _rope_scaling(model) + tiny_tokenizers.metadata(model.tokenizer, model.vocab)


class TensorMaker:
    """Collects a model's tensors; `encoded` gives a matrix's bytes."""

    def __init__(self, model):
        self._model = model
        self._matrices = 0
        self.tensors = []

    def _add(self, name, dims, type_name, data):
        self.tensors.append(gguf_writer.Tensor(name, dims, random_weights.TYPES[type_name][0], data))

    def encoded(self, name, type_name, count, std):
        return random_weights.random_blocks(self._model.seed, name, type_name, count, std)

    def embedding(self, name, std):
        model = self._model
        data = self.encoded(name, model.embedding_type, model.vocab * model.hidden, std)
        self._add(name, (model.hidden, model.vocab), model.embedding_type, data)

    def _next_type(self):
        type_name = self._model.types[self._matrices % len(self._model.types)]
        self._matrices += 1
        return type_name

    def matrix(self, name, inputs, outputs, gain=1.0):
        type_name = self._next_type()
        data = self.encoded(name, type_name, inputs * outputs, gain * inputs**-0.5)
        self._add(name, (inputs, outputs), type_name, data)

    def stacked(self, name, inputs, outputs, count, gain=1.0):
        """`count` matrices, one after the other."""
        type_name = self._next_type()
        data = self.encoded(name, type_name, inputs * outputs * count, gain * inputs**-0.5)
        self._add(name, (inputs, outputs, count), type_name, data)

    def expert_matrices(self, name, inputs, outputs, gain=1.0):
        """One matrix for each expert."""
        self.stacked(name, inputs, outputs, self._model.experts, gain)

    def gate(self, name, dims, gain):
        """What experts are weighed by: F32 in every file, quantised or not."""
        data = self.encoded(name, "F32", math.prod(dims), gain * dims[0]**-0.5)
        self._add(name, dims, "F32", data)

    def table(self, name, dims, low, high):
        """Values evenly spread between two."""
        values = random_weights.random_uniform(self._model.seed, name, math.prod(dims), low, high)
        self._add(name, dims, "F32", values.astype("<f4").tobytes())

    def norm(self, name, size):
        self.table(name, (size,), 0.8, 1.2)

    def given(self, name, values):
        self._add(name, (values.size,), "F32", values.tobytes())


def dense_feed_forward(model, make, block):
    if model.fused:
        make.matrix(block + "ffn_up.weight", model.hidden, 2 * model.ff)
    else:
        make.matrix(block + "ffn_gate.weight", model.hidden, model.ff)
        make.matrix(block + "ffn_up.weight", model.hidden, model.ff)
    make.matrix(block + "ffn_down.weight", model.ff, model.hidden)


def expert_feed_forward(model, make, block):
    width = model.expert_ff or model.ff
    make.gate(block + "ffn_gate_inp.weight", (model.hidden, model.experts), tiny_families.ROUTER_GAIN)
    make.expert_matrices(block + "ffn_gate_exps.weight", model.hidden, width)
    make.expert_matrices(block + "ffn_up_exps.weight", model.hidden, width)
    make.expert_matrices(block + "ffn_down_exps.weight", width, model.hidden)
    if model.shared_ff:
        gate_dims = (model.hidden, 1) if model.shared_gate_is_matrix else (model.hidden,)
        make.gate(block + "ffn_gate_inp_shexp.weight", gate_dims, gain=1.0)
        make.matrix(block + "ffn_gate_shexp.weight", model.hidden, model.shared_ff)
        make.matrix(block + "ffn_up_shexp.weight", model.hidden, model.shared_ff)
        make.matrix(block + "ffn_down_shexp.weight", model.shared_ff, model.hidden)


def head_projections(model, make, block):
    query, kv = model.heads * model.head_dim, model.kv_heads * model.head_dim
    if model.fused:
        make.matrix(block + "attn_qkv.weight", model.hidden, query + 2 * kv, gain=1.5)
    else:
        make.matrix(block + "attn_q.weight", model.hidden, query, gain=1.5)
        make.matrix(block + "attn_k.weight", model.hidden, kv, gain=1.5)
        make.matrix(block + "attn_v.weight", model.hidden, kv)
    if model.qkv_bias:
        make.table(block + "attn_q.bias", (query,), -0.5, 0.5)
        make.table(block + "attn_k.bias", (kv,), -0.5, 0.5)
        make.table(block + "attn_v.bias", (kv,), -0.5, 0.5)


def head_norms(model, make, block):
    if model.qk_norm:
        make.norm(block + "attn_q_norm.weight", model.head_dim)
        make.norm(block + "attn_k_norm.weight", model.head_dim)
    if model.whole_qk_norm:
        make.norm(block + "attn_q_norm.weight", model.heads * model.head_dim)
        make.norm(block + "attn_k_norm.weight", model.kv_heads * model.head_dim)


def llama_layer(model, make, layer):
    """The layer of most architectures."""
    block = f"blk.{layer}."
    make.norm(block + "attn_norm.weight", model.hidden)
    head_projections(model, make, block)
    make.matrix(block + "attn_output.weight", model.heads * model.head_dim, model.hidden)
    head_norms(model, make, block)
    if model.post_norms:
        make.norm(block + "post_attention_norm.weight", model.hidden)
    make.norm(block + "ffn_norm.weight", model.hidden)
    feed_forward = expert_feed_forward if model.experts else dense_feed_forward
    feed_forward(model, make, block)
    if model.post_norms:
        make.norm(block + "post_ffw_norm.weight", model.hidden)


def tensors(model, make):
    """All tensors of the model, in the order of converted files, made by `make`."""
    # Tied embeddings are also the head, whose logits should spread over a few units.
    make.embedding("token_embd.weight", 2.0 * model.hidden**-0.5)
    make.norm("output_norm.weight", model.hidden)
    if not model.tied:
        make.embedding("output.weight", 2.0 * model.hidden**-0.5)
    if model.llama3_rope:
        make.given("rope_freqs.weight", llama3_rope_factors(model))
    if model.long_rope:
        short, long = long_rope_factors(model)
        make.given("rope_factors_long.weight", long)
        make.given("rope_factors_short.weight", short)
    if model.arch == "gpt2":
        tiny_families.gpt2_outer(model, make)
    for layer in range(model.layers):
        tiny_families.LAYERS.get(model.arch, llama_layer)(model, make, layer)
    return make.tensors


def file_name(name):
    return f"tiny-{name}.gguf"


def write_model(name, path):
    """Writes the model `name` to `path`, never leaving a half-written file there."""
    model = MODELS[name]
    partial = f"{path}.{os.getpid()}.partial"
    gguf_writer.write(partial, metadata(model, name), tensors(model, TensorMaker(model)))
    os.replace(partial, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", default=DEFAULT_DIR)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        print("\n".join(MODELS))
        return
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        sys.exit(f"make_tiny_models.py: no model {unknown[0]!r}; --list names them")
    os.makedirs(options.out, exist_ok=True)
    for name in options.names or MODELS:
        path = os.path.join(options.out, file_name(name))
        write_model(name, path)
        print(path)


if __name__ == "__main__":
    main()
