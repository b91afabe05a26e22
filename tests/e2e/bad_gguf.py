"""Broken model files: each is the tiny model of raw_gguf.py with one thing wrong.

A case says what the error must name: `field` and `value` are both in the line. `CASES` maps its name to it.
usage: bad_gguf.py --write FOLDER    the files, to try by hand
       bad_gguf.py --corpus FOLDER   the fuzzer's seeds (tests/fuzz/corpus/gguf)
"""

import argparse
import dataclasses
import pathlib
import struct
from typing import Callable

from raw_gguf import (
    ARRAY, BOOL, F32, F64, I32, STRING, U8, U16, U32, U64,
    HIDDEN, MERGES, SPECIAL, Pair, RawGguf, Tensor, array, byte_tokens, string, tiny_file, tiny_model,
)  # fmt: skip

HUGE = 2**64 - 1


@dataclasses.dataclass
class Case:
    build: Callable[[], bytes]
    field: str
    value: str = ""
    # The command that must refuse it: "show" (what the reader checks), "run" or "chat" (a template).
    command: str = "run"


CASES: dict[str, Case] = {}


def add(name, change, field, value="", command="run"):
    """A case made by `change(file)` before the file is written."""
    assert name not in CASES, name

    def build():
        file = tiny_model()
        change(file)
        return file.build()

    CASES[name] = Case(build, field, value, command)


def add_bytes(name, change, field, value=""):
    """A case made by `change(data, marks)`, which gives the new bytes."""
    assert name not in CASES, name

    def build():
        file = tiny_model()
        data = file.build()
        return change(data, file.marks)

    CASES[name] = Case(build, field, value, "show")


# Truncations: in each section and field.
def add_cut(name, mark, bytes_after, field, value=""):
    add_bytes(f"cut-{name}", lambda data, marks: data[: marks[mark] + bytes_after], field, value)


add_bytes("cut-empty", lambda data, marks: b"", "header", "0 bytes")
add_bytes("cut-magic", lambda data, marks: data[:2], "header", "2 bytes")
add_bytes("cut-version", lambda data, marks: data[:6], "header", "6 bytes")
add_bytes("cut-tensor-count", lambda data, marks: data[:12], "header", "12 bytes")
add_bytes("cut-pair-count", lambda data, marks: data[:20], "header", "20 bytes")
add_bytes("cut-after-header", lambda data, marks: data[:24], "metadata count", "0 bytes")
add_cut("key-length", "key general.name", 4, "metadata", "bytes")
add_cut("key", "key tokenizer.ggml.bos_token_id", 12, "metadata[17].key", "27 bytes")
add_cut("value-type", "value tokenizer.ggml.bos_token_id", 2, "tokenizer.ggml.bos_token_id", "type")
add_cut("value", "value tokenizer.ggml.bos_token_id", 6, "tokenizer.ggml.bos_token_id", "2 bytes")
add_cut("string", "value tokenizer.chat_template", 40, "tokenizer.chat_template", "bytes")
add_cut("array-type", "value tokenizer.ggml.tokens", 6, "tokenizer.ggml.tokens", "type")
add_cut("array-length", "value tokenizer.ggml.tokens", 10, "tokenizer.ggml.tokens", "length")
add_cut("array", "value tokenizer.ggml.token_type", 100, "tokenizer.ggml.token_type", "264")
add_cut("string-array", "value tokenizer.ggml.merges", 30, "tokenizer.ggml.merges", "4 elements")
add_cut("tensor-table", "tensor table", 0, "tensor count", "11")
add_cut("tensor-dims", "tensor blk.0.ffn_down.weight", 40, "blk.0.ffn_down.weight", "dimensions")
add_cut("tensor-offset", "padding", -4, "blk.0.ffn_down.weight", "offset")
add_cut("before-data", "data", 0, "token_embd.weight", "past the end")
add_cut("data", "data", 1000, "token_embd.weight", "past the end")
add_bytes("cut-last-byte", lambda data, marks: data[:-1], "blk.0.ffn_down.weight", "past the end")

