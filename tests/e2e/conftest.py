"""What every end-to-end test uses: the built command, the models, and a way to run it.

FOLIO_BIN and FOLIO_MODEL_DIR say where they are (./test sets both); without them, the release build and the store.
"""
import dataclasses
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from engine_logits import GOLDEN  # noqa: F401  (finds the golden modules)

import make_tiny_models

ROOT = Path(__file__).resolve().parents[2]


def store():
    data_home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(os.environ.get("FOLIO_HOME") or Path(data_home) / "folio")


@dataclasses.dataclass
class Outcome:
    """How one run of the command ended."""

    code: int
    out: str
    err: str
    seconds: float

    def json(self):
        return json.loads(self.out)


class Folio:
    """folio(*args) runs the command to its end. Output is text unless `text=False`."""

    def __init__(self, binary):
        self.binary = binary

    def __call__(self, *args, stdin=None, env=None, timeout=120, text=True):
        start = time.monotonic()
        done = subprocess.run(
            [self.binary, *map(str, args)], input="" if stdin is None and text else stdin, capture_output=True,
            text=text, timeout=timeout, env={**os.environ, **(env or {})}, check=False)
        return Outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - start)


@pytest.fixture(scope="session")
def folio():
    binary = Path(os.environ.get("FOLIO_BIN") or ROOT / "build/release/bin/folio")
    assert binary.is_file(), f"{binary} is not built; ./test builds it"
    return Folio(binary)


@pytest.fixture(scope="session")
def model_dir():
    return Path(os.environ.get("FOLIO_MODEL_DIR") or store() / "models")


def fetched(path):
    assert path.is_file(), f"{path} is missing; ./test fetches it"
    return path


@pytest.fixture(scope="session")
def smollm2(model_dir):
    """The default model."""
    return fetched(model_dir / "SmolLM2-135M-Instruct.Q4_1.gguf")


@pytest.fixture(scope="session")
def gemma3(model_dir):
    return fetched(model_dir / "gemma-3-270m-q4_k_m.gguf")


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory):
    """Writes a model of tests/golden when a test first asks for it by name, and gives its path."""
    folder = tmp_path_factory.mktemp("tiny")

    def path(name):
        file = folder / make_tiny_models.file_name(name)
        if not file.exists():
            make_tiny_models.write_model(name, file)
        return file

    return path
