"""Chat completions as OpenAI's SDK reads them: whole, streamed, and through its stream helper."""
import math

import pytest
from chat_prompts import decode, encode, prompt_tokens
from server import MODEL

USER = {"role": "user", "content": "What is the capital of France?"}
ANSWER = "The capital of France is Paris."
LONG = {"role": "user", "content": "Write a long story about a dragon."}
GREEDY = {"model": MODEL, "temperature": 0}


def create(client, messages=(USER,), **fields):
    return client.chat.completions.create(messages=list(messages), **{**GREEDY, "max_tokens": 12, **fields})


def test_a_reply_is_a_chat_completion(client, smollm2):
    reply = create(client)
    assert (reply.object, reply.choices[0].message.role, reply.choices[0].message.content) == ("chat.completion", "assistant", ANSWER)
    assert reply.choices[0].index == 0 and reply.choices[0].finish_reason == "stop" and reply.choices[0].logprobs is None
    assert reply.id.startswith("chatcmpl-") and reply.created > 1.7e9 and reply.model == smollm2.stem
    assert reply.choices[0].message.tool_calls is None and reply.choices[0].message.refusal is None


def test_usage_counts_the_prompt_and_the_reply(client, server):
    usage = create(client).usage
    prompt = prompt_tokens(server, ("user", USER["content"]))
    reply = len(encode(server, ANSWER)) + 1  # and the end token
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (len(prompt), reply, len(prompt) + reply)
    assert usage.prompt_tokens_details.cached_tokens == 0 and usage.completion_tokens_details.reasoning_tokens == 0


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_length_ends_a_reply(client, name):
    reply = client.chat.completions.create(messages=[LONG], **GREEDY, **{name: 3})
    assert reply.choices[0].finish_reason == "length" and reply.usage.completion_tokens == 3


def test_headers_name_the_request_and_what_was_cached(client, server):
    raw = client.chat.completions.with_raw_response.create(messages=[USER], **GREEDY, max_tokens=2)
    reply = raw.parse()
    assert raw.request_id == f"req_{reply.id.removeprefix('chatcmpl-')}" == reply._request_id
    assert raw.headers["x-folio-cache"].startswith(f"cached=0, prompt={reply.usage.prompt_tokens}, reason=first_seen")
    assert raw.headers["content-type"] == "application/json"
    server.wait_for_line(f"{raw.request_id.removeprefix('req_')} ok: prompt {reply.usage.prompt_tokens} ")


def chunks_of(client, **fields):
    with create(client, stream=True, **fields) as stream:
        return list(stream)


def test_a_stream_has_role_text_and_reason_in_this_order(client):
    chunks = chunks_of(client)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert deltas[0].role == "assistant" and not any(delta.role for delta in deltas[1:])
    assert "".join(delta.content or "" for delta in deltas) == ANSWER
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert not deltas[-1].content and len(chunks) > 4


def test_chunks_of_a_stream_are_of_one_reply(client):
    chunks = chunks_of(client)
    assert len({(chunk.id, chunk.created, chunk.model, chunk.object) for chunk in chunks}) == 1
    assert chunks[0].object == "chat.completion.chunk" and all(chunk.choices[0].index == 0 for chunk in chunks)


def test_usage_comes_in_a_chunk_of_its_own_if_asked_for(client):
    chunks = chunks_of(client, stream_options={"include_usage": True})
    assert [chunk.usage for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
    assert chunks[-1].choices == []
    assert chunks[-1].usage.to_dict() | {"prompt_tokens_details": None} == create(client).usage.to_dict() | {"prompt_tokens_details": None}


def test_no_usage_if_not_asked_for(client):
    assert all(chunk.usage is None for chunk in chunks_of(client))


def test_a_stream_on_the_wire_ends_with_done(server):
    reply = server.post("/v1/chat/completions", {**GREEDY, "messages": [USER], "max_tokens": 2, "stream": True})
    events = reply.body.decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""] and all(event.startswith("data: {") for event in events[:-2])
    assert reply.headers["content-type"].startswith("text/event-stream") and reply.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("fields", [{}, {"logprobs": True, "top_logprobs": 3}, {"n": 2}, {"stop": ["France"]},
                                    {"temperature": 1, "seed": 5}], ids=lambda fields: "-".join(fields) or "plain")
def test_a_stream_says_what_a_whole_reply_says(client, fields):
    whole = create(client, **fields)
    texts, logprobs, reasons = {}, {}, {}
    for chunk in chunks_of(client, **fields):
        choice = chunk.choices[0]
        texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
        if choice.logprobs:
            logprobs.setdefault(choice.index, []).extend(entry.to_dict() for entry in choice.logprobs.content)
        reasons[choice.index] = choice.finish_reason or reasons.get(choice.index)
    for choice in whole.choices:
        assert texts[choice.index] == choice.message.content and reasons[choice.index] == choice.finish_reason
        told = [entry.to_dict() for entry in choice.logprobs.content] if choice.logprobs else None
        assert logprobs.get(choice.index) == told


