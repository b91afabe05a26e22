"""The comparator itself: what it reports for logits whose distance from the reference is known."""

from pathlib import Path

import numpy as np
import pytest

import fidelity
import random_weights

HERE = Path(__file__).resolve().parent
VOCAB, POSITIONS = 5000, 40


def _logits(name="logits", spread=3.0):
    return random_weights.random_normal(1, name, POSITIONS * VOCAB, spread).reshape(POSITIONS, VOCAB).astype(float)


def _noise(size):
    return random_weights.random_normal(1, "noise", POSITIONS * VOCAB, size).reshape(POSITIONS, VOCAB)


def _reference(logits):
    return fidelity.Reference.from_log_probs(fidelity.log_softmax(logits))


def _full_kl(logits, others):
    log_p, log_q = fidelity.log_softmax(logits), fidelity.log_softmax(others)
    return (np.exp(log_p) * (log_p - log_q)).sum(axis=-1)


def test_equal_logits_have_no_distance():
    logits = _logits()
    figures = fidelity.compare(_reference(logits), logits + 7.5)  # a constant changes no probability
    assert figures.mean_kl < 1e-20
    assert figures.top_1 == 1.0
    assert figures.wrong_beyond(0).size == 0


@pytest.mark.parametrize("spread", [0.5, 3.0, 6.0])
@pytest.mark.parametrize("size", [1e-3, 1e-2, 0.1])
def test_mean_divergence_is_within_a_tenth_of_the_full_one(spread, size):
    logits = _logits(spread=spread)
    others = logits + _noise(size)
    estimate = fidelity.compare(_reference(logits), others).mean_kl
    assert estimate == pytest.approx(_full_kl(logits, others).mean(), rel=0.1)


def test_noise_in_the_tail_alone_is_seen():
    logits = _logits(spread=0.5)
    others = logits + _noise(0.2) * (logits < np.sort(logits, axis=-1)[:, -64:-63])
    estimate = fidelity.compare(_reference(logits), others).mean_kl
    assert estimate == pytest.approx(_full_kl(logits, others).mean(), rel=0.1)


def test_another_best_token_counts_where_the_reference_is_decided():
    logits = _logits()
    order = np.argsort(-logits, axis=-1)
    logits[0, order[0, 0]] = logits[0, order[0, 1]] + 0.6
    logits[1, order[1, 0]] = logits[1, order[1, 1]] + 0.4
    others = logits.copy()
    for row in (0, 1):
        others[row, order[row, 1]] += 1.0
    figures = fidelity.compare(_reference(logits), others)
    assert figures.same_top.sum() == POSITIONS - 2
    assert figures.wrong_beyond(0.5).tolist() == [0]
    assert figures.wrong_beyond(0.3).tolist() == [0, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_an_error(bad):
    logits = _logits()
    reference = _reference(logits)
    logits[3, 4] = bad
    with pytest.raises(ValueError, match="finite"):
        fidelity.compare(reference, logits)


def test_another_number_of_positions_is_an_error():
    logits = _logits()
    with pytest.raises(ValueError, match="39 positions"):
        fidelity.compare(_reference(logits), logits[:-1])


@pytest.mark.parametrize("name", ["smollm2-135m-instruct-q4_1", "gemma-3-270m-q4_k_m"])
def test_stored_references_are_distributions_of_768_tokens(name):
    golden = np.load(HERE / f"{name}.npz")
    assert golden["tokens"].shape == (6, 128)
    best, rest = golden["logprobs"].astype(float), golden["rest"].astype(float)
    assert best.shape == golden["tail_logprobs"].shape == (6, 128, 64)
    np.testing.assert_allclose(np.exp(best).sum(axis=-1) + np.exp(rest), 1.0, atol=1e-6)
    assert (np.diff(best, axis=-1) <= 0).all()
    assert (golden["tail_logprobs"].max(axis=-1) <= best[..., -1]).all()
    assert all(len(set(row)) == 64 for row in golden["ids"].reshape(-1, 64).tolist())
