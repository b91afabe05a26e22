"""The six segments of 128 tokens that fidelity is measured on: five of the texts beside this file and
one of random ids. Their token ids are stored with the golden values, so tests need no tokenizer.

Needs numpy and the `tokenizers` package.
"""

import os

import numpy as np
import tokenizers
from tokenizers import models, pre_tokenizers

import random_weights

SEGMENT_TOKENS = 128
TEXTS = ("english", "code", "german", "chinese", "emoji")
NAMES = TEXTS + ("random",)
_CONTROL_TYPES = (3, 5)  # control and unused tokens are not drawn
_SPM_SPACE = "\u2581"


def _read(name):
    with open(os.path.join(os.path.dirname(__file__), "texts", name + ".txt"), encoding="utf-8") as file:
        return file.read()


def _encode_byte_level(fields, text):
    vocab = {token: i for i, token in enumerate(fields["tokenizer.ggml.tokens"])}
    merges = [tuple(merge.split(" ", 1)) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return tokenizer.encode(text).ids


def _encode_sentence_piece(fields, text):
    """Merges the neighbours whose joined piece has the best score, until none is a piece; then bytes."""
    tokens, scores = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.scores"]
    vocab = {token: i for i, token in enumerate(tokens)}
    symbols = list(text.replace(" ", _SPM_SPACE))
    while True:
        best = None
        for i in range(len(symbols) - 1):
            index = vocab.get(symbols[i] + symbols[i + 1])
            if index is not None and (best is None or scores[index] > best[0]):
                best = (scores[index], i)
        if best is None:
            break
        symbols[best[1]:best[1] + 2] = ["".join(symbols[best[1]:best[1] + 2])]
    ids = []
    for symbol in symbols:
        ids += [vocab[symbol]] if symbol in vocab else [vocab[f"<0x{byte:02X}>"] for byte in symbol.encode()]
    return ids


def _random_ids(fields, count):
    types = fields["tokenizer.ggml.token_type"]
    drawable = np.array([i for i, kind in enumerate(types) if kind not in _CONTROL_TYPES])
    return drawable[random_weights.random_words(1, "ids", count) % np.uint64(len(drawable))].tolist()


def token_ids(fields):
    """int32 [6, 128] for the model with this metadata; each starts with its BOS token where it has one."""
    encode = _encode_byte_level if fields["tokenizer.ggml.model"] == "gpt2" else _encode_sentence_piece
    start = [fields["tokenizer.ggml.bos_token_id"]] if fields.get("tokenizer.ggml.add_bos_token") else []
    segments = [start + encode(fields, _read(name)) for name in TEXTS]
    segments.append(start + _random_ids(fields, SEGMENT_TOKENS))
    for name, ids in zip(NAMES, segments):
        if len(ids) < SEGMENT_TOKENS:
            raise ValueError(f"{name} is only {len(ids)} tokens long")
    return np.array([ids[:SEGMENT_TOKENS] for ids in segments], dtype=np.int32)