# The header.
add("magic", lambda f: setattr(f, "magic", b"GGML"), "magic", "GGML", "show")
add("magic-zip", lambda f: setattr(f, "magic", b"PK\3\4"), "magic", "ZIP", "show")
add("version-0", lambda f: setattr(f, "version", 0), "version", "0", "show")
add("version-1", lambda f: setattr(f, "version", 1), "version", "1", "show")
add("version-99", lambda f: setattr(f, "version", 99), "version", "99", "show")
add("big-endian", lambda f: setattr(f, "version", 3 << 24), "version", "big-endian", "show")
for count in (2**32, 2**61, HUGE):
    add(f"tensors-{count}", lambda f, n=count: setattr(f, "tensor_count", n), "tensor count", str(count), "show")
    add(f"pairs-{count}", lambda f, n=count: setattr(f, "pair_count", n), "metadata count", str(count), "show")
add("one-tensor-too-many", lambda f: setattr(f, "tensor_count", len(f.tensors) + 1), "tensors[11]", "", "show")
add("one-pair-too-few", lambda f: setattr(f, "pair_count", len(f.pairs) - 1), "tokenizer.chat_template", "dimensions", "show")

# Keys and values.
def key_length(data, marks):
    at = marks["key llama.block_count"]
    return data[:at] + struct.pack("<Q", HUGE) + data[at + 8 :]


add_bytes("key-length-huge", key_length, "metadata[3].key", str(HUGE))
add("key-empty", lambda f: f.set("", U32, 1), "key", '""', "show")
add("key-not-ascii", lambda f: f.set(b"\xff\xfe", U32, 1), "key", "ASCII", "show")
add("key-control", lambda f: f.set("a\n\x1b[31m", U32, 1), "key", "ASCII", "show")
add("key-long", lambda f: f.set("k" * 5000, U32, 1), "key", "5000", "show")
add("key-twice", lambda f: f.pairs.append(Pair("general.name", U32, struct.pack("<I", 1))),
    "general.name", "twice", "show")  # fmt: skip
add("value-type-13", lambda f: f.set_bytes("x", 13, bytes(8)), "x", "13", "show")
add("value-type-huge", lambda f: f.set_bytes("x", 0xFFFFFFFF, bytes(8)), "x", "4294967295", "show")
add("bool-2", lambda f: f.set("x", BOOL, 2), "x", "2", "show")
add("string-huge", lambda f: f.set_bytes("x", STRING, struct.pack("<Q", HUGE)), "x", str(HUGE), "show")
add("string-not-utf8", lambda f: f.set("general.name", STRING, b"a\xc3"), "general.name", "UTF-8", "show")
add("array-of-arrays", lambda f: f.set_bytes("x", ARRAY, array(ARRAY, [], 1) + bytes(12)),
    "x", "arrays", "show")  # fmt: skip
add("array-type-13", lambda f: f.set_bytes("x", ARRAY, struct.pack("<IQ", 13, 1)), "x", "13", "show")
for kind, name in ((U8, "bytes"), (U64, "integers"), (STRING, "strings"), (BOOL, "bools")):
    for count in (10**7, 2**61, HUGE):
        add(f"array-{name}-{count}", lambda f, k=kind, n=count: f.set_bytes("x", ARRAY, array(k, [], n)),
            "x", str(count), "show")  # fmt: skip
add("array-string-huge", lambda f: f.set_bytes("x", ARRAY, array(STRING, [], 2) + string("a") + b"\xff" * 8),
    "x", str(HUGE), "show")  # fmt: skip
add("array-string-not-utf8", lambda f: f.set("x", (ARRAY, STRING), ["a", b"\x80"]), "x", "UTF-8", "show")
for alignment in (0, 1, 12, 33, 0xFFFFFFFF):
    add(f"alignment-{alignment}", lambda f, a=alignment: f.set("general.alignment", U32, a),
        "general.alignment", str(alignment), "show")  # fmt: skip
