#!/usr/bin/env python3
"""Writes position_references.h: what the pieces of src/model/positions are held against.

usage: make_position_references.py [--check]

Every value is computed here in float64 from the published formula, which the comment beside it in the
header names; nothing is shared with the engine. With --check the rotary ones are compared with Hugging
Face transformers' (float32) too.

Needs numpy; --check: torch and transformers.
"""

import argparse
import math
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = os.path.join(HERE, "position_references.h")

# A search's result in LongRoPE; here any increasing lists.
SHORT_FACTORS = [1 + 0.125 * i for i in range(16)]
LONG_FACTORS = [1 + 0.5 * i**1.5 // 0.25 * 0.25 for i in range(16)]


def frequencies(base, dim):
    return base ** (-np.arange(0, dim, 2, dtype=np.float64) / dim)


def linear(base, dim, factor):
    return frequencies(base, dim) / factor


def dynamic(base, dim, factor, trained, length):
    stretched = max(length, trained) / trained
    return frequencies(base * (factor * stretched - (factor - 1)) ** (dim / (dim - 2)), dim)


def yarn(base, dim, factor, original, fast=32, slow=1):
    def pair(rotations):
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), dim - 1)
    slowed = np.clip((np.arange(dim // 2) - low) / max(high - low, 0.001), 0, 1)
    omega = frequencies(base, dim)
    return slowed * omega / factor + (1 - slowed) * omega


def yarn_factor(factor, mscale=1.0, mscale_all_dim=None):
    def scale(m):
        return 0.1 * m * math.log(factor) + 1

    return scale(mscale) / (scale(mscale_all_dim) if mscale_all_dim else 1)


def llama3(base, dim, factor, low, high, original):
    omega = frequencies(base, dim)
    wavelength = 2 * np.pi / omega
    smooth = (original / wavelength - low) / (high - low)
    between = (1 - smooth) * omega / factor + smooth * omega
    return np.where(wavelength < original / high, omega, np.where(wavelength > original / low, omega / factor, between))


def longrope_factor(factor, original):
    return math.sqrt(1 + math.log(factor) / math.log(original))


def sinusoidal(positions, dim):
    angle = np.asarray(positions, dtype=np.float64)[:, None] * frequencies(10000.0, dim)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(-1)


def alibi(heads):
    def of_power(n):
        return [2.0 ** (-8.0 * i / n) for i in range(1, n + 1)]

    whole = 2 ** int(math.log2(heads))
    return np.array(of_power(whole) + of_power(2 * whole)[0::2][:heads - whole])


def mrope(base, dim, sections, position):
    return frequencies(base, dim) * np.repeat(np.array(position, dtype=np.float64), sections)


ROPES = {
    # name: (comment, values, rope_parameters of transformers, dim, the longest position it is asked for)
    "kRope": ("RoFormer: base 10000, 32 dimensions", frequencies(1e4, 32), {"rope_type": "default"}, 32, 0),
    "kLinear": ("Chen et al. 2023: the same, positions divided by 4", linear(1e4, 32, 4.0),
                {"rope_type": "linear", "factor": 4.0}, 32, 0),
    "kDynamic": ("dynamic NTK: the same, factor 4, trained for 2048, a sequence of 6000",
                 dynamic(1e4, 32, 4.0, 2048, 6000), {"rope_type": "dynamic", "factor": 4.0}, 32, 6000),
    "kYarn": ("YaRN as Qwen has it: base 1e6, 128 dimensions, factor 4 of 32768", yarn(1e6, 128, 4.0, 32768),
              {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, 128, 0),
    "kYarnBetas": ("YaRN: base 10000, 32 dimensions, factor 16 of 1024, beta 16 and 2",
                   yarn(1e4, 32, 16.0, 1024, 16, 2),
                   {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 1024, "beta_fast": 16,
                    "beta_slow": 2}, 32, 0),
    "kLlama3": ("Llama 3.1: base 500000, 128 dimensions, factor 8, 1 and 4 of 8192",
                llama3(5e5, 128, 8.0, 1.0, 4.0, 8192),
                {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                 "original_max_position_embeddings": 8192}, 128, 0),
    "kLongRopeShort": ("LongRoPE: base 10000, 32 dimensions, the short list, up to 4096",
                       frequencies(1e4, 32) / np.array(SHORT_FACTORS),
                       {"rope_type": "longrope", "factor": 32.0, "original_max_position_embeddings": 4096,
                        "short_factor": SHORT_FACTORS, "long_factor": LONG_FACTORS}, 32, 4096),
    "kLongRopeLong": ("the same, the long list", frequencies(1e4, 32) / np.array(LONG_FACTORS),
                      {"rope_type": "longrope", "factor": 32.0, "original_max_position_embeddings": 4096,
                       "short_factor": SHORT_FACTORS, "long_factor": LONG_FACTORS}, 32, 4097),
}
BASES = {"kYarn": 1e6, "kLlama3": 5e5}

OTHERS = {
    "kYarnAttentionFactors": ("YaRN's attention factor of 4, 16, and of 40 with mscale 1 and mscale_all_dim 0.707",
                              np.array([yarn_factor(4), yarn_factor(16), yarn_factor(40, 1.0, 0.707)])),
    "kLongRopeAttentionFactor": ("Phi-3's: 131072 tokens of 4096", np.array([longrope_factor(32, 4096)])),
    "kLongRopeShortFactors": ("the lists", np.array(SHORT_FACTORS)),
    "kLongRopeLongFactors": ("", np.array(LONG_FACTORS)),
    "kSinusoidal": ("Vaswani et al. 2017: 8 dimensions at positions 0, 1, 24 and 1000", sinusoidal([0, 1, 24, 1000], 8)),
    "kAlibi8": ("Press et al. 2021: slopes of 8, 12 and 20 heads", alibi(8)),
    "kAlibi12": ("", alibi(12)),
    "kAlibi20": ("", alibi(20)),
    "kMrope": ("M-RoPE: base 1e6, 32 dimensions, sections 4, 6 and 6, at (3, 5, 7)", mrope(1e6, 32, (4, 6, 6), (3, 5, 7))),
}


def array(name, comment, values):
    lines = [f"// {comment}"] if comment else []
    lines.append(f"inline constexpr std::array<double, {len(values)}> {name} = {{")
    lines += ["    " + ", ".join(f"{value:.17g}" for value in values[i:i + 4]) + "," for i in range(0, len(values), 4)]
    return "\n".join(lines) + "};\n"


def header():
    """The header's text, before clang-format."""
    parts = [array(name, comment, values) for name, (comment, values, *_) in ROPES.items()]
    parts += [array(name, comment, values) for name, (comment, values) in OTHERS.items()]
    return ("// Made by make_position_references.py: float64 values of published formulas.\n"
            "#ifndef FOLIO_TESTS_GOLDEN_POSITION_REFERENCES_H_\n#define FOLIO_TESTS_GOLDEN_POSITION_REFERENCES_H_\n\n"
            "// clang-format off\n#include <array>\n\nnamespace folio {\n\n" + "\n".join(parts) +
            "\n}  // namespace folio\n\n#endif  // FOLIO_TESTS_GOLDEN_POSITION_REFERENCES_H_\n")


def check():
    """Compares with transformers; raises where they differ by more than its float32 explains."""
    import torch
    import transformers
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor

    for name, (_, values, rope, dim, length) in ROPES.items():
        config = transformers.LlamaConfig(hidden_size=2 * dim, num_attention_heads=2, head_dim=dim,
                                          max_position_embeddings=2048 if name == "kDynamic" else 131072,
                                          rope_parameters=dict(rope, rope_theta=BASES.get(name, 1e4)))
        rotary = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
        rotary(torch.zeros(1), torch.arange(max(length, 1))[None])  # the length chooses, where it does
        worst = float(np.abs(rotary.inv_freq.double().numpy() / values - 1).max())
        print(f"{name}: {worst:.1e}, attention factor {rotary.attention_scaling:.9g}")
        if worst > 1e-6:
            raise SystemExit(f"{name} differs from transformers by {worst:.1e}")
    for heads in (8, 12, 20):
        bias = build_alibi_tensor(torch.ones(1, 2), heads, torch.float64)[:, 0]
        worst = float(np.abs((bias[:, 1] - bias[:, 0]).numpy() / alibi(heads) - 1).max())
        print(f"ALiBi of {heads}: {worst:.1e}")
        if worst > 1e-6:
            raise SystemExit(f"ALiBi's slopes of {heads} heads differ by {worst:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        check()
        return
    with open(HEADER, "w", encoding="utf-8") as file:
        file.write(header())


if __name__ == "__main__":
    sys.exit(main())
