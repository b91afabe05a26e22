"""Claude Code's traffic, as it was described, on a model that follows a script: what each request finds in the cache is what
its tokens make possible, whatever changes in front of them."""
import time

import pytest
import scripted_model
from agent_rendering import Message, Rendering
from chat_prompts import BLOCK, cached_tokens
from claude_code import STALLED, ClaudeCode
from raw_http import Wire
from server import Server, fresh_key

SHARED = 0.98
REMINDER = "<system-reminder>The file list has changed. Don't mention it.</system-reminder>"


@pytest.fixture(scope="module")
def own(folio, scripted):
    running = Server(folio.binary, scripted, "--threads", 1, "--memory", "1GiB")
    try:
        yield running.wait()
    finally:
        running.stop()


@pytest.fixture(scope="module")
def known(own, scripted):
    return Rendering(own, scripted)


class Watched:
    """A key's sessions, all of whose turns are held against the tokens in the order in which they were made."""

    def __init__(self, server, rendering):
        self.server, self.rendering, self.key = server, rendering.of_another_caller(), fresh_key()
        self.computed, self.checked = [], {}

    def session(self, **options):
        session = ClaudeCode(self.server, self.key, **options)
        self.checked[session.session] = 0
        return session

    def check(self, session):
        """(prompt, cached) of the turns that this session made since the last check."""
        turns = session.turns[self.checked[session.session] :]
        self.checked[session.session] = len(session.turns)
        return [self._check(turn) for turn in turns]

    def _check(self, turn):
        prompt, cue = self.rendering.prompt("/v1/messages", turn["body"])
        cached = cached_tokens(prompt, *self.computed)
        usage = turn["usage"]
        read, created, rest = (usage[name] for name in ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens"))
        assert (read, read + created + rest) == (cached, len(prompt))
        if turn["body"]["tools"]:
            assert created == max(0, self._marked(turn["body"], prompt) // BLOCK * BLOCK - cached)
        text = "".join(block["text"] for block in turn["blocks"] if block["type"] == "text")
        calls = [(block["name"], '{"command": "' + block["input"]["command"] + '"}') for block in turn["blocks"] if block["type"] == "tool_use"]
        self.computed.append(self.rendering.keep(prompt, cue, Message("assistant", text, calls)).computed)
        return len(prompt), cached

    def _marked(self, body, prompt):
        """Tokens up to the last mark: behind it are what opens the reply, and a reminder."""
        behind = 2 + len(self.rendering.encode("assistant\n"))
        if body["messages"][-1]["role"] == "system":
            behind += 2 + len(self.rendering.encode("system\n" + body["messages"][-1]["content"])) + len(self.rendering.encode("\n"))
        return len(prompt) - behind


@pytest.fixture(scope="module")
def watched(own, known):
    return Watched(own, known)


def test_a_session_goes_on_behind_a_line_that_changes(watched):
    claude = watched.session()
    assert claude.title("What is the capital of France?") == scripted_model.PLAIN
    assert claude.ask("What is the capital of France?", REMINDER) == scripted_model.PLAIN
    [_, (first, _)] = watched.check(claude)
    assert first > 24_000
    assert claude.ask(f"What does {scripted_model.FILE} say?") == scripted_model.AFTER_CALL
    [(call, after_plain), (result, after_call)] = watched.check(claude)
    assert after_plain >= SHARED * first and after_call >= SHARED * call and result > call
    claude.messages.append({"role": "user", "content": [{"type": "text", "text": "Thanks."}]})
    counted = claude.count_tokens()  # with the call as it was generated, not as it came back
    claude.messages.pop()
    assert claude.ask("Thanks.") == scripted_model.PLAIN
    [(thanks, after_result)] = watched.check(claude)
    assert thanks == counted
    assert after_result >= SHARED * result
    assert [turn["diagnostics"]["cache_miss_reason"] for turn in claude.turns[-3:]] == [None] * 3

    fresh = watched.session()
    fresh.messages.append({"role": "user", "content": [{"type": "text", "text": "Say it again."}]})
    counted = fresh.count_tokens()
    fresh.messages.pop()
    fresh.ask("Say it again.")
    [(prompt, cached)] = watched.check(fresh)
    assert prompt == counted and cached >= SHARED * prompt, "system prompt and tools were there"


def test_agents_beside_a_session_keep_both_prompts(watched):
    """28 and 7 thousand tokens in turns, and side requests between them."""
    claude, agent = watched.session(), watched.session(system=16_000, tools=5, agent="explore")
    for turn in range(3):
        for session in (claude, agent):
            session.title(f"Say it again, {turn}.")
            session.ask("What is the capital of France?" if turn == 0 else "Say it again.")
            [_, (prompt, cached)] = watched.check(session)
            assert turn == 0 or cached >= SHARED * prompt - 100, (turn, prompt, cached)


@pytest.mark.long
def test_the_stall_watchdog_is_kept_quiet_through_a_long_prompt(serve, smollm2):
    """The default model on one thread takes longer for seven thousand tokens than the watchdog waits."""
    claude = ClaudeCode(serve(smollm2).wait(), fresh_key(), system=23_000, tools=1)
    claude.messages.append({"role": "user", "content": [{"type": "text", "text": "What is the capital of France?"}]})
    with Wire(claude.server.connect()) as wire:
        start = last = time.monotonic()
        wire.send(claude.wire_request())
        assert wire.head()[0] == 200
        gaps, pings = [], 0
        while b"message_stop" not in wire.buffer:
            before = len(wire.buffer)
            wire.sock.settimeout(STALLED)
            data = wire.sock.recv(65536)
            assert data, wire.buffer
            wire.buffer += data
            gaps.append(time.monotonic() - last)
            last = time.monotonic()
            pings += b"event: ping" in wire.buffer[before:]
    assert last - start > STALLED and max(gaps) < 15 and pings >= 2