add("alignment-2^63", lambda f: f.set("general.alignment", U64, 2**63), "token_embd.weight", str(2**63), "show")
add("alignment-string", lambda f: f.set("general.alignment", STRING, "32"), "general.alignment", '"32"', "show")


# Tensors.
def change_tensor(name, changes):
    def change(file):
        tensor = file.tensor(name)
        for field, value in changes.items():
            setattr(tensor, field, value)

    return change


GATE = "blk.0.ffn_gate.weight"


def add_tensor(case, field, value="", **changes):
    """A case whose tensor blk.0.ffn_gate.weight has these fields instead of its own."""
    add(f"tensor-{case}", change_tensor(GATE, changes), field, value, "show")


add_tensor("no-dims", GATE, "0 dimensions", dims=[])
add_tensor("five-dims", GATE, "5 dimensions", dims=[64, 64, 1, 1, 1])
add_tensor("dim-zero", GATE, "is 0", dims=[64, 0])
add_tensor("dim-huge", GATE, str(HUGE), dims=[HUGE, 1])
add_tensor("product-overflow", GATE, str(2**40), dims=[2**40, 2**40])
add_tensor("bytes-overflow", GATE, str(2**62), dims=[2**62])
add_tensor("type-iq2-xxs", GATE, "16 (IQ2_XXS)", kind=16)
add_tensor("type-unknown", GATE, "255", kind=255)
add_tensor("row-not-blocks", GATE, "64", kind=12)
add_tensor("offset-unaligned", GATE, "33", offset=33)
add_tensor("offset-past-end", GATE, str(2**40), offset=2**40)
add_tensor("offset-wraps", GATE, str(2**64 - 32), offset=2**64 - 32)
add_tensor("same-offset", "overlaps", "token_embd.weight", offset=0)
add_tensor("overlap", "overlaps", GATE, dims=[64, 65])
add_tensor("name-twice", "token_embd.weight", "twice", name="token_embd.weight")
add_tensor("name-empty", "tensors[8]", '""', name="")
add_tensor("name-control", "tensors[8]", "ASCII", name="a\x1b]0;b\x07")
add_tensor("name-long", "tensors[8]", "300", name="n" * 300)

# What the architecture needs.
for key in (
    "general.architecture", "llama.block_count", "llama.context_length", "llama.embedding_length",
    "llama.feed_forward_length", "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon",
):  # fmt: skip
    add(f"missing-{key}", lambda f, k=key: f.remove(k), key, "missing")
    add(f"wrong-type-{key}", lambda f, k=key: f.set(k, BOOL, 1), key, "true")


def add_value(key, kind, value, shown=None, field=None, name=None):
    shown = str(value) if shown is None else shown
    add(name or f"{key}={value}", lambda f: f.set(key, kind, value), field or key, shown)


add_value("general.architecture", STRING, "nonesuch")
add_value("llama.block_count", U32, 0)
add_value("llama.block_count", U32, 2, "missing", "blk.1.")
add_value("llama.block_count", U32, 2**32 - 1)
add_value("llama.block_count", I32, -1)
add_value("llama.context_length", U32, 0)
add_value("llama.embedding_length", U64, 2**63)
add_value("llama.embedding_length", U32, 128, "128", "token_embd.weight")
add_value("llama.feed_forward_length", U32, 96, "96", "ffn")
add_value("llama.attention.head_count", U32, 0)
add_value("llama.attention.head_count", U32, 3, "21", "llama.attention.key_length")
add_value("llama.attention.head_count", (ARRAY, I32), [2], "array of 1 integers")
add_value("llama.attention.head_count", U32, 2**31)
add_value("llama.attention.head_count_kv", U32, 0)
add_value("llama.attention.head_count_kv", STRING, "one")
add_value("llama.attention.head_count_kv", U32, 2, "[64, 64]", "blk.0.attn_k.weight")
add_value("llama.attention.key_length", U32, 31, "31", "llama.attention")
add_value("llama.attention.layer_norm_rms_epsilon", F32, float("nan"), "nan")
add_value("llama.attention.layer_norm_rms_epsilon", F32, float("inf"), "inf")
add_value("llama.attention.layer_norm_rms_epsilon", F32, -1.0, "-1")
add_value("llama.rope.freq_base", F32, 0.0, "0")
add_value("llama.rope.freq_base", F64, float("inf"), "inf")
add_value("llama.rope.dimension_count", U32, 33)
add_value("llama.rope.dimension_count", U32, 64)
add_value("llama.rope.scaling.type", STRING, "spiral")
add_value("llama.expert_count", U32, 8, "missing", "llama.expert_used_count")
add_value("split.count", U16, 3)
add_value("split.count", I32, -3)

