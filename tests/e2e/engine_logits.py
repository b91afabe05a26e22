"""Runs `folio logits` for tests that compare numbers."""

import sys
from pathlib import Path

import numpy as np

# The golden values' modules (fidelity, make_tiny_models, …) are plain scripts beside their data.
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))


def logits(folio, model, tokens, out, *options, isa=None):
    """float32 [tokens, vocab] that the engine computes for these ids."""
    env = {} if isa is None else {"FOLIO_ISA": isa}
    done = folio("logits", model, "--tokens", ",".join(str(int(token)) for token in tokens), "--out", out, *options,
                 env=env)
    assert done.code == 0, done.err
    values = np.load(out)
    out.unlink()
    assert values.dtype == np.float32 and values.shape[0] == len(tokens)
    return values
