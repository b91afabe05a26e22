"""Dequantize equals the `gguf` package's gguf.quants.dequantize bit for bit, on random blocks.

The blocks are uniformly random bytes, so every packed bit takes both values, with the 16-bit
scales drawn from all finite halves: denormals, zeros of both signs, the largest values.
"""

import ctypes
import os
import pathlib
import subprocess

import numpy as np
import pytest
from gguf import GGMLQuantizationType as T
from gguf import GGML_QUANT_SIZES
from gguf.quants import dequantize

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Where the 16-bit float fields of a block are, in bytes.
HALVES = {
    T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0],
    T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208],
    T.IQ4_NL: [0], T.IQ4_XS: [0], T.F16: [0], T.BF16: [], T.F32: [], T.MXFP4: [],
}  # fmt: skip
BLOCKS = 4096


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    out = tmp_path_factory.mktemp("quant") / "quant_shim.so"
    sources = ["tests/golden/quant_shim.cc", "src/quant/dequantize.cc", "src/quant/ggml_type.cc"]
    command = [os.environ.get("CXX", "g++"), "-std=c++23", "-O2", "-ffp-contract=off", "-shared"]
    command += ["-fPIC", f"-I{ROOT / 'src'}", "-o", str(out), *(str(ROOT / s) for s in sources)]
    subprocess.run(command, check=True)
    lib = ctypes.CDLL(str(out))
    lib.folio_dequantize.argtypes = [
        ctypes.c_uint32,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
    ]
    return lib


def random_blocks(qtype, seed):
    rng = np.random.default_rng(seed)
    block_elements, block_bytes = GGML_QUANT_SIZES[qtype]
    count = BLOCKS * 16 if block_elements == 1 else BLOCKS
    blocks = rng.integers(0, 256, size=(count, block_bytes), dtype=np.uint8)
    for offset in HALVES[qtype]:
        finite = rng.integers(0, 0x7C00, size=count, dtype=np.uint16)
        finite[:4] = [0, 1, 0x03FF, 0x7BFF]  # zero, the smallest and largest denormal, the largest
        finite |= rng.integers(0, 2, size=count, dtype=np.uint16) << np.uint16(15)
        blocks[:, offset : offset + 2] = finite.view(np.uint8).reshape(-1, 2)
    if qtype == T.MXFP4:
        blocks[:256, 0] = np.arange(256)
    if qtype in (T.BF16, T.F32):  # a NaN's payload is not part of the promise
        as_float = blocks.copy()
        as_float[:, -1] &= 0x7F
        exponent = (as_float[:, -1].astype(np.uint16) << 1) | (as_float[:, -2] >> 7)
        blocks[exponent == 0xFF, -1] &= 0xBF
    return blocks


@pytest.mark.parametrize("qtype", sorted(HALVES), ids=lambda t: t.name)
def test_dequantize_equals_the_gguf_package(library, qtype):
    blocks = random_blocks(qtype, seed=int(qtype))
    with np.errstate(over="ignore"):
        expected = dequantize(blocks.reshape(1, -1), qtype).reshape(-1)
    got = np.full(expected.size, np.nan, dtype=np.float32)
    status = library.folio_dequantize(int(qtype), blocks.ctypes.data, got.size, got.ctypes.data)
    assert status == 0
    assert not np.isnan(expected).any()
    differing = np.flatnonzero(got.view(np.uint32) != expected.view(np.uint32))
    assert differing.size == 0, (
        f"{differing.size} of {got.size} differ, first at {differing[0]}: "
        f"{got[differing[0]]!r} for {expected[differing[0]]!r}"
    )


def test_every_type_that_folio_knows_is_covered(library):
    one = np.zeros(256, dtype=np.uint8)
    out = np.zeros(256, dtype=np.float32)
    known = {
        t for t in T if library.folio_dequantize(int(t), one.ctypes.data, 0, out.ctypes.data) == 0
    }
    assert known == set(HALVES)
