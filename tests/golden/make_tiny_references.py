#!/usr/bin/env python3
"""Makes the reference values of the tiny models with Hugging Face transformers on the same weights.

usage: make_tiny_references.py [NAME ...]      (without names: all; with: the others' values stay)

Writes tiny_references.npz beside this script: `tokens` [640] and `positions` [40], and per model its
log-probabilities at these positions in the form of tiny_references.py. The sequence is longer than every window
and crosses the position 512 at which attention starts a new part. transformers runs in float64 (its
RoPE angles, norms and weights of experts remain float32); the plain float64 pass must agree with it.
Writes tiny_models.json too: each model file's SHA-256, that difference, and for a model with experts
the smallest distance, of any token in any layer, between the router's logits of the last expert that
is taken and the first that is not: with a smaller one, rounding could rightly choose another expert.
(Where experts are compared by sigmoids, biased and in groups: the distance that logits at least have.)

Needs numpy, gguf, torch and transformers.
"""

import hashlib
import json
import os
import sys
import tempfile

import numpy as np
import torch

import float64_families
import float64_model
import make_tiny_models
import random_weights
import tiny_references
import transformers_model

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiny_models.json")
TOKENS = 640
SHARED_VOCAB = 384
# Both ends of tiles (32), of windows (24, 40) and of the part that starts at 512, then a spread.
POSITIONS = np.array([0, 1, 2, 15, 16, 17, 22, 23, 24, 25, 31, 32, 33, 38, 39, 40, 41, 63, 64, 79, 96, 127, 128, 160,
                      200, 255, 256, 300, 350, 400, 450, 510, 511, 512, 513, 535, 543, 544, 600, 639])
# Largest difference allowed between transformers and the float64 pass, of the log-probabilities' spread.
AGREEMENT = 1e-4
SMALLEST_ROUTER_GAP = 1e-3


def router_gap(model, tokens):
    """By how much, in the router's logits, the closest choice of an expert was made."""
    routings = model.routings(tokens)
    if any(len(np.unique(routing.chosen)) < model.experts for routing in routings):
        raise SystemExit("an expert is never used; choose another seed")
    gap = min(routing.margin for routing in routings)
    if gap < SMALLEST_ROUTER_GAP:
        raise SystemExit(f"two experts are only {gap:.1e} apart; choose another seed")
    return gap


def reference(name, tokens, path):
    """(the model's entry of tiny_models.json, transformers' log-probabilities at POSITIONS)."""
    make_tiny_models.write_model(name, path)
    model = float64_families.open_model(path)
    built = transformers_model.build(model, make_tiny_models.MODELS[name].llama3_rope, torch.float64)
    golden = transformers_model.log_probs(built, tokens)
    own = float64_model.log_softmax(model.logits(tokens))
    difference = float(np.abs(golden - own).max() / (golden.max() - golden.min()))
    if difference > AGREEMENT:
        raise SystemExit(f"{name}: transformers and the float64 pass differ by {difference:.1e}")
    with open(path, "rb") as file:
        sha256 = hashlib.sha256(file.read()).hexdigest()
    entry = {"sha256": sha256, "transformers_against_float64": float(f"{difference:.1e}")}
    if model.experts:
        entry["smallest_router_gap"] = float(f"{router_gap(model, tokens):.1e}")
    return entry, golden[POSITIONS]


def stored():
    """What the two files hold now."""
    with open(RECORD, encoding="utf-8") as file:
        return json.load(file), dict(np.load(tiny_references.PATH))


def main():
    tokens = (random_weights.random_words(1, "tiny tokens", TOKENS) % np.uint64(SHARED_VOCAB)).astype(np.int32)
    record, arrays = stored() if sys.argv[1:] else ({}, {})
    arrays.update(tokens=tokens, positions=POSITIONS.astype(np.int32))
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[1:] or make_tiny_models.MODELS:
            path = os.path.join(folder, make_tiny_models.file_name(name))
            record[name], log_probs = reference(name, tokens, path)
            arrays.update(tiny_references.stored_form(name, log_probs))
            print(name, json.dumps(record[name]), flush=True)
    np.savez_compressed(tiny_references.PATH, **arrays)
    with open(RECORD, "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
