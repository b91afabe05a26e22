"""The vendors' SDKs for Node: node_contract.mjs holds a server against them, and each of its checks is a test."""
import json
import re
import subprocess
from pathlib import Path

import pytest
from agent_clients import node
from server import Server

SCRIPT = Path(__file__).with_name("node_contract.mjs")
SDKS = Path(__file__).resolve().parents[2] / "build/agents/sdk"
CHECKS = re.findall(r'^check\("([^"]+)"', SCRIPT.read_text(encoding="utf-8"), re.M)


@pytest.fixture(scope="module")
def outcomes(folio, server, scripted):
    """Check -> what it said, or None."""
    assert SDKS.exists(), f"{SDKS} is missing; ./test installs it"
    other = Server(folio.binary, scripted, "--threads", 1, "--memory", "1GiB").wait()
    try:
        done = subprocess.run([node(), SCRIPT, SDKS, server.url, other.url], capture_output=True, text=True, timeout=120, check=False)
    finally:
        other.stop()
    assert done.returncode == 0, done.stderr
    return {line["name"]: line.get("error") for line in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", CHECKS)
def test_node(outcomes, name):
    assert outcomes[name] is None


def test_all_checks_ran(outcomes):
    assert list(outcomes) == CHECKS and len(CHECKS) > 30
