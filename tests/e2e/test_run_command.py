"""./run, the first thing a newcomer types, on a machine where set-up is done."""
import os
import subprocess
import time
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "run"


@pytest.fixture
def run(tmp_path):
    """./run from another folder, without a terminal: run(*args, env={})."""

    def call(*args, env=None):
        return subprocess.run([RUN, *args], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=300, env={**os.environ, **(env or {})}, check=False)

    return call


def test_without_a_terminal_it_answers_its_question(run):
    done = run()
    assert done.returncode == 0, done.stderr
    question, answer = done.stdout.split("\n", 1)
    assert question == "> What is the capital of France?"
    assert "Paris" in answer


def test_arguments_go_to_folio(run):
    done = run("tokenize", "--text", "a b", "--json")
    assert done.returncode == 0, done.stderr
    assert '"ids"' in done.stdout
    assert run("no-such-command").returncode == 2


def test_a_repeat_is_quiet_and_quick(run):
    run("--help")
    start = time.monotonic()
    done = run("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert time.monotonic() - start < 3


def test_a_failing_step_is_one_line_with_its_log(run, tmp_path):
    ninja = tmp_path / "ninja"
    ninja.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    ninja.chmod(0o755)
    done = run("--help", env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "folio: error: run: building failed: build/logs/build-release.log\n"
