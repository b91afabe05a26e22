"""Every broken file is refused: exit 3, one line naming file, field and value, in < 2 s and < 1 GiB."""

import os
import subprocess
import time

import pytest
from bad_gguf import CASES
from raw_gguf import tiny_model

MAX_SECONDS = 2.0
MAX_RSS_KIB = 1 << 20
ARGUMENTS = {
    "show": lambda path: ["show", path],
    "run": lambda path: ["run", path, "--prompt", "hello", "--max-tokens", "1"],
    "chat": lambda path: ["run", path, "--chat", "--prompt", "hello", "--max-tokens", "1"],
}


def run(binary, command, path, tmp_path):
    """Exit code, stderr, seconds and peak memory (KiB) of `folio`, its children included."""
    with open(tmp_path / "stderr", "w+b") as stderr, open(tmp_path / "stdout", "wb") as stdout:
        start = time.monotonic()
        process = subprocess.Popen(
            [binary, *ARGUMENTS[command](str(path))],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        return process.returncode, stderr.read().decode(), seconds, usage.ru_maxrss


def test_there_are_enough_cases():
    assert len(CASES) >= 60


@pytest.mark.parametrize("command", ARGUMENTS)
def test_the_unbroken_file_works(folio, command, tmp_path):
    path = tmp_path / "good.gguf"
    path.write_bytes(tiny_model().build())
    code, stderr, _, _ = run(folio.binary, command, path, tmp_path)
    assert code == 0, stderr


@pytest.mark.parametrize("name", CASES)
def test_broken_file_is_refused(folio, name, tmp_path):
    case = CASES[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(case.build())
    code, stderr, seconds, rss = run(folio.binary, case.command, path, tmp_path)
    assert code == 3, f"exit {code}: {stderr}"
    assert stderr.endswith("\n") and stderr.count("\n") == 1, stderr
    assert stderr.startswith(f"folio: error: {path}: "), stderr
    message = stderr.removeprefix(f"folio: error: {path}: ")
    assert case.field in message and case.value in message, stderr
    assert seconds < MAX_SECONDS
    assert rss < MAX_RSS_KIB
