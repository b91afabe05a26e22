"""A small model as a GGUF file, and a writer that will write anything it is told to, right or wrong.

Broken files are made from a good `RawGguf` by changing a field (of a key, a tensor, the header) before
`build()`, or by changing the bytes that it gives.
"""

import dataclasses
import struct

import numpy as np

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_FORMATS = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", U64: "Q", I64: "q"}
_FORMATS |= {F64: "d", BOOL: "B"}
ALIGNMENT = 32


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    return string(value) if kind == STRING else struct.pack("<" + _FORMATS[kind], value)


def array(kind, values, count=None):
    """An array's bytes behind its value type; `count` lies about its length."""
    body = b"".join(scalar(kind, value) for value in values)
    return struct.pack("<IQ", kind, len(values) if count is None else count) + body


@dataclasses.dataclass
class Pair:
    key: str | bytes
    kind: int
    value: bytes  # as it lies in the file


@dataclasses.dataclass
class Tensor:
    name: str | bytes
    dims: list[int]
    kind: int  # ggml type id
    data: bytes
    offset: int | None = None  # a lie, where given


@dataclasses.dataclass
class RawGguf:
    pairs: list[Pair] = dataclasses.field(default_factory=list)
    tensors: list[Tensor] = dataclasses.field(default_factory=list)
    magic: bytes = b"GGUF"
    version: int = 3
    tensor_count: int | None = None
    pair_count: int | None = None

    def set(self, key, kind, value):
        """Sets a scalar, or with kind (ARRAY, element kind) an array; replaces the key if it is there."""
        if isinstance(kind, tuple):
            self.set_bytes(key, ARRAY, array(kind[1], value))
        else:
            self.set_bytes(key, kind, scalar(kind, value))

    def set_bytes(self, key, kind, value):
        for pair in self.pairs:
            if pair.key == key:
                pair.kind, pair.value = kind, value
                return
        self.pairs.append(Pair(key, kind, value))

    def remove(self, key):
        assert any(pair.key == key for pair in self.pairs), key
        self.pairs = [pair for pair in self.pairs if pair.key != key]

    def tensor(self, name):
        return next(tensor for tensor in self.tensors if tensor.name == name)

    def remove_tensor(self, name):
        self.tensors.remove(self.tensor(name))

    def build(self):
        """The file's bytes. `marks` then holds where each section and field begins."""
        self.marks = {}
        out = bytearray(self.magic + struct.pack("<I", self.version))
        count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        out += struct.pack("<Q", count)
        out += struct.pack("<Q", len(self.pairs) if self.pair_count is None else self.pair_count)
        for pair in self.pairs:
            self.marks[f"key {pair.key}"] = len(out)
            out += string(pair.key)
            self.marks[f"value {pair.key}"] = len(out)
            out += struct.pack("<I", pair.kind) + pair.value
        self.marks["tensor table"] = len(out)
        offset = 0
        for tensor in self.tensors:
            self.marks[f"tensor {tensor.name}"] = len(out)
            out += string(tensor.name) + struct.pack("<I", len(tensor.dims))
            out += b"".join(struct.pack("<Q", dim) for dim in tensor.dims)
            out += struct.pack("<IQ", tensor.kind, offset if tensor.offset is None else tensor.offset)
            offset += -(-len(tensor.data) // ALIGNMENT) * ALIGNMENT
        self.marks["padding"] = len(out)
        out += bytes(-len(out) % ALIGNMENT)
        self.marks["data"] = len(out)
        for tensor in self.tensors:
            out += tensor.data + bytes(-len(tensor.data) % ALIGNMENT)
        return bytes(out)


def byte_tokens():
    """GPT-2's printable stand-in for each byte, in order of the byte."""
    kept = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = iter(range(0x100, 0x200))
    return [chr(byte) if byte in kept else chr(next(moved)) for byte in range(256)]


MERGES = ["h e", "l l", "he ll", "hell o"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unused>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
HIDDEN, HEADS, KV_HEADS, HEAD_DIM, FFN = 64, 2, 1, 32, 64


def add_tokenizer(file):
    tokens = byte_tokens() + [merge.replace(" ", "") for merge in MERGES] + SPECIAL
    types = [1] * (256 + len(MERGES)) + [3] * 3 + [5]
    file.set("tokenizer.ggml.model", STRING, "gpt2")
    file.set("tokenizer.ggml.pre", STRING, "smollm")
    file.set("tokenizer.ggml.tokens", (ARRAY, STRING), tokens)
    file.set("tokenizer.ggml.token_type", (ARRAY, I32), types)
    file.set("tokenizer.ggml.merges", (ARRAY, STRING), MERGES)
    first = tokens.index(SPECIAL[0])
    file.set("tokenizer.ggml.bos_token_id", U32, first + 1)
    file.set("tokenizer.ggml.eos_token_id", U32, first + 2)
    file.set("tokenizer.ggml.add_bos_token", BOOL, 0)
    file.set("tokenizer.chat_template", STRING, TEMPLATE)
    return len(tokens)


def add_tensors(file, vocab):
    rng = np.random.default_rng(7)

    def matrix(name, columns, rows):
        weights = rng.standard_normal(columns * rows).astype("<f4") / np.float32(columns**0.5)
        file.tensors.append(Tensor(name, [columns, rows], 0, weights.tobytes()))

    def norm(name):
        file.tensors.append(Tensor(name, [HIDDEN], 0, np.ones(HIDDEN, "<f4").tobytes()))

    matrix("token_embd.weight", HIDDEN, vocab)
    norm("output_norm.weight")
    norm("blk.0.attn_norm.weight")
    matrix("blk.0.attn_q.weight", HIDDEN, HEADS * HEAD_DIM)
    matrix("blk.0.attn_k.weight", HIDDEN, KV_HEADS * HEAD_DIM)
    matrix("blk.0.attn_v.weight", HIDDEN, KV_HEADS * HEAD_DIM)
    matrix("blk.0.attn_output.weight", HEADS * HEAD_DIM, HIDDEN)
    norm("blk.0.ffn_norm.weight")
    matrix("blk.0.ffn_gate.weight", HIDDEN, FFN)
    matrix("blk.0.ffn_up.weight", HIDDEN, FFN)
    matrix("blk.0.ffn_down.weight", FFN, HIDDEN)


def tiny_model():
    """A llama of one layer with random weights and a byte-level vocabulary: about 200 KB."""
    file = RawGguf()
    file.set("general.architecture", STRING, "llama")
    file.set("general.name", STRING, "tiny")
    file.set("general.alignment", U32, ALIGNMENT)
    file.set("llama.block_count", U32, 1)
    file.set("llama.context_length", U32, 128)
    file.set("llama.embedding_length", U32, HIDDEN)
    file.set("llama.feed_forward_length", U32, FFN)
    file.set("llama.attention.head_count", U32, HEADS)
    file.set("llama.attention.head_count_kv", U32, KV_HEADS)
    file.set("llama.attention.layer_norm_rms_epsilon", F32, 1e-5)
    file.set("llama.rope.freq_base", F32, 10000.0)
    file.set("llama.rope.dimension_count", U32, HEAD_DIM)
    add_tensors(file, add_tokenizer(file))
    return file


def tiny_file():
    """Not a model: a file of a few hundred bytes with a value of every type, for the fuzzer."""
    file = RawGguf()
    file.set("general.architecture", STRING, "llama")
    file.set("general.alignment", U32, ALIGNMENT)
    for kind, value in [(U8, 1), (I8, -1), (U16, 2), (I16, -2), (I32, -3), (F32, 0.5), (BOOL, 1)]:
        file.set(f"k{kind}", kind, value)
    for kind, value in [(U64, 4), (I64, -4), (F64, 0.25)]:
        file.set(f"k{kind}", kind, value)
    file.set("a.text", (ARRAY, STRING), ["a", "", "\u00e9"])
    file.set("a.int", (ARRAY, I32), [1, -1])
    file.set("a.float", (ARRAY, F32), [0.5])
    file.set("a.bool", (ARRAY, BOOL), [0, 1])
    file.tensors.append(Tensor("a", [8], 0, bytes(32)))
    file.tensors.append(Tensor("b", [32, 2], 2, bytes(36)))
    file.tensors.append(Tensor("c", [256, 1, 1, 1], 12, bytes(144)))
    return file
