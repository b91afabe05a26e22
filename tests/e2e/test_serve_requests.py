"""Requests in forms that clients send seldom: custom calls sent back, results without a text, media, usage of completions."""
import openai
import pytest
from server import MODEL

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": 2, "temperature": 0}
CHAT = "/v1/chat/completions"


@pytest.mark.parametrize("turn", range(8))
def test_a_unix_socket_is_removed(serve, tiny_models, tmp_path, turn):
    path = tmp_path / f"{turn}.sock"
    own = serve(tiny_models("qwen3"), "--unix-socket", path).wait()
    assert path.exists()
    own.stop()
    assert not path.exists()


def test_a_streamed_completions_usage_comes_if_asked_for(client):
    body = {"model": MODEL, "prompt": "The capital of France is", "max_tokens": 8, "temperature": 0}
    whole = client.completions.create(**body).usage
    with client.completions.create(**body, stream=True, stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1) and chunks[-1].choices == []
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (whole.prompt_tokens, whole.completion_tokens)


def test_a_token_past_the_vocabulary_is_named(server):
    reply = server.post("/v1/completions", {"prompt": [5, 49152], "max_tokens": 1})
    assert reply.status == 400 and reply.json()["error"]["param"] in ("prompt", "prompt[1]")


TOOL = {"name": "look", "description": "Looks", "input_schema": {"type": "object", "properties": {}}}


def test_anthropics_diagnostics_name_changed_tools(claude):
    first = claude.messages.create(model=MODEL, max_tokens=1, system="Be terse.", messages=BODY["messages"], tools=[TOOL])
    changed = {**TOOL, "description": "Looks again"}
    told = (claude.messages.create(model=MODEL, max_tokens=1, extra_body={"diagnostics": {"previous_message_id": first.id}}, system="Be terse.", messages=BODY["messages"], tools=[changed])).to_dict()["diagnostics"]
    assert told["cache_miss_reason"]["type"] == "tools_changed"


def test_a_custom_call_comes_back(server, key):
    def count(call):
        messages = [BODY["messages"][0], {"role": "assistant", "content": None, "tool_calls": [{"id": "a", **call}]}, {"role": "tool", "tool_call_id": "a", "content": "x"}]
        reply = server.post(CHAT, {"messages": messages, "max_tokens": 1, "tools": [{"type": "custom", "custom": {"name": "f"}}]}, key)
        assert reply.status == 200, reply.body
        return reply.json()["usage"]["prompt_tokens"]

    assert count({"type": "custom", "custom": {"name": "f", "input": "y"}}) == count({"type": "function", "function": {"name": "f", "arguments": '{"input":"y"}'}})


def test_too_many_choices_are_named(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**{**BODY, "n": 128})
    assert caught.value.param == "n"


@pytest.mark.parametrize("content", [{"content": None}, {}, {"content": []}], ids=["null", "absent", "no-parts"])
def test_a_result_may_be_empty(server, key, content):
    def count(result):
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages = [BODY["messages"][0], {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "a", **result}]
        reply = server.post(CHAT, {"messages": messages, "max_tokens": 1}, key)
        assert reply.status == 200, reply.body
        return reply.json()["usage"]["prompt_tokens"]

    assert count(content) == count({"content": ""})


def test_media_of_chat_become_a_note(serve, smollm2):
    own = serve(smollm2, "--drop-media").wait()

    def count(part):
        return own.openai().chat.completions.create(model=MODEL, messages=[{"role": "user", "content": [{"type": "text", "text": "Look: "}, part]}], max_tokens=1).usage.prompt_tokens

    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert count(image) == count({"type": "text", "text": "[image left out: only text is read here]"})
