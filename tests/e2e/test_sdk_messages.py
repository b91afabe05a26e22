"""Anthropic's Messages as its SDK reads them: whole, streamed, through the stream helper, counted."""
import json

import anthropic
import pytest
from chat_prompts import encode, prompt_tokens
from server import MODEL

USER = {"role": "user", "content": "What is the capital of France?"}
ANSWER = "The capital of France is Paris."
GREEDY = {"model": MODEL, "extra_body": {"temperature": 0}}


def create(claude, messages=(USER,), **fields):
    return claude.messages.create(messages=list(messages), **{**GREEDY, "max_tokens": 12, **fields})


def test_a_reply_is_a_message(claude, smollm2):
    reply = create(claude)
    assert (reply.type, reply.role, reply.model, reply.stop_reason) == ("message", "assistant", smollm2.stem, "end_turn")
    assert [(block.type, block.text) for block in reply.content] == [("text", ANSWER)]
    assert reply.id.startswith("msg_") and reply.stop_sequence is None
    assert reply._request_id == f"req_{reply.id.removeprefix('msg_')}"


def test_usage_counts_the_prompt_and_the_reply(claude, server):
    usage = create(claude).usage
    assert usage.input_tokens == len(prompt_tokens(server, ("user", USER["content"])))
    assert usage.output_tokens == len(encode(server, ANSWER)) + 1
    assert usage.cache_read_input_tokens == usage.cache_creation_input_tokens == 0
    assert (usage.cache_creation.ephemeral_5m_input_tokens, usage.cache_creation.ephemeral_1h_input_tokens) == (0, 0)


def test_max_tokens_ends_a_reply(claude):
    reply = create(claude, max_tokens=3)
    assert (reply.stop_reason, reply.usage.output_tokens) == ("max_tokens", 3)


@pytest.mark.parametrize("stream", [False, True])
def test_no_tokens_asked_for_are_none_told(claude, stream):
    body = {"model": MODEL, "max_tokens": 0, "messages": [USER]}
    if stream:
        with claude.messages.stream(**body) as events:
            reply = events.get_final_message()
    else:
        reply = claude.messages.create(**body)
    assert (reply.content, reply.stop_reason, reply.usage.output_tokens) == ([], "max_tokens", 0)


@pytest.mark.parametrize("stops, text", [(["France"], "The capital of "), (["nowhere", " is"], "The capital of France"), (["T"], "")])
def test_stop_sequences_end_a_reply_before_them(claude, stops, text):
    reply = create(claude, stop_sequences=stops)
    assert (reply.stop_reason, reply.stop_sequence) == ("stop_sequence", stops[-1])
    assert "".join(block.text for block in reply.content) == text


def events_of(claude, **fields):
    with create(claude, stream=True, **fields) as stream:
        return list(stream)


def test_a_stream_has_its_events_in_order(claude):
    events = events_of(claude)
    kinds = [event.type for event in events if event.type != "ping"]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"} and len(kinds) > 8
    assert {event.index for event in events if hasattr(event, "index")} == {0}


def test_a_streams_start_has_all_of_a_message_but_its_content(claude, server):
    start = events_of(claude)[0].message
    assert (start.type, start.role, start.content, start.stop_reason, start.stop_sequence) == ("message", "assistant", [], None, None)
    assert start.id.startswith("msg_") and start.usage.output_tokens <= 1
    assert start.usage.input_tokens == len(prompt_tokens(server, ("user", USER["content"])))


def test_a_streams_end_has_the_reason_and_the_usage(claude):
    delta = [event for event in events_of(claude) if event.type == "message_delta"]
    assert len(delta) == 1 and delta[0].delta.stop_reason == "end_turn" and delta[0].delta.stop_sequence is None
    whole = create(claude).usage
    assert delta[0].usage.output_tokens == whole.output_tokens
    total = sum((whole.input_tokens, whole.cache_read_input_tokens, whole.cache_creation_input_tokens))
    assert sum((delta[0].usage.input_tokens, delta[0].usage.cache_read_input_tokens, delta[0].usage.cache_creation_input_tokens)) == total


def test_every_event_on_the_wire_is_named(server):
    reply = server.post("/v1/messages", {"model": MODEL, "temperature": 0, "messages": [USER], "max_tokens": 2, "stream": True})
    events = reply.body.decode().split("\n\n")
    assert events.pop() == ""
    for event in events:
        name, data = event.split("\n")
        assert name == f"event: {json.loads(data.removeprefix('data: '))['type']}"
    assert reply.headers["content-type"].startswith("text/event-stream") and reply.headers["request-id"].startswith("req_")


@pytest.mark.parametrize("fields", [{}, {"stop_sequences": ["France"]}, {"max_tokens": 2}, {"stop_sequences": ["The"]}],
                         ids=["plain", "stopped", "cut", "empty"])
def test_a_stream_says_what_a_whole_reply_says(claude, fields):
    whole = create(claude, **fields)
    with claude.messages.stream(messages=[USER], **{**GREEDY, "max_tokens": 12, **fields}) as stream:
        final = stream.get_final_message()
    assert [block.text for block in final.content] == [block.text for block in whole.content]
    assert (final.stop_reason, final.stop_sequence, final.role) == (whole.stop_reason, whole.stop_sequence, "assistant")
    assert final.usage.output_tokens == whole.usage.output_tokens


