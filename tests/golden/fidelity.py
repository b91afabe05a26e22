"""How far an engine's logits are from a reference: the figures of the fidelity tests.

A reference keeps, for each position, the 64 most likely tokens and 64 draws from all other tokens
(the tail), each with its log-probability, and the logarithm of the tail's mass. Lumping the tail
into one class would hide most of what an engine does to flat distributions: there the divergence
over 65 classes is a third of the full one. Instead, with r = q / p,

    KL(p || q) = sum over all tokens of p (r - 1 - log r)

since both p and q sum to one; each term is at least zero and small where q is near p, so the mean
over the tail's draws, times its mass, estimates the tail's part well and without bias.

Needs numpy only.
"""

import dataclasses

import numpy as np

import random_weights

TOP = 64
DRAWS = 64


def log_softmax(logits):
    x = np.asarray(logits, dtype=np.float64)
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@dataclasses.dataclass
class Reference:
    """Positions [n]: `ids`, `logprobs` [n, 64] best first; `tail_ids`, `tail_logprobs` [n, 64]; `rest` [n]."""

    ids: np.ndarray
    logprobs: np.ndarray
    tail_ids: np.ndarray
    tail_logprobs: np.ndarray
    rest: np.ndarray

    @staticmethod
    def from_log_probs(log_probs, name="tail"):
        """From full log-probabilities [n, vocab] in float64; `name` seeds the draws."""
        order = np.argsort(-log_probs, axis=-1, kind="stable")
        ids, tail = order[:, :TOP], order[:, TOP:]
        mass = np.exp(np.take_along_axis(log_probs, tail, axis=-1)).cumsum(axis=-1)
        # One draw from each of 64 equal slices of the tail's mass.
        offsets = random_weights.random_uniform(1, name, len(log_probs) * DRAWS, 0.0, 1.0).reshape(-1, DRAWS)
        points = (np.arange(DRAWS) + offsets) / DRAWS * mass[:, -1:]
        drawn = np.stack([np.searchsorted(row, point) for row, point in zip(mass, points)])
        tail_ids = np.take_along_axis(tail, drawn.clip(max=tail.shape[1] - 1), axis=-1)
        return Reference(ids.astype(np.int32), np.take_along_axis(log_probs, ids, axis=-1), tail_ids.astype(np.int32),
                         np.take_along_axis(log_probs, tail_ids, axis=-1), np.log(mass[:, -1]))

    @staticmethod
    def fields():
        return [field.name for field in dataclasses.fields(Reference)]


@dataclasses.dataclass
class Fidelity:
    """Figures over n positions; `gaps` [n] is the reference's best minus second best log-probability."""

    kl: np.ndarray
    same_top: np.ndarray
    gaps: np.ndarray

    @property
    def mean_kl(self):
        return float(self.kl.mean())

    @property
    def top_1(self):
        return float(self.same_top.mean())

    def wrong_beyond(self, gap):
        """Positions whose best token is another although the reference's best two are more than `gap` apart."""
        return np.flatnonzero(~self.same_top & (self.gaps > gap))


def joined(parts):
    """One Fidelity over all positions of several."""
    return Fidelity(*[np.concatenate([getattr(part, field.name) for part in parts])
                      for field in dataclasses.fields(Fidelity)])


def _log_sums(logits):
    """log(sum(exp(row))) [n, 1] in float64, row by row: a big vocabulary's rows need much memory together."""
    return np.array([[row.max() + np.log(np.exp(row.astype(np.float64) - row.max()).sum())] for row in logits],
                    dtype=np.float64)


def _divergence(log_p, log_q):
    """r - 1 - log r, elementwise, for r = q / p; exact also where q is very near p."""
    log_r = log_q - np.asarray(log_p, dtype=np.float64)
    return np.expm1(log_r) - log_r


def compare(reference, logits):
    """Fidelity of `logits` [n, vocab]; a value that is not finite is an error."""
    if logits.shape[0] != reference.ids.shape[0]:
        raise ValueError(f"{logits.shape[0]} positions where the reference has {reference.ids.shape[0]}")
    if not np.isfinite(logits).all():
        raise ValueError("the logits are not all finite")
    normalizer = _log_sums(logits)

    def of(ids):
        return np.take_along_axis(logits, ids.astype(np.int64), axis=-1) - normalizer

    log_p = np.asarray(reference.logprobs, dtype=np.float64)
    kl = (np.exp(log_p) * _divergence(log_p, of(reference.ids))).sum(axis=-1)
    kl += np.exp(reference.rest) * _divergence(reference.tail_logprobs, of(reference.tail_ids)).mean(axis=-1)
    return Fidelity(kl, logits.argmax(axis=-1) == reference.ids[:, 0], log_p[:, 0] - log_p[:, 1])
