"""Random weights with the same bits on every machine: integers from a counter-based generator,
then exact arithmetic. No library's own generator or transcendental function takes part.

Needs numpy only.
"""

import hashlib

import numpy as np

# type name -> (GGUF type id, elements a block, bytes a block)
TYPES = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q4_1": (3, 32, 20),
    "Q5_0": (6, 32, 22),
    "Q5_1": (7, 32, 24),
    "Q8_0": (8, 32, 34),
    "Q2_K": (10, 256, 84),
    "Q3_K": (11, 256, 110),
    "Q4_K": (12, 256, 144),
    "Q5_K": (13, 256, 176),
    "Q6_K": (14, 256, 210),
    "IQ4_NL": (20, 32, 18),
    "IQ4_XS": (23, 256, 136),
    "BF16": (30, 1, 2),
    "MXFP4": (39, 32, 17),
}


def _key(seed, name):
    return np.uint64(int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "little"))


def random_words(seed, name, count):
    """`count` random 64-bit words: SplitMix64's mixing of a counter (Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        state = _key(seed, name) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def random_bytes(seed, name, count):
    words = random_words(seed, name, (count + 7) // 8)
    return words.astype("<u8").view(np.uint8)[:count]


def random_uniform(seed, name, count, low, high):
    """float32 in [low, high)."""
    fraction = (random_words(seed, name, count) >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return (low + (high - low) * fraction).astype(np.float32)


def random_normal(seed, name, count, std):
    """float32, mean 0, nearly normal: the sum of a word's four 16-bit parts, centred and scaled."""
    parts = random_words(seed, name, count).astype("<u8").view("<u2").reshape(count, 4)
    total = parts.astype(np.int64).sum(axis=1) - 2 * 65535
    # Each part has variance (2^32 - 1) / 12, four of them (2^32 - 1) / 3.
    return (total.astype(np.float64) * (std / 37837.227)).astype(np.float32)


def _half(values):
    return np.asarray(values, dtype=np.float32).astype("<f2").view(np.uint8).reshape(-1, 2)


def _bfloat16(values):
    bits = values.astype("<f4").view("<u4")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def _packed_6bit_pairs(scales, mins):
    """Q4_K's and Q5_K's 12 bytes of eight 6-bit scales and eight 6-bit minimums."""
    packed = np.empty((scales.shape[0], 12), dtype=np.uint8)
    packed[:, 0:4] = scales[:, 0:4] | ((scales[:, 4:8] >> 4) << 6)
    packed[:, 4:8] = mins[:, 0:4] | ((mins[:, 4:8] >> 4) << 6)
    packed[:, 8:12] = (scales[:, 4:8] & 15) | ((mins[:, 4:8] & 15) << 4)
    return packed


def random_blocks(seed, name, type_name, count, std):
    """`count` weights of about this standard deviation, encoded as blocks of `type_name`."""
    block, size = TYPES[type_name][1:]
    if count % block:
        raise ValueError(f"{name}: {count} weights are no whole number of {type_name} blocks")
    if type_name == "F32":
        return random_normal(seed, name, count, std).astype("<f4").tobytes()
    if type_name == "F16":
        return random_normal(seed, name, count, std).astype("<f2").tobytes()
    if type_name == "BF16":
        return _bfloat16(random_normal(seed, name, count, std)).tobytes()
    blocks = count // block
    raw = random_bytes(seed, name, blocks * size).reshape(blocks, size).copy()
    jitter = random_uniform(seed, name + ".scale", blocks, 0.7, 1.3)
    _FIX_SCALES[type_name](raw, jitter * np.float32(std))
    return raw.tobytes()


# Each function below overwrites, in blocks of random bytes, the scale fields: random scales would
# give absurd or unequal weights. The divisors are the standard deviations of the random codes.
def _q4_0(raw, std):
    raw[:, 0:2] = _half(std / 4.61)


def _q4_1(raw, std):
    raw[:, 0:2] = _half(std / 4.61)
    raw[:, 2:4] = _half(std / 4.61 * np.float32(-7.5))


def _q5_0(raw, std):
    raw[:, 0:2] = _half(std / 9.23)


def _q5_1(raw, std):
    raw[:, 0:2] = _half(std / 9.23)
    raw[:, 2:4] = _half(std / 9.23 * np.float32(-15.5))


def _q8_0(raw, std):
    raw[:, 0:2] = _half(std / 73.9)
    raw[:, 2:][raw[:, 2:] == 0x80] = 0x81  # -128 is a code that no quantiser writes


def _q2_k(raw, std):  # 16 bytes of 4-bit scale and minimum, 64 of codes, d, dmin
    raw[:, 0:16] = (raw[:, 0:16] & 0x77) | 0x88
    raw[:, 80:82] = _half(std / (11.5 * 1.12))
    raw[:, 82:84] = _half(std / (11.5 * 1.12) * np.float32(1.5))


def _q3_k(raw, std):  # hmask 32, codes 64, 12 bytes of sixteen 6-bit scales (offset 32), d
    raw[:, 108:110] = _half(std / (18.5 * 2.29))


def _scales_and_mins(raw, std, code_std, code_mean):
    scales = 20 + raw[:, 4:12] % 44
    raw[:, 4:16] = _packed_6bit_pairs(scales, scales)
    raw[:, 0:2] = _half(std / (43.0 * code_std))
    raw[:, 2:4] = _half(std / (43.0 * code_std) * np.float32(code_mean))


def _q4_k(raw, std):
    _scales_and_mins(raw, std, 4.61, 7.5)


def _q5_k(raw, std):
    _scales_and_mins(raw, std, 9.23, 15.5)


def _q6_k(raw, std):  # ql 128, qh 64, sixteen int8 scales, d
    raw[:, 192:208] = 40 + raw[:, 192:208] % 80
    raw[:, 208:210] = _half(std / (80.0 * 18.5))


def _iq4_nl(raw, std):
    raw[:, 0:2] = _half(std / 69.0)


def _iq4_xs(raw, std):  # d, 2 bytes of scales' high bits, 4 of low bits, 128 of codes
    raw[:, 0:2] = _half(std / (18.5 * 69.0))


def _mxfp4(raw, std):  # one byte: an exponent e, scale 2^(e - 127), then 16 bytes of codes
    raw[:, 0] = 127 + np.frexp(std / 2.9)[1]


_FIX_SCALES = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q8_0": _q8_0, "Q2_K": _q2_k,
               "Q3_K": _q3_k, "Q4_K": _q4_k, "Q5_K": _q5_k, "Q6_K": _q6_k, "IQ4_NL": _iq4_nl,
               "IQ4_XS": _iq4_xs, "MXFP4": _mxfp4}
