"""The plain float64 pass gives what transformers gave with the same weights, on the tiny models."""

import numpy as np
import pytest

import float64_families
import float64_model
import make_tiny_models
import tiny_references

# Of the log-probabilities' spread, as make_tiny_references.py allows; the stored values are float32.
AGREEMENT = 1.1e-4


@pytest.fixture(scope="module")
def golden():
    return np.load(tiny_references.PATH)


@pytest.mark.parametrize("name", make_tiny_models.MODELS)
def test_log_probabilities_are_those_of_transformers(name, golden, tmp_path):
    path = tmp_path / make_tiny_models.file_name(name)
    make_tiny_models.write_model(name, path)
    logits = float64_families.open_model(path).logits(golden["tokens"])
    own = float64_model.log_softmax(logits[golden["positions"]])
    assert tiny_references.difference(golden, name, own) <= AGREEMENT


def test_of_equal_router_logits_the_first_experts_are_taken():
    logits = np.array([[1.0, 3.0, 3.0, 3.0], [2.0, 2.0, 0.0, 2.0]])
    assert float64_model.largest(logits, 2).tolist() == [[1, 2], [0, 1]]
