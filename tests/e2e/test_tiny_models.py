"""One tiny random model per architecture, and quantised ones, against Hugging Face transformers."""

import hashlib
import json

import numpy as np
import pytest
from engine_logits import GOLDEN, logits

import fidelity
import make_tiny_models
import tiny_references

# Largest difference of a log-probability, as a share of the model's spread of them.
LIMIT = 2e-3


@pytest.fixture(scope="module")
def golden():
    return np.load(tiny_references.PATH)


@pytest.mark.parametrize("name", make_tiny_models.MODELS)
def test_generated_file_is_the_one_that_the_reference_was_made_from(name, tiny_models):
    expected = json.loads((GOLDEN / "tiny_models.json").read_text(encoding="utf-8"))
    assert hashlib.sha256(tiny_models(name).read_bytes()).hexdigest() == expected[name]["sha256"]


@pytest.mark.parametrize("name", make_tiny_models.MODELS)
def test_log_probabilities_equal_those_of_transformers(folio, name, tiny_models, golden, tmp_path):
    values = logits(folio, tiny_models(name), golden["tokens"], tmp_path / "logits.npy", "--kv-type", "f32")
    ours = fidelity.log_softmax(values[golden["positions"]])
    difference = tiny_references.difference(golden, name, ours)
    print(f"{name}: largest difference {difference:.1e} of the spread")
    assert difference <= LIMIT