def test_the_stream_helper_tells_deltas_and_the_whole(client):
    with client.chat.completions.stream(messages=[USER], **GREEDY, max_tokens=12) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    deltas = [event.delta for event in events if event.type == "content.delta"]
    assert "".join(deltas) == ANSWER == final.choices[0].message.content
    assert [event.content for event in events if event.type == "content.done"] == [ANSWER]
    assert final.choices[0].finish_reason == "stop"


def test_the_stream_helper_has_usage_and_logprobs(client):
    with client.chat.completions.stream(messages=[USER], **GREEDY, max_tokens=12, logprobs=True,
                                        stream_options={"include_usage": True}) as stream:
        final = stream.until_done().get_final_completion()
    assert final.usage.completion_tokens == create(client).usage.completion_tokens
    assert "".join(entry.token for entry in final.choices[0].logprobs.content) == ANSWER


def test_logprobs_are_of_the_tokens_of_the_text(client, server):
    content = create(client, logprobs=True, top_logprobs=4).choices[0].logprobs.content
    assert [entry.token for entry in content] == [decode(server, [token]) for token in encode(server, ANSWER)]
    for entry in content:
        assert bytes(entry.bytes).decode() == entry.token and entry.logprob <= 0
        top = [other.logprob for other in entry.top_logprobs]
        assert len(top) == 4 and top == sorted(top, reverse=True) and sum(map(math.exp, top)) <= 1.001
        assert top[0] == entry.logprob  # greedy


def test_logprobs_without_top_have_none(client):
    content = create(client, logprobs=True, max_tokens=2).choices[0].logprobs.content
    assert len(content) == 2 and all(entry.top_logprobs == [] for entry in content)


@pytest.mark.parametrize("stop, text", [("France", "The capital of "), (["nowhere", " is"], "The capital of France"), (["T"], ""),
                                        ("ital of Fra", "The cap")])
def test_stop_strings_end_a_reply_before_them(client, stop, text):
    choice = create(client, stop=stop).choices[0]
    assert (choice.message.content, choice.finish_reason) == (text, "stop")
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks_of(client, stop=stop)) == text


def test_n_makes_choices_that_share_the_prompt(client):
    reply = create(client, messages=[LONG], n=3, temperature=1.0, seed=11, max_tokens=6)
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in reply.choices}) > 1
    one = create(client, messages=[LONG], max_tokens=6)
    assert reply.usage.prompt_tokens == one.usage.prompt_tokens and reply.usage.completion_tokens == 18


def test_every_choice_of_a_stream_has_its_role_and_its_end(client):
    chunks = chunks_of(client, n=3)
    for index in range(3):
        mine = [chunk.choices[0] for chunk in chunks if chunk.choices[0].index == index]
        assert mine[0].delta.role == "assistant" and mine[-1].finish_reason == "stop"
        assert "".join(choice.delta.content or "" for choice in mine) == ANSWER  # greedy: all alike


def test_the_same_seed_makes_the_same_text(client):
    texts = [create(client, messages=[LONG], temperature=1.2, seed=seed, max_tokens=10).choices[0].message.content for seed in (7, 7, 8)]
    assert texts[0] == texts[1] != texts[2]


def test_without_a_seed_texts_differ(client):
    texts = {create(client, messages=[LONG], temperature=1.5, max_tokens=10).choices[0].message.content for _ in range(3)}
    assert len(texts) > 1


def test_the_sdks_plain_calls_parse(client):
    reply = client.chat.completions.parse(messages=[USER], **GREEDY, max_tokens=12)
    assert reply.choices[0].message.content == ANSWER and reply.choices[0].message.parsed is None


def test_a_conversation_goes_on(client, server):
    messages = [USER, {"role": "assistant", "content": ANSWER}, {"role": "user", "content": "And of Italy?"}]
    reply = create(client, messages=messages)
    assert reply.usage.prompt_tokens == len(prompt_tokens(server, *((m["role"], m["content"]) for m in messages)))
    assert "Rome" in reply.choices[0].message.content


def test_text_beyond_ascii_goes_both_ways(client, server):
    text = "Zürich, 東京 \U0001f680 \u0000 <|im_end|> \\ \" é"
    reply = create(client, messages=[{"role": "user", "content": text}], max_tokens=2)
    rendered = prompt_tokens(server, ("user", "X"))
    plain = len(rendered) - len(encode(server, "X")) + len(encode(server, text))
    assert reply.usage.prompt_tokens == plain  # a control token's spelling in a message is text
