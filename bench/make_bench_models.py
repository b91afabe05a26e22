#!/usr/bin/env python3
"""Writes a GGUF model with random weights in a real model's shape, for measurements of speed.

usage: make_bench_models.py SHAPE TYPE OUT.gguf        e.g. qwen3-0.6b Q8_0 qwen3-0.6b-q8_0.gguf

Speed does not depend on the weights' values, so each tensor is cut from one pool of random blocks
and a file of several gigabytes is written at the disk's speed. It does depend on the experts that
tokens go to: in models with experts each token goes its own way, nearly as if by chance.

SHAPE moe-N is a model with N experts, 8 of which a token goes through: as N grows, so does the file
(Q4_0: moe-8 0.08 GB, moe-64 0.5 GB, moe-896 7.2 GB), while what a token reads hardly does.

Needs numpy only.
"""

import argparse
import dataclasses
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden"))

import gguf_writer  # noqa: E402
import make_tiny_models  # noqa: E402
import random_weights  # noqa: E402

SHAPES = {
    "qwen3-0.6b": make_tiny_models.TinyModel(
        "qwen3", "qwen_bpe", layers=28, hidden=1024, heads=16, kv_heads=8, head_dim=128, ff=3072, vocab=151936,
        context=40960, eps=1e-6, rope_base=1e6, tied=True),
    "llama-3.1-8b": make_tiny_models.TinyModel(
        "llama", "llama3_bpe", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=128, ff=14336, vocab=128256,
        context=131072, eps=1e-5, rope_base=5e5, llama3_rope=(8.0, 1.0, 4.0, 8192)),
    # The first 10 of Qwen3-30B-A3B's 48 layers, which are all alike.
    "qwen3-30b-a3b-10l": make_tiny_models.TinyModel(
        "qwen3moe", "qwen_bpe", layers=10, hidden=2048, heads=32, kv_heads=4, head_dim=128, ff=6144, vocab=151936,
        context=40960, eps=1e-6, rope_base=1e6, experts=128, experts_used=8, expert_ff=768),
}
# A small vocabulary and short attention: most of what a token reads is its 8 experts (64 MB of Q4_0 over all layers).
MOE = make_tiny_models.TinyModel(
    "qwen3moe", "qwen_bpe", layers=6, hidden=1024, heads=8, kv_heads=2, head_dim=128, ff=6144, vocab=4096,
    context=40960, eps=1e-6, rope_base=1e6, experts_used=8, expert_ff=768)
TYPES = ("Q8_0", "Q4_0")
POOL_BYTES = 32 << 20


def shape_of(name):
    """The model of a name in SHAPES, or of moe-N with N experts."""
    if name in SHAPES:
        return SHAPES[name]
    experts = re.fullmatch(r"moe-([1-9][0-9]{0,3})", name)
    if experts is None or int(experts[1]) < MOE.experts_used:
        raise ValueError(f"no shape {name!r}; there are {', '.join(SHAPES)} and moe-N with {MOE.experts_used} experts "
                         "or more")
    return dataclasses.replace(MOE, experts=int(experts[1]))


def centred_q4_0(data):
    """Q4_0 blocks without the code -8, whose presence makes the mean of random codes -0.5: in a wide model that
    is enough for every token to end up in nearly the same direction, and so at the same few experts.
    """
    blocks = np.frombuffer(data, dtype=np.uint8).reshape(-1, 18).copy()
    codes = blocks[:, 2:]
    codes[(codes & 0x0F) == 0] |= 0x08
    codes[(codes & 0xF0) == 0] |= 0x80
    return blocks.tobytes()


def of_bf16(data):
    """Float32 values that BF16 holds, as in files that were converted from checkpoints."""
    return (np.frombuffer(data, dtype="<u4") & np.uint32(0xFFFF0000)).tobytes()


class Pool:
    """Random blocks of one type and standard deviation, from which tensors are cut."""

    def __init__(self, type_name, std, centred):
        block, self.block_bytes = random_weights.TYPES[type_name][1:]
        blocks = POOL_BYTES // self.block_bytes
        data = random_weights.random_blocks(1, f"{type_name} {std}", type_name, blocks * block, std)
        if type_name == "F32":
            data = of_bf16(data)
        self.data = centred_q4_0(data) if centred and type_name == "Q4_0" else data
        self.next_start = 0


class Cut:
    """`size` bytes of a pool, over and over, beginning somewhere else each time."""

    def __init__(self, pool, size):
        self._pool, self._size = pool, size
        pool.next_start = (pool.next_start + 7919 * pool.block_bytes) % len(pool.data)
        self._start = pool.next_start

    def __len__(self):
        return self._size

    def __iter__(self):
        data, start, left = memoryview(self._pool.data), self._start, self._size
        while left:
            piece = data[start:start + left]
            yield piece
            left -= len(piece)
            start = 0


class PooledTensors(make_tiny_models.TensorMaker):
    """Makes a model's tensors as the tiny models' maker does, with matrices cut from pools."""

    def __init__(self, model):
        super().__init__(model)
        self._centred = model.experts > 0
        self._pools = {}

    def embedding(self, name, std):
        """Embeddings of a model with experts are long enough to outweigh what attention adds, much alike for all."""
        super().embedding(name, 2.0 if self._centred and name == "token_embd.weight" else std)

    def encoded(self, name, type_name, count, std):
        key = (type_name, std)
        if key not in self._pools:
            self._pools[key] = Pool(*key, self._centred)
        block, size = random_weights.TYPES[type_name][1:]
        return Cut(self._pools[key], count // block * size)


def write_model(shape, type_name, path):
    model = dataclasses.replace(shape_of(shape), types=(type_name,), embedding_type=type_name)
    partial = f"{path}.{os.getpid()}.partial"
    gguf_writer.write(partial, make_tiny_models.metadata(model, shape),
                      make_tiny_models.tensors(model, PooledTensors(model)))
    os.replace(partial, path)


def ensure(shape, type_name, folder):
    """The path of this model in `folder`, written first if it is not there."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{shape}-{type_name.lower()}.gguf")
    if not os.path.exists(path):
        write_model(shape, type_name, path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("shape", help=f"{', '.join(SHAPES)} or moe-N")
    parser.add_argument("type", choices=TYPES)
    parser.add_argument("out")
    options = parser.parse_args()
    try:
        shape_of(options.shape)
    except ValueError as error:
        parser.error(str(error))
    write_model(options.shape, options.type, options.out)


if __name__ == "__main__":
    main()
