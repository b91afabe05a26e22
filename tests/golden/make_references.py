#!/usr/bin/env python3
"""Makes the reference values of the two real models: log-probabilities in float64.

usage: make_references.py --models DIR [--check]

Writes MODEL.npz beside this script, per model: tokens [6, 128] and the fields of fidelity.Reference,
each with a first dimension of 6. With --check the float64 pass is compared with Hugging Face transformers
in float32 on the same weights, and provenance.json records both versions and the differences.

Needs numpy, gguf and tokenizers; --check also torch and transformers.
"""

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import os
import platform

import numpy as np

import fidelity
import segments
from float64_model import Float64Model, log_softmax

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = {
    "smollm2-135m-instruct-q4_1": "SmolLM2-135M-Instruct.Q4_1.gguf",
    "gemma-3-270m-q4_k_m": "gemma-3-270m-q4_k_m.gguf",
}


def _sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _full_kl(log_p, log_q):
    return (np.exp(log_p) * (log_p - log_q)).sum(axis=-1)


class _Check:
    """Differences between the float64 pass and transformers, over all segments."""

    def __init__(self, model):
        import transformers_model

        self._module = transformers_model
        self._built = transformers_model.build(model)
        self._rows = []

    def add(self, tokens, log_p, reference):
        log_q = self._module.log_probs(self._built, tokens)
        compared = fidelity.compare(reference, log_q)
        likely = log_p > -20
        self._rows.append((_full_kl(log_p, log_q).mean(), compared.mean_kl, np.abs(log_p - log_q)[likely].max(),
                           compared.top_1))

    def summary(self):
        rows = np.array(self._rows)
        return {"mean_kl": float(rows[:, 0].mean()), "mean_kl_estimated": float(rows[:, 1].mean()),
                "largest_log_probability_difference_above_minus_20": float(rows[:, 2].max()),
                "top_1": float(rows[:, 3].mean())}


def make(name, path, check):
    model = Float64Model(path)
    tokens = segments.token_ids(model.fields)
    checker = _Check(model) if check else None
    references = []
    for segment, ids in zip(segments.NAMES, tokens):
        log_p = log_softmax(model.logits(ids))
        references.append(fidelity.Reference.from_log_probs(log_p, f"{name}/{segment}"))
        if checker:
            checker.add(ids, log_p, references[-1])
    arrays = {"tokens": tokens}
    for field in fidelity.Reference.fields():
        values = np.stack([getattr(reference, field) for reference in references])
        arrays[field] = values if values.dtype == np.int32 else values.astype(np.float32)
    np.savez_compressed(os.path.join(HERE, name + ".npz"), **arrays)
    record = {"file": os.path.basename(path), "sha256": _sha256(path), "bytes": os.path.getsize(path),
              "date": datetime.date.today().isoformat()}
    if checker:
        record["transformers_float32_against_float64"] = checker.summary()
    return record


def _versions(check):
    names = ["numpy", "gguf", "tokenizers"] + (["torch", "transformers"] if check else [])
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--models", required=True, metavar="DIR")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    record = {"versions": _versions(options.check)}
    for name, file_name in MODELS.items():
        record[name] = make(name, os.path.join(options.models, file_name), options.check)
        print(name, json.dumps(record[name], indent=2))
    with open(os.path.join(HERE, "provenance.json"), "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2)
        file.write("\n")


if __name__ == "__main__":
    main()