# Shapes that disagree.
for name in ("token_embd.weight", "output_norm.weight", "blk.0.attn_q.weight", "blk.0.ffn_norm.weight"):
    add(f"missing-{name}", lambda f, n=name: f.remove_tensor(n), name, "missing")


def reshape(name, dims):
    def change(file):
        tensor = file.tensor(name)
        elements = 1
        for dim in dims:
            elements *= dim
        tensor.dims, tensor.data = dims, bytes(4 * elements)

    return change


add("shape-embedding-3d", reshape("token_embd.weight", [64, 132, 2]), "token_embd.weight", "3")
add("shape-query", reshape("blk.0.attn_q.weight", [64, 32]), "blk.0.attn_q.weight", "32")
add("shape-key", reshape("blk.0.attn_k.weight", [64, 64]), "blk.0.attn_k.weight", "64")
add("shape-output", reshape("blk.0.attn_output.weight", [32, 64]), "blk.0.attn_output.weight", "32")
add("shape-norm", reshape("blk.0.attn_norm.weight", [63]), "blk.0.attn_norm.weight", "63")
add("shape-norm-2d", reshape("output_norm.weight", [64, 1]), "output_norm.weight", "1")
add("shape-rope-factors", lambda f: f.tensors.append(Tensor("rope_freqs.weight", [8], 0, bytes(32))),
    "rope_freqs.weight", "[8]")  # fmt: skip
add("rope-factors-zero", lambda f: f.tensors.append(Tensor("rope_freqs.weight", [16], 0, bytes(64))),
    "rope_freqs.weight", "0.0")  # fmt: skip
add("rope-factors-tiny", lambda f: f.tensors.append(
    Tensor("rope_freqs.weight", [16], 0, struct.pack("<16f", *[1e-30] * 16))), "rope_freqs.weight", "0.0")  # fmt: skip
add("shape-down", reshape("blk.0.ffn_down.weight", [64, 32]), "blk.0.ffn_down.weight", "32")


# Experts: the good file's one network becomes four.
def make_experts(file):
    ffn, experts = 64, 4
    for name in ("ffn_gate", "ffn_up", "ffn_down"):
        file.remove_tensor(f"blk.0.{name}.weight")
        file.tensors.append(Tensor(f"blk.0.{name}_exps.weight", [HIDDEN, ffn, experts], 0, bytes(4 * HIDDEN * ffn * experts)))
    file.tensors.append(Tensor("blk.0.ffn_gate_inp.weight", [HIDDEN, experts], 0, bytes(4 * HIDDEN * experts)))
    file.set("llama.expert_count", U32, experts)
    file.set("llama.expert_used_count", U32, 2)


def add_experts(name, change, field, value=""):
    def both(file):
        make_experts(file)
        change(file)

    add(f"experts-{name}", both, field, value)


for key in ("expert_count", "expert_used_count"):
    for count in (0, 2**32 - 1):
        if (key, count) != ("expert_count", 0):  # a llama without experts
            add_experts(f"{key}={count}", lambda f, k=key, n=count: f.set(f"llama.{k}", U32, n), f"llama.{key}", str(count))
    add_experts(f"{key}-string", lambda f, k=key: f.set(f"llama.{k}", STRING, "two"), f"llama.{key}", "two")
