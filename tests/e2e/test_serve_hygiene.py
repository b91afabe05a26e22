"""What is mended so that prompts are found again is told, in the log and in explanations, and each kind has its own switch; what a
request asks for that can't be had here is told too."""
import pytest
from chat_prompts import prompt_tokens
from server import MODEL, fresh_key

USER = {"role": "user", "content": "What is the capital of France?"}
HEADER = "x-anthropic-billing-header: cc_version=2.1.268.00a; cch=00a1b;\n"
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}} for name in ("write", "read")]
SYSTEM = {"role": "system", "content": "You are a careful coder. Never guess what a file says: read it. " * 12}


def chat(server, key, messages, **more):
    return server.post("/v1/chat/completions", {"model": MODEL, "temperature": 0, "max_tokens": 4, "messages": messages, **more}, key).json()


def explained(server, key, reply):
    return server.get(f"/v1/cache/explain/{reply['id']}", authorization=f"Bearer {key}").json()


def line_of(server, reply):
    bare = reply["id"].split("_")[-1].split("-")[-1]
    return server.wait_for_line(f".* {bare} .*")[0]


def test_what_was_mended_is_told(server, key):
    reply = chat(server, key, [{"role": "system", "content": HEADER + "Be brief."}, USER], tools=TOOLS)
    notes = ["client's billing header left out", "tools sorted by name", "members of tools' schemas put in order"]
    assert explained(server, key, reply)["notes"] == notes
    assert line_of(server, reply).endswith("; " + "; ".join(notes))
    assert explained(server, key, chat(server, key, [USER]))["notes"] == []


LEFT_OUT = {
    "/v1/chat/completions": ({"messages": [USER], "max_tokens": 1, "tools": [{"type": "web_search"}]}, "tools[0]: 'web_search' can't run here: left out"),
    "/v1/responses": ({"input": "Hi", "max_output_tokens": 16, "tools": [{"type": "web_search"}]}, "tools[0]: 'web_search' can't run here: left out"),
    "/v1/messages": ({"messages": [USER], "max_tokens": 1, "tools": [{"type": "web_search_20250305", "name": "web_search"}]},
                     "tools[0]: 'web_search_20250305' left out: isn't known here"),
}


@pytest.mark.parametrize("path", LEFT_OUT)
def test_tools_that_cannot_run_here_are_told(server, key, path):
    body, note = LEFT_OUT[path]
    reply = server.post(path, {"model": MODEL, **body}, key).json()
    assert line_of(server, reply).endswith("; " + note)
    assert explained(server, key, reply)["notes"] == [note]


def test_a_body_cannot_fill_the_log(server, key):
    reply = chat(server, key, [USER], tools=[{"type": "x" * 50}] * 500)
    assert len(line_of(server, reply)) < 4000


@pytest.mark.parametrize("kinds, header, by_name", [("none", True, False), ("tool-order", True, True), ("client-headers,schema-order", False, False)])
def test_each_kind_has_its_switch(serve, smollm2, kinds, header, by_name):
    own = serve(smollm2, "--hygiene", kinds).wait()
    body = {"model": MODEL, "messages": [USER], "system": [{"type": "text", "text": HEADER}]}
    kept = [("system", HEADER)] if header else []
    assert own.anthropic().messages.count_tokens(**body).input_tokens == len(prompt_tokens(own, *kept, (USER["role"], USER["content"])))
    key = fresh_key()
    notes = explained(own, key, chat(own, key, [USER], tools=TOOLS))["notes"]
    assert ("tools sorted by name" in notes) == by_name


def test_kinds_that_are_none_are_named(folio, smollm2):
    outcome = folio("serve", smollm2, "--hygiene", "default,tools")
    assert outcome.code == 2 and "'tools'" in outcome.err and "session-tools" in outcome.err


def session(server, key):
    """A turn with tools, then the same conversation and a task without them. -> the second's reply, and how long the first's prompt was."""
    turn = [SYSTEM, USER]
    first = chat(server, key, turn, tools=TOOLS)
    text = first["choices"][0]["message"]["content"]
    task = [*turn, {"role": "assistant", "content": text}, {"role": "user", "content": "Summarise what was said so far."}]
    return first["usage"]["prompt_tokens"], task


def test_a_compaction_finds_its_session_where_it_is_shown_the_tools(serve, smollm2):
    own = serve(smollm2, "--hygiene", "default,session-tools").wait()
    key = fresh_key()
    prompt, task = session(own, key)
    with_tools = own.openai(key).chat.completions.create(model=MODEL, messages=task, tools=TOOLS, max_tokens=1).usage.prompt_tokens
    for more in ({}, {"tools": TOOLS, "tool_choice": "none"}):
        reply = chat(own, key, task, **more)
        assert reply["usage"]["prompt_tokens"] == with_tools
        assert reply["usage"]["prompt_tokens_details"]["cached_tokens"] >= prompt // 16 * 16
        assert "shown its conversation's tools, which it didn't offer" in explained(own, key, reply)["notes"]
        assert not reply["choices"][0]["message"].get("tool_calls")
    plain = len(prompt_tokens(own, *((m["role"], m["content"]) for m in task)))
    assert chat(own, fresh_key(), task)["usage"]["prompt_tokens"] == plain  # another's session
    assert own.post("/v1/messages/count_tokens", {"model": MODEL, "system": SYSTEM["content"], "messages": task[1:]}, key).json()["input_tokens"] == with_tools


def test_by_default_a_request_without_tools_has_none(server, key):
    _, task = session(server, key)
    assert chat(server, key, task)["usage"]["prompt_tokens"] == len(prompt_tokens(server, *((m["role"], m["content"]) for m in task)))
