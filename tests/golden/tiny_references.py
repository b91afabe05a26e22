"""What is stored of transformers' log-probabilities of the tiny models, and how others are compared with it: at each position
the 64 best tokens and the mass of the rest, and the spread of all, which differences are shares of.
"""

from pathlib import Path

import numpy as np

PATH = Path(__file__).resolve().parent / "tiny_references.npz"
BEST = 64


def fields(name):
    return [f"{name}/{field}" for field in ("ids", "best", "rest", "spread")]


def log_rest(log_probs, ids):
    """The logarithm of the mass of all tokens but `ids`, a position a row."""
    others = np.array(log_probs, np.float64)
    np.put_along_axis(others, ids, -np.inf, axis=-1)
    return np.logaddexp.reduce(others, axis=-1)


def stored_form(name, log_probs):
    """The arrays to store of a model's log-probabilities [positions, vocab]."""
    ids = np.argsort(-log_probs, axis=-1, kind="stable")[:, :BEST]
    best = np.take_along_axis(log_probs, ids, axis=-1)
    values = (ids.astype(np.int16), best.astype(np.float32), log_rest(log_probs, ids).astype(np.float32),
              np.float32(np.ptp(log_probs)))
    return dict(zip(fields(name), values))


def difference(golden, name, log_probs):
    """The largest difference of log_probs [positions, vocab] from the stored ones, as a share of their spread."""
    ids, best, rest, spread = (golden[field] for field in fields(name))
    ids = ids.astype(np.int64)
    of_best = np.abs(np.take_along_axis(log_probs, ids, axis=-1) - best).max()
    return max(of_best, np.abs(log_rest(log_probs, ids) - rest).max()) / spread