add_experts("none", lambda f: f.set("llama.expert_count", U32, 0), "blk.0.ffn_gate.weight", "missing")
add_experts("more-used-than-there-are", lambda f: f.set("llama.expert_used_count", U32, 5), "llama.expert_used_count", "5")
add_experts("count-of-tensors", lambda f: f.set("llama.expert_count", U32, 5), "blk.0.ffn_gate_inp.weight", "[64, 5]")
add_experts("width-zero", lambda f: f.set("llama.expert_feed_forward_length", U32, 0),
            "llama.expert_feed_forward_length", "0")  # fmt: skip
add_experts("width", lambda f: f.set("llama.expert_feed_forward_length", U32, 32), "blk.0.ffn_gate_exps.weight",
            "[64, 32, 4]")  # fmt: skip
for part in ("gate_inp", "gate_exps", "up_exps", "down_exps"):
    add_experts(f"missing-{part}", lambda f, p=part: f.remove_tensor(f"blk.0.ffn_{p}.weight"), f"blk.0.ffn_{part}", "missing")
    add_experts(f"shape-{part}", lambda f, p=part: reshape(f"blk.0.ffn_{p}.weight", [64, 3])(f), f"blk.0.ffn_{part}", "[64, 3]")


def one_expert_of_its_own(file):
    file.remove_tensor("blk.0.ffn_gate_exps.weight")
    file.tensors.append(Tensor("blk.0.ffn_gate.0.weight", [64, 64], 0, bytes(4 * 64 * 64)))


add_experts("one-of-its-own", one_expert_of_its_own, "blk.0.ffn_gate.1.weight", "missing")


# Gemma 3's own values. Its configuration is read before its tensors are.
def add_gemma(key, kind, value, shown=None):
    def change(file):
        for pair in file.pairs:
            if isinstance(pair.key, str):
                pair.key = pair.key.replace("llama.", "gemma3.")
        file.set("general.architecture", STRING, "gemma3")
        file.set("gemma3.attention.sliding_window", U32, 512)
        file.set(f"gemma3.{key}", kind, value)

    add(f"gemma3.{key}={value}", change, f"gemma3.{key}", str(value) if shown is None else shown, "show")


add_gemma("attention.sliding_window", U32, 0)
add_gemma("attention.sliding_window", U32, 2**32 - 1)
add_gemma("rope.freq_base_swa", F32, 0.0)
add_gemma("rope.freq_base_swa", F32, -1.0)


# Granite's and Phi-3's own. A llama's file under another name.
def add_renamed(arch, name, change, field, value=""):
    def renamed(file):
        for pair in file.pairs:
            if isinstance(pair.key, str):
                pair.key = pair.key.replace("llama.", f"{arch}.")
        file.set("general.architecture", STRING, arch)
        change(file)

    add(f"{arch}-{name}", renamed, field, value)


for key in ("embedding_scale", "residual_scale", "logit_scale", "attention.scale"):
    for number in (0.0, -1.0, float("nan"), float("inf")):
        add_renamed("granite", f"{key}={number}", lambda f, k=key, n=number: f.set(f"granite.{k}", F32, n), f"granite.{key}")
add_renamed("phi3", "no-fused-tensor", lambda f: None, "blk.0.attn_qkv.weight", "missing")
add_renamed("phi3", "fused-shape", lambda f: f.tensors.append(
    Tensor("blk.0.attn_qkv.weight", [64, 64], 0, bytes(4 * 64 * 64))), "blk.0.attn_qkv.weight", "[64, 128]")  # fmt: skip
add_renamed("phi3", "window", lambda f: f.set("phi3.attention.sliding_window", U64, 2**40),
            "phi3.attention.sliding_window", str(2**40))  # fmt: skip
add_gemma("rope.freq_base_swa", F32, 1e30, "must be from")
add_gemma("rope.freq_base_swa", STRING, "10000")

