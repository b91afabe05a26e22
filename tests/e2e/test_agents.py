"""Real coding agents, headless and without an internet, on `folio serve`: they are configured by `folio connect`, ask,
call a tool, and go on in an earlier session; and what a turn shares with the one before is computed once."""
import re

import pytest
import scripted_model
from agent_clients import Aider, Codex, Continue, OpenCode, Qwen
from agent_room import Room

BLOCK = 16  # tokens: the cache keeps whole blocks
SHARED = 0.98  # of a prompt whose end alone differs


class Session:
    """A client in a room with a server."""

    def __init__(self, client, room):
        self.client, self.room = client, room
        (room.work / scripted_model.FILE).write_text(scripted_model.WORD + "\n")

    def connect(self):
        """Lets `folio connect` tell the client of the server, twice: the second time there is nothing left to do."""
        args = [self.room.folio, "connect", self.client.name, "--url", self.room.server.url]
        printed, *runs = (self.room.run(*args, *more) for more in ([], ["--write"], ["--write"]))
        assert [run.code for run in (printed, *runs)] == [0, 0, 0], runs
        files = re.findall(r"wrote (.*)", runs[0].err)
        assert printed.out == "".join(open(file, encoding="utf-8").read() for file in files) != ""
        assert runs[1].err.count("has it already") == len(files)

    def ask(self, text, answer, resume=False):
        """The requests of one run, without side requests: those are much shorter than the conversation."""
        run = self.room.run(*self.client.command(text, resume), env=self.client.environment)
        assert run.code == 0, run
        assert self.client.answer(run) == answer, run
        longest = max(turn.prompt for turn in run.turns)
        return run, [turn for turn in run.turns if turn.prompt > 0.75 * longest]


@pytest.fixture
def session(folio, scripted, tmp_path):
    rooms = []

    def start(client):
        rooms.append(Room(folio, scripted, tmp_path))
        running = Session(client, rooms[0])
        running.connect()
        return running

    yield start
    for room in rooms:
        room.close()


def check_metrics(room):
    """The log's lines and the metrics tell the same."""
    metrics = room.server.metrics()
    assert metrics["vllm:prompt_tokens_total"] == sum(turn.prompt for turn in room.turns)
    assert metrics["vllm:prefix_cache_hits_total"] == sum(turn.cached for turn in room.turns)


def goes_on(turn, earlier):
    """Whether all of an earlier turn was there, its reply too: every whole block, but for the reply's last token, which
    nothing was computed of."""
    return turn.cached >= (earlier.prompt + earlier.generated - 1) // BLOCK * BLOCK


def ask_and_resume(session):
    """A plain question, and one more in the same session."""
    _, [first] = session.ask("What is the capital of France?", scripted_model.PLAIN)
    _, [second] = session.ask("Say it again.", scripted_model.PLAIN, resume=True)
    assert second.prompt > first.prompt + first.generated and goes_on(second, first)


def call_a_tool_and_resume(session):
    """A fresh session that begins as an earlier one: a tool call, its result, and one more question."""
    _, [call, result] = session.ask(f"What does {scripted_model.FILE} say?", scripted_model.AFTER_CALL)
    assert call.cached >= SHARED * call.prompt, "system prompt and tools are computed already"
    assert result.prompt > call.prompt + call.generated and goes_on(result, call)
    _, [resumed] = session.ask("Thanks.", scripted_model.PLAIN, resume=True)
    assert goes_on(resumed, result)


def test_codex_asks_calls_a_tool_and_resumes(session):
    codex = session(Codex())
    ask_and_resume(codex)
    call_a_tool_and_resume(codex)
    check_metrics(codex.room)


def test_codex_is_told_the_usage_that_the_server_counted(session):
    codex = session(Codex())
    run, [turn] = codex.ask("What is the capital of France?", scripted_model.PLAIN)
    usage = run.events()[-1]["usage"]
    assert (usage["input_tokens"], usage["cached_input_tokens"], usage["output_tokens"]) == (turn.prompt, 0, turn.generated)
    assert turn.prompt > 8000, "the model is shown all of its tools"


def test_continue_asks_calls_a_tool_and_resumes(session):
    agent = session(Continue())
    ask_and_resume(agent)
    call_a_tool_and_resume(agent)
    check_metrics(agent.room)


def test_qwen_code_resumes_beside_a_request_of_its_own(session):
    """After an answer it asks for what to remember, with another system prompt: that doesn't end the session's cache."""
    agent = session(Qwen())
    ask_and_resume(agent)
    assert len(agent.room.turns) > 2
    check_metrics(agent.room)


@pytest.mark.long
def test_qwen_code_calls_a_tool_in_a_session_after_another(session):
    agent = session(Qwen())
    agent.ask("What is the capital of France?", scripted_model.PLAIN)
    call_a_tool_and_resume(agent)


@pytest.mark.long
def test_opencode_asks_calls_a_tool_and_resumes(session):
    agent = session(OpenCode())
    ask_and_resume(agent)
    call_a_tool_and_resume(agent)
    check_metrics(agent.room)


@pytest.mark.long
def test_aider_shares_what_stands_in_front_of_its_files(session):
    """It has the contents of files behind the history: what follows them is moved by each turn."""
    agent = session(Aider())
    _, [first] = agent.ask("What is the capital of France?", scripted_model.PLAIN)
    _, [second] = agent.ask("Say it again.", scripted_model.PLAIN, resume=True)
    assert 0.5 * first.prompt < second.cached < first.prompt