def test_the_stream_helper_tells_text_as_it_comes(claude):
    with claude.messages.stream(messages=[USER], **GREEDY, max_tokens=12) as stream:
        texts = list(stream.text_stream)
        assert stream.get_final_text() == ANSWER
    assert "".join(texts) == ANSWER and len(texts) > 4


def test_the_stream_helper_tells_snapshots_and_blocks(claude):
    with claude.messages.stream(messages=[USER], **GREEDY, max_tokens=12) as stream:
        events = list(stream)
    texts = [event for event in events if event.type == "text"]
    assert texts[-1].snapshot == ANSWER and texts[0].snapshot == texts[0].text
    assert [event.content_block.text for event in events if event.type == "content_block_stop"] == [ANSWER]
    assert [event.message.stop_reason for event in events if event.type == "message_stop"] == ["end_turn"]


@pytest.mark.parametrize("body", [
    {"messages": [USER]},
    {"messages": [USER], "system": "You are terse."},
    {"messages": [USER], "system": [{"type": "text", "text": "You are "}, {"type": "text", "text": "terse."}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "text", "text": " there"}]}]},
    {"messages": [USER, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "And of Italy?"}]},
], ids=["plain", "system", "system-blocks", "blocks", "turns"])
def test_counted_tokens_are_those_of_the_prompt(claude, server, body):
    messages = [(m["role"], text_of(m["content"])) for m in body["messages"]]
    if "system" in body:
        messages.insert(0, ("system", text_of(body["system"])))
    expected = len(prompt_tokens(server, *messages))
    assert claude.messages.count_tokens(model=MODEL, **body).input_tokens == expected
    assert create(claude, max_tokens=1, **body).usage.input_tokens == expected


def text_of(content):
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def test_beta_calls_answer_too(claude):
    reply = claude.beta.messages.create(messages=[USER], **GREEDY, max_tokens=12, betas=["context-1m-2025-08-07", "nobody-knows-2031-01-01"])
    assert reply.content[0].text == ANSWER
    assert claude.beta.messages.count_tokens(model=MODEL, messages=[USER]).input_tokens == sum(
        (reply.usage.input_tokens, reply.usage.cache_read_input_tokens))


def test_a_path_with_a_query_is_the_same_path(server):
    body = {"model": MODEL, "max_tokens": 1, "messages": [USER]}
    assert server.post("/v1/messages?beta=true", body).status == 200
    assert server.post("/v1/messages/count_tokens?beta=true", body).status == 200


@pytest.mark.parametrize("headers", [{"x-api-key": "a"}, {"authorization": "Bearer a"}, {}, {"x-api-key": "a", "anthropic-version": "2023-06-01"},
                                     {"anthropic-version": "2026-10-21"}, {"anthropic-version": "tomorrow"}],
                         ids=["x-api-key", "bearer", "none", "2023", "2026", "odd"])
def test_any_version_and_either_key_header_is_taken(server, headers):
    reply = server.request("POST", "/v1/messages", {"model": MODEL, "max_tokens": 1, "messages": [USER]}, headers)
    assert reply.status == 200 and reply.json()["type"] == "message"


def test_a_seed_makes_the_same_text(claude):
    texts = [create(claude, extra_body={"temperature": 1.2, "seed": seed}).content[0].text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_models_are_told_in_anthropics_form(claude, smollm2):
    models = list(claude.models.list())
    assert [model.id for model in models] == [smollm2.stem]
    model = claude.models.retrieve(smollm2.stem)
    assert model.type == "model" and model.display_name and model.created_at.year >= 2026
    assert model.max_input_tokens == 8192
    with pytest.raises(anthropic.NotFoundError) as caught:
        claude.models.retrieve("another")
    assert caught.value.type == "not_found_error"


# Threads: this server keeps no conversation, and says so as the SDK understands.

@anthropic.beta_tool
def add(a: int, b: int) -> str:
    """Adds two numbers.

    Args:
        a: one number
        b: the other
    """
    return str(a + b)


def test_a_tool_runner_falls_back_to_whole_conversations(claude):
    runner = claude.beta.messages.tool_runner(messages=[USER], tools=[add], **GREEDY, max_tokens=4)
    reply = runner.until_done()
    assert reply.stop_reason == "max_tokens" and reply.content[0].text


@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_0"}], ids=lambda t: t["type"])
def test_threads_are_refused_with_the_error_that_makes_the_sdk_replay(claude, thread):
    with pytest.raises(anthropic.BadRequestError) as caught:
        create(claude, extra_body={"thread": thread})
    details = caught.value.body["error"]["details"]
    assert details == {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}


def test_thinking_and_effort_and_unknown_fields_pass(claude):
    reply = create(claude, thinking={"type": "adaptive"}, output_config={"effort": "high"}, metadata={"user_id": "someone"},
                   extra_body={"temperature": 0, "speed": "fast", "context_management": {"edits": []}, "never_heard_of": [1]})
    assert reply.content[0].text == ANSWER


def test_thinking_of_earlier_turns_is_taken(claude):
    messages = [USER, {"role": "assistant", "content": [{"type": "thinking", "thinking": "Paris.", "signature": "abc"},
                                                        {"type": "redacted_thinking", "data": "x"},
                                                        {"type": "text", "text": ANSWER}]}, {"role": "user", "content": "And of Italy?"}]
    plain = [USER, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "And of Italy?"}]
    # This model's template has no place for thinking.
    assert claude.messages.count_tokens(model=MODEL, messages=messages) == claude.messages.count_tokens(model=MODEL, messages=plain)