# Those of Gemma 2, GPT-2 and gpt-oss.
for key in ("attn_logit_softcapping", "final_logit_softcapping"):
    for number in (0.0, -30.0, float("nan"), float("inf")):
        add_renamed("gemma2", f"{key}={number}", lambda f, k=key, n=number: f.set(f"gemma2.{k}", F32, n), f"gemma2.{key}")
add_renamed("gemma2", "window", lambda f: f.set("gemma2.attention.sliding_window", U32, 0),
            "gemma2.attention.sliding_window", "0")  # fmt: skip
add_renamed("gemma2", "no-post-norm", lambda f: None, "blk.0.post_attention_norm.weight", "missing")
add_renamed("gpt2", "epsilon-of-rms", lambda f: None, "gpt2.attention.layer_norm_epsilon", "missing")


def gpt2(name, change, field, value=""):
    def with_epsilon(file):
        file.set("gpt2.attention.layer_norm_epsilon", F32, 1e-5)
        change(file)

    add_renamed("gpt2", name, with_epsilon, field, value)


def positions(rows, context):
    def change(file):
        file.set("gpt2.context_length", U32, context)
        file.tensors.append(Tensor("position_embd.weight", [HIDDEN, rows], 0, bytes(4 * HIDDEN * rows)))

    return change


gpt2("no-positions", lambda f: None, "position_embd.weight", "missing")
gpt2("positions-too-few", positions(7, 8), "position_embd.weight", f"[{HIDDEN}, 7], must have [{HIDDEN}, 8]")
gpt2("no-norm-bias", positions(8, 8), "output_norm.bias", "missing")
add_renamed("gpt-oss", "no-window", lambda f: None, "gpt-oss.attention.sliding_window", "missing")


def gpt_oss(name, change, field, value=""):
    def with_experts(file):
        file.set("gpt-oss.attention.sliding_window", U32, 16)
        file.set("gpt-oss.expert_count", U32, 4)
        file.set("gpt-oss.expert_used_count", U32, 2)
        change(file)

    add_renamed("gpt-oss", name, with_experts, field, value)


gpt_oss("no-biases", lambda f: None, "blk.0.attn_q.bias", "missing")
gpt_oss("bias-shape", lambda f: f.tensors.append(Tensor("blk.0.attn_q.bias", [3], 0, bytes(12))), "blk.0.attn_q.bias", "[3]")


def biases(file):
    for name, size in (("attn_q", 64), ("attn_k", 32), ("attn_v", 32), ("attn_output", 64)):
        file.tensors.append(Tensor(f"blk.0.{name}.bias", [size], 0, bytes(4 * size)))


gpt_oss("no-sinks", biases, "blk.0.attn_sinks.weight", "missing")

# DeepSeek's MLA and router.
def deepseek(name, change, field, value=""):
    def with_latent(file):
        for key, number in (("attention.kv_lora_rank", 64), ("rope.dimension_count", 16),
                            ("attention.key_length", 32), ("attention.value_length", 32),
                            ("expert_count", 8), ("expert_used_count", 2)):  # fmt: skip
            file.set(f"deepseek2.{key}", U32, number)
        change(file)

    add_renamed("deepseek2", name, with_latent, field, value)


def deepseek_value(key, number, value=None):
    deepseek(f"{key}={number}", lambda f: f.set(f"deepseek2.{key}", U32, number), f"deepseek2.{key}",
             str(number) if value is None else value)  # fmt: skip


deepseek("no-latent-tensor", lambda f: None, "blk.0.attn_kv_a_mqa.weight", "missing")
deepseek("no-rank", lambda f: f.remove("deepseek2.attention.kv_lora_rank"), "deepseek2.attention.kv_lora_rank", "missing")
for rank in (0, 40, 2**20):
    deepseek_value("attention.kv_lora_rank", rank)
deepseek_value("attention.key_length", 16)
deepseek_value("attention.q_lora_rank", 2**30)
deepseek_value("rope.dimension_count", 3)
deepseek_value("expert_gating_func", 3)
deepseek_value("expert_group_count", 3)
deepseek_value("expert_group_count", 2**31)
deepseek_value("leading_dense_block_count", 7)
deepseek("group-used", lambda f: (f.set("deepseek2.expert_group_count", U32, 8),
                                  f.set("deepseek2.expert_group_used_count", U32, 1)),
         "deepseek2.expert_group_used_count", "1, too few")  # fmt: skip
