"""Sessions of real clients played again: their order of requests, sizes and structure. What each request finds in the cache is
what its rendering makes possible: the longest run of whole blocks that an earlier prompt and its reply begin with, computed
here from the tokens."""
import json
import os
from pathlib import Path

import pytest
import traffic_shapes
from agent_rendering import Rendering
from chat_prompts import cached_tokens
from server import Server, fresh_key
from traffic_replay import Replay, ask

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = Path(os.environ.get("FOLIO_CAPTURES") or ROOT.parent / "shared/captures")


@pytest.fixture(scope="module")
def own(folio, scripted):
    running = Server(folio.binary, scripted, "--threads", 1, "--memory", "1GiB")
    try:
        yield running.wait()
    finally:
        running.stop(expected=" can't run here| left out|sorted")


@pytest.fixture(scope="module")
def known(own, scripted):
    return Rendering(own, scripted)


class Check:
    """Plays a capture and holds each answer against the tokens."""

    def __init__(self, server, rendering):
        self.server, self.rendering, self.key = server, rendering, fresh_key()
        self.computed, self.turns = [], []

    def play(self, capture):
        replay = Replay(capture)
        for request in replay.requests:
            body = replay.body(request)
            prompt, cue = self.rendering.prompt(request["path"], body)
            headers = {name: value for name, value in request["headers"].items() if name.lower() in traffic_shapes.HEADERS}
            held = replay.is_held(request)
            answer = ask(self.server, request["path"], {**body, **({"max_tokens": 8} if held else {})}, self.key, headers)
            wanted = len(prompt), cached_tokens(prompt, *self.computed)
            where = f"{capture['client']}: {request['scenario']} {len(self.turns)}"
            assert answer.arrival == wanted, where
            assert answer.usage in (None, wanted), where
            assert held or bool(answer.calls) == request["mock_answer"].startswith("tool:"), where
            self.computed.append(prompt)
            if not held:
                self.computed[-1] = self.rendering.keep(prompt, cue, answer.message()).computed
            self.turns.append((request["scenario"], *wanted))
            replay.keep(request, answer)


def play(server, rendering, capture):
    check = Check(server, rendering.of_another_caller())
    check.play(capture)
    return check.turns


# By capture: the request that resumes a session, and how long what it finds is at least, by the sizes that were captured.
RESUMES = {"codex-basic": ("codex-resume", 7000), "opencode-chat": ("occhat-resume", 5000), "opencode-anth": ("ocanth-resume", 5000),
           "continue-basic": ("cn-resume", 1300)}


@pytest.mark.parametrize("name", traffic_shapes.names())
def test_sessions_find_what_their_rendering_makes_possible(own, known, name):
    turns = play(own, known, traffic_shapes.read(name))
    assert max(cached for _, _, cached in turns) > 0
    if name in RESUMES:
        scenario, least = RESUMES[name]
        [(prompt, cached)] = [turn[1:] for turn in turns if turn[0] == scenario]
        assert cached > 0.98 * prompt - 60 and cached > least


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.json")), ids=lambda path: path.stem)
def test_captured_sessions_find_what_their_rendering_makes_possible(own, known, path):
    play(own, known, json.loads(path.read_text()))
