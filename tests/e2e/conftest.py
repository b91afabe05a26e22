"""What every end-to-end test uses: the built command, the models, and a way to run it.

FOLIO_BIN and FOLIO_MODEL_DIR say where they are (./test sets both); without them, the release build and the store.
"""
import dataclasses
import fcntl
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from engine_logits import GOLDEN  # noqa: F401  (finds the golden modules)
from server import Server, fresh_key

import make_tiny_models
import scripted_model

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


@pytest.fixture(scope="session")
def scripted(smollm2, tmp_path_factory):
    """The model that follows a script: it takes seconds to write, and so all workers have one."""
    folder = tmp_path_factory.getbasetemp()
    path = (folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder) / "scripted.gguf"
    with open(path.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            scripted_model.write(path.with_suffix(".new"), smollm2)
            path.with_suffix(".new").rename(path)
    return path


@pytest.fixture(scope="session")
def server(folio, smollm2):
    """A server with the default model, for all tests that change nothing of it. On one thread: another test has the other."""
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB")
    try:
        yield running.wait()
    finally:
        running.stop()


@pytest.fixture
def serve(folio):
    """serve(model, *args) starts a server of the test's own; what the test hasn't ended is ended behind it."""
    servers = []

    def start(model, *args, **options):
        servers.append(Server(folio.binary, model, "--threads", 1, "--memory", "1GiB", *args, **options))
        return servers[-1]

    yield start
    for running in servers:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture
def key():
    """A key of the test's own: nothing that others asked for is in its cache."""
    return fresh_key()


@pytest.fixture
def client(server, key):
    """OpenAI's SDK, without retries."""
    return server.openai(key)


@pytest.fixture
def claude(server, key):
    """Anthropic's SDK, without retries."""
    return server.anthropic(key)