deepseek("weights-norm", lambda f: f.set("deepseek2.expert_weights_norm", U32, 7), "deepseek2.expert_weights_norm")
deepseek("latent-shape", lambda f: f.tensors.append(
    Tensor("blk.0.attn_kv_a_mqa.weight", [HIDDEN, 64], 0, bytes(4 * 64 * HIDDEN))),
    "blk.0.attn_kv_a_mqa.weight", f"[{HIDDEN}, 80]")  # fmt: skip

# What a terminal would obey is shown in hexadecimal.
add("architecture-c1-control", lambda f: f.set("general.architecture", STRING, "\u009b31m"),
    "general.architecture", r"'\xc2\x9b31m'", "show")  # fmt: skip
add("architecture-long", lambda f: f.set("general.architecture", STRING, "\u00e9" * 5000),
    "general.architecture", "\u00e9...", "show")  # fmt: skip

# Vocabularies and merges that disagree.
TOKENS = byte_tokens() + [merge.replace(" ", "") for merge in MERGES] + SPECIAL
add("vocab-rows", reshape("token_embd.weight", [HIDDEN, 200]), "token", "200")
add("vocab-more-tokens", lambda f: f.set("tokenizer.ggml.tokens", (ARRAY, STRING), TOKENS + ["extra"]),
    "token", "265")  # fmt: skip
add("missing-tokenizer", lambda f: f.remove("tokenizer.ggml.model"), "tokenizer.ggml.model", "missing")
add("missing-tokens", lambda f: f.remove("tokenizer.ggml.tokens"), "tokenizer.ggml.tokens", "missing")
add("missing-merges", lambda f: f.remove("tokenizer.ggml.merges"), "tokenizer.ggml.merges", "missing")
add_value("tokenizer.ggml.model", STRING, "nonesuch")
add_value("tokenizer.ggml.model", U32, 7)
add_value("tokenizer.ggml.pre", STRING, "nonesuch")
add("tokens-empty", lambda f: f.set("tokenizer.ggml.tokens", (ARRAY, STRING), []), "tokenizer.ggml.token", "0")
add("tokens-integers", lambda f: f.set("tokenizer.ggml.tokens", (ARRAY, I32), [1, 2]),
    "tokenizer.ggml.tokens", "integers")  # fmt: skip
add("tokens-string", lambda f: f.set("tokenizer.ggml.tokens", STRING, "abc"), "tokenizer.ggml.tokens", "abc")
add("types-too-few", lambda f: f.set("tokenizer.ggml.token_type", (ARRAY, I32), [1, 1]),
    "tokenizer.ggml.token_type", "2")  # fmt: skip
add("types-unknown", lambda f: f.set("tokenizer.ggml.token_type", (ARRAY, I32), [77] * 264),
    "tokenizer.ggml.token_type", "77")  # fmt: skip
add("merges-integers", lambda f: f.set("tokenizer.ggml.merges", (ARRAY, I32), [1]),
    "tokenizer.ggml.merges", "integers")  # fmt: skip
add("merges-without-space", lambda f: f.set("tokenizer.ggml.merges", (ARRAY, STRING), ["he"]),
    "tokenizer.ggml.merges", "he")  # fmt: skip
add("merges-empty-string", lambda f: f.set("tokenizer.ggml.merges", (ARRAY, STRING), ["h e", ""]),
    "tokenizer.ggml.merges", "1")  # fmt: skip
add("merges-of-unknown-tokens", lambda f: f.set("tokenizer.ggml.merges", (ARRAY, STRING), ["h e", "q x"]),
    "tokenizer.ggml.merges", "qx")  # fmt: skip
