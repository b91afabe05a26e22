"""The engine's logits of real models against float64 with the same dequantised weights.

768 tokens (six segments of 128: English, code, German, Chinese, emoji, random ids); the figures are
defined in tests/golden/fidelity.py, the reference values' origin in tests/golden/README.md.
"""

import numpy as np
import pytest
from engine_logits import GOLDEN, logits

import fidelity

# Mean KL divergence that the default settings may have. The bf16 rounding of attention costs about 6e-5.
DEFAULT_LIMITS = {"smollm2": 1e-4, "gemma3": 2e-4}
# With nothing rounded but activations to 16-bit integers.
EXACT_LIMIT = 2e-6
GOLDEN_FILES = {"smollm2": "smollm2-135m-instruct-q4_1.npz", "gemma3": "gemma-3-270m-q4_k_m.npz"}
# Best tokens may swap only where the reference itself is this undecided (difference of log-probabilities).
UNDECIDED = 0.5


def measure(folio, name, model, folder, segments, *options):
    golden = np.load(GOLDEN / GOLDEN_FILES[name])
    fields = {field: golden[field] for field in fidelity.Reference.fields()}
    parts = []
    for segment in segments:
        values = logits(folio, model, golden["tokens"][segment], folder / "logits.npy", *options)
        parts.append(fidelity.compare(fidelity.Reference(**{f: v[segment] for f, v in fields.items()}), values))
    return fidelity.joined(parts)


@pytest.mark.parametrize("name", sorted(GOLDEN_FILES))
def test_default_settings_stay_near_float64(folio, name, request, tmp_path, record_property):
    figures = measure(folio, name, request.getfixturevalue(name), tmp_path, range(6))
    record_property("mean_kl", figures.mean_kl)
    record_property("top_1", figures.top_1)
    print(f"{name}: mean KL {figures.mean_kl:.2e}, top-1 {100 * figures.top_1:.2f} %")
    assert len(figures.kl) == 768
    assert figures.mean_kl <= DEFAULT_LIMITS[name]
    assert figures.top_1 >= 0.99
    assert figures.wrong_beyond(UNDECIDED).size == 0


@pytest.mark.parametrize("name", sorted(GOLDEN_FILES))
def test_f32_cache_leaves_only_the_rounding_of_activations(folio, name, request, tmp_path):
    """A wrong constant or a wrong mask that bf16's noise could hide is far above this limit."""
    figures = measure(folio, name, request.getfixturevalue(name), tmp_path, [0, 3], "--kv-type", "f32")
    print(f"{name}, f32 cache: mean KL {figures.mean_kl:.2e}, top-1 {100 * figures.top_1:.2f} %")
    assert figures.mean_kl <= EXACT_LIMIT
    assert figures.wrong_beyond(0.05).size == 0
