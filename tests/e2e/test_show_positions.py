"""`folio show` tells how a model knows positions."""

import json

import numpy as np
import pytest
from raw_gguf import BOOL, STRING, tiny_model


def shown(folio, path):
    outcome = folio("show", path, "--json")
    assert outcome.code == 0, outcome.err
    config = json.loads(outcome.out)["config"]
    return config["positions"], config["rope_base"], config["rope_scaling"]


@pytest.mark.parametrize("name,expected", [
    ("gpt2", ("learned", 10000, "none")),
    ("llama2", ("rope", 10000, "none")),
    ("llama-linear", ("rope", 10000, "linear")),
    ("gpt-oss", ("rope", 150000, "yarn")),
    ("phi3-longrope", ("rope", 10000, "longrope")),
])  # fmt: skip
def test_families(name, expected, folio, tiny_models):
    assert shown(folio, tiny_models(name)) == expected


def granite(tmp_path, name, **positions):
    file = tiny_model()
    for pair in file.pairs:
        if isinstance(pair.key, str):
            pair.key = pair.key.replace("llama.", "granite.")
    file.set("general.architecture", STRING, "granite")
    for value in positions.values():
        file.set("granite.rope.scaling.finetuned", BOOL, value)
    path = tmp_path / f"{name}.gguf"
    path.write_bytes(file.build())
    return path


def last_logits(folio, path, out, tokens):
    outcome = folio("logits", path, "--tokens", tokens, "--out", out, "--kv-type", "f32")
    assert outcome.code == 0, outcome.err
    return np.load(out)[-1]


def test_granites_without_positions_have_none(folio, tmp_path):
    paths = granite(tmp_path, "plain"), granite(tmp_path, "on", value=1), granite(tmp_path, "off", value=0)
    assert [shown(folio, path)[0] for path in paths] == ["rope", "rope", "none"]
    # To one layer without positions the order of what came before the last token is all the same.
    moved = []
    for path in paths:
        one, other = (last_logits(folio, path, tmp_path / "out.npy", tokens) for tokens in ("7,70,170,33", "170,7,70,33"))
        moved.append(float(np.abs(one - other).max() / one.std()))
    assert moved[0] == moved[1] > 1e-2
    assert moved[2] < 1e-4