for key in ("bos_token_id", "eos_token_id"):
    add_value(f"tokenizer.ggml.{key}", U32, 264)
    add_value(f"tokenizer.ggml.{key}", U32, 2**32 - 1)
    add_value(f"tokenizer.ggml.{key}", I32, -5)
    add_value(f"tokenizer.ggml.{key}", STRING, "<s>")
add_value("tokenizer.ggml.add_bos_token", STRING, "yes")


def sentence_piece(scores):
    def change(file):
        file.set("tokenizer.ggml.model", STRING, "llama")
        if scores is not None:
            file.set("tokenizer.ggml.scores", (ARRAY, F32), scores)

    return change


add("scores-missing", sentence_piece(None), "tokenizer.ggml.scores", "missing")
add("scores-too-few", sentence_piece([0.0]), "tokenizer.ggml.scores", "1")
add("scores-nan", sentence_piece([0.0] * 9 + [float("nan")] * 255), "tokenizer.ggml.scores[9]", "finite")


# Templates that don't parse, or don't end.
def add_template(name, source, kind=STRING, value=""):
    add(f"template-{name}", lambda f: f.set("tokenizer.chat_template", kind, source),
        "tokenizer.chat_template", value, "chat")  # fmt: skip


add_template("integer", 3, U32, "3")
add_template("unclosed-expression", "{{ messages", value="line 1")
add_template("unclosed-for", "{% for m in messages %}\n{{ m.content }}", value="line 2")
add_template("unknown-tag", "{% frobnicate %}", value="frobnicate")
add_template("end-without-begin", "{% endfor %}", value="endfor")
add_template("bad-expression", "\n\n{{ 1 + }}", value="line 3")
add_template("nested-deep", "{{ " + "(" * 20000 + "1" + ")" * 20000 + " }}")
add_template("huge", "x" * (4 << 20), value="4194304")
add_template("loops", "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}")
add_template("recurses", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}")
add_template("floods", "{% for a in range(99999) %}{{ 'x' * 9999999 }}{% endfor %}")
add_template("doubles", "{% set ns = namespace(x=[0]) %}{% for a in range(60) %}{% set ns.x = ns.x + ns.x %}"
             "{% endfor %}{{ ns.x | length }}")  # fmt: skip


def write_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "good.gguf").write_bytes(tiny_model().build())
    for name, case in CASES.items():
        (folder / f"{name.replace('/', '_')}.gguf").write_bytes(case.build())


def write_corpus(folder):
    """Small good files of several shapes: the fuzzer finds the broken ones itself."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds = {"all-types": tiny_file(), "version-2": tiny_file(), "empty": RawGguf()}
    seeds["version-2"].version = 2
    one = RawGguf(tensors=[Tensor("t", [1], 0, bytes(4))])
    seeds["one-tensor"] = one
    split = tiny_file()
    split.set("split.no", U16, 0)
    split.set("split.count", U16, 2)
    split.set("split.tensors.count", I32, 3)
    seeds["split"] = split
    wide = RawGguf(tensors=[Tensor("t", [256], kind, bytes(size)) for kind, size in [(14, 210)]])
    wide.set("general.alignment", U32, 8)
    seeds["alignment-8"] = wide
    blocks = {1: 2, 2: 18, 3: 20, 6: 22, 7: 24, 8: 34, 20: 18, 39: 17, 30: 2}
    seeds["small-blocks"] = RawGguf(
        tensors=[
            Tensor(f"t{kind}", [32], kind, bytes(size * (32 if kind in (1, 30) else 1)))
            for kind, size in blocks.items()
        ]
    )
    seeds["large-blocks"] = RawGguf(
        tensors=[
            Tensor(f"t{kind}", [256], kind, bytes(size))
            for kind, size in {10: 84, 11: 110, 12: 144, 13: 176, 14: 210, 23: 136}.items()
        ]
    )
    for name, file in seeds.items():
        (folder / name).write_bytes(file.build())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--corpus", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.write:
        write_all(arguments.write)
    if arguments.corpus:
        write_corpus(arguments.corpus)
