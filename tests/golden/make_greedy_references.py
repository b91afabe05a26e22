#!/usr/bin/env python3
"""Makes the greedy replies of the tiny models with Hugging Face transformers, and checks the folders that
folder_writer.py writes.

usage: make_greedy_references.py [NAME ...]      (without names: all; with: the others' values stay)

Writes tiny_greedy.json beside this script: for each model a prompt, the ids that transformers' tokenizer gives for it,
the 64 tokens that transformers chooses one after another, and by how much the closest choice was made, in the logits'
spread. Only such prompts are taken whose closest choice is not so close that other roundings could rightly differ, and
whose reply holds no token that would end it; of these the first with 16 different tokens, or the one with most. A
model that can be written as a folder is loaded from it by transformers' own AutoModelForCausalLM, and its
log-probabilities must be the stored ones; the others have their weights from the GGUF file. Prompts are cut into tokens
by transformers with the tokenizer.json that folder_writer.py writes.

Needs numpy, gguf, torch and transformers.
"""

import json
import os
import sys
import tempfile

import numpy as np
import torch
import transformers

import float64_families
import folder_writer
import make_tiny_models
import tiny_references
import tiny_tokenizers
import transformers_model

HERE = os.path.dirname(os.path.abspath(__file__))
RECORD = os.path.join(HERE, "tiny_greedy.json")
NEW_TOKENS = 64
ENOUGH_DIFFERENT = 16
PROMPTS = [f"{start} {end}" for start in ("the old ferry", "a river of stone", "no one here", "over the hills")
           for end in ("is late", "and then", "in the morning", "was not there", "once more", "had to go")]
# Of the logits' spread. Integer activations move log-probabilities by at most 7e-4 of it.
SMALLEST_GAP = {"F32": 1e-4, "quantised": 1.5e-3}
# Largest difference between the folder's log-probabilities and the stored ones, as in make_tiny_references.py.
AGREEMENT = 1e-4


def is_quantised(model):
    return set(model.types) | {model.embedding_type} != {"F32"}


def check_folder(name, built):
    golden = np.load(tiny_references.PATH)
    ours = transformers_model.log_probs(built, golden["tokens"])[golden["positions"]]
    difference = tiny_references.difference(golden, name, ours)
    if difference > AGREEMENT:
        raise SystemExit(f"{name}: the folder gives log-probabilities that differ by {difference:.1e}")
    return float(difference)


def load(name, folder):
    """(transformers' model, its tokenizer) of a tiny model."""
    tokenizer_folder = os.path.join(folder, "tokenizer")
    model = make_tiny_models.MODELS[name]
    os.makedirs(tokenizer_folder)
    tokenizer = tiny_tokenizers.tables(model.tokenizer, model.vocab)
    folder_writer.write_tokenizer(tokenizer, tokenizer_folder)
    if name in folder_writer.names():
        path = os.path.join(folder, "model")
        folder_writer.write_folder(name, path, parts=2)
        eager = {"attn_implementation": "eager", **({"experts_implementation": "eager"} if model.experts else {})}
        built = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float64, **eager).eval()
        print(f"{name}: the folder differs from the stored values by {check_folder(name, built):.1e}")
    else:
        path = os.path.join(folder, "model.gguf")
        make_tiny_models.write_model(name, path)
        built = transformers_model.build(float64_families.open_model(path), model.llama3_rope, torch.float64)
    return built, transformers.PreTrainedTokenizerFast(tokenizer_file=os.path.join(tokenizer_folder, "tokenizer.json"))


def greedy(built, ids):
    """(the tokens chosen, by how much the closest choice was made)."""
    tokens, gaps = list(ids), []
    for _ in range(NEW_TOKENS):
        with torch.no_grad():
            logits = built(torch.tensor([tokens])).logits[0, -1].double().numpy()
        best = np.partition(logits, -2)
        gaps.append((best[-1] - best[-2]) / (logits.max() - logits.min()))
        tokens.append(int(logits.argmax()))
    return tokens[len(ids):], float(min(gaps))


def reference(name):
    model = make_tiny_models.MODELS[name]
    tables = tiny_tokenizers.tables(model.tokenizer, model.vocab)
    control = {index for index, kind in enumerate(tables.types) if kind == tiny_tokenizers.CONTROL}
    least = SMALLEST_GAP["quantised" if is_quantised(model) else "F32"]
    with tempfile.TemporaryDirectory() as folder:
        built, tokenizer = load(name, folder)
        best = {"reply": []}
        for prompt in PROMPTS:
            ids = tokenizer(prompt)["input_ids"]
            reply, gap = greedy(built, ids)
            if gap < least or control & set(reply) or len(set(reply)) <= len(set(best["reply"])):
                continue
            best = {"prompt": prompt, "prompt_tokens": ids, "reply": reply, "smallest_gap": float(f"{gap:.1e}")}
            if len(set(reply)) >= ENOUGH_DIFFERENT:
                break
    if not best["reply"]:
        raise SystemExit(f"{name}: no prompt whose choices are clear")
    return best


def main():
    record = {}
    if sys.argv[1:]:
        with open(RECORD, encoding="utf-8") as file:
            record = json.load(file)
    for name in sys.argv[1:] or make_tiny_models.MODELS:
        record[name] = reference(name)
        print(name, record[name]["smallest_gap"], flush=True)
        with open(RECORD, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()))
            file.write("\n}\n")


if __name__ == "__main__":
    main()
