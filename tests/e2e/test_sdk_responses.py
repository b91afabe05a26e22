"""OpenAI's Responses as its SDK reads them: whole, streamed, through the stream helper, and stored."""
import json

import openai
import pytest
from chat_prompts import encode, prompt_tokens
from server import MODEL, fresh_key

QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
LONG = "Write a long story about a dragon."
GREEDY = {"model": MODEL, "temperature": 0}


def create(client, given=QUESTION, **fields):
    return client.responses.create(input=given, **{**GREEDY, "max_output_tokens": 16, **fields})


def test_a_reply_is_a_response(client, smollm2):
    reply = create(client)
    assert (reply.object, reply.status, reply.model, reply.output_text) == ("response", "completed", smollm2.stem, ANSWER)
    assert [(item.type, item.role, item.status) for item in reply.output] == [("message", "assistant", "completed")]
    assert [part.type for part in reply.output[0].content] == ["output_text"] and reply.output[0].content[0].annotations == []
    assert reply.id.startswith("resp_") and reply.output[0].id.startswith("msg_") and reply.created_at > 1.7e9
    assert reply.error is None and reply.incomplete_details is None
    assert reply._request_id == f"req_{reply.id.removeprefix('resp_')}"


def test_usage_counts_the_prompt_and_the_reply(client, server):
    usage = create(client).usage
    prompt, reply = len(prompt_tokens(server, ("user", QUESTION))), len(encode(server, ANSWER)) + 1
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (prompt, reply, prompt + reply)
    assert usage.input_tokens_details.cached_tokens == 0 and usage.output_tokens_details.reasoning_tokens == 0


def test_what_was_asked_for_is_told_again(client):
    reply = create(client, instructions="Be terse.", metadata={"a": "b"}, parallel_tool_calls=False, top_p=0.5, prompt_cache_key="k", store=False,
                   user="me", reasoning={"effort": "low"}, text={"verbosity": "low"})
    assert (reply.instructions, reply.metadata, reply.parallel_tool_calls, reply.top_p) == ("Be terse.", {"a": "b"}, False, 0.5)
    assert (reply.prompt_cache_key, reply.store, reply.user, reply.reasoning.effort) == ("k", False, "me", "low")
    assert (reply.temperature, reply.max_output_tokens, reply.tool_choice, reply.tools) == (0, 16, "auto", [])
    assert reply.text.format.type == "text" and reply.text.verbosity == "low"


def test_length_makes_a_reply_incomplete(client):
    reply = create(client, max_output_tokens=3)
    assert (reply.status, reply.incomplete_details.reason, reply.usage.output_tokens) == ("incomplete", "max_output_tokens", 3)
    assert reply.output[0].status == "incomplete" and ANSWER.startswith(reply.output_text) and reply.output_text


def events_of(client, **fields):
    with create(client, stream=True, **fields) as stream:
        return list(stream)


def test_a_stream_has_its_events_in_order(client):
    kinds = [event.type.removeprefix("response.") for event in events_of(client)]
    deltas = kinds.count("output_text.delta")
    assert kinds == ["created", "in_progress", "output_item.added", "content_part.added", *["output_text.delta"] * deltas, "output_text.done",
                     "content_part.done", "output_item.done", "completed"]
    assert deltas > 4


def test_a_streams_events_are_numbered_and_of_one_response(client):
    events = events_of(client)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert len({event.response.id for event in events if hasattr(event, "response")}) == 1
    items = {event.item_id for event in events if hasattr(event, "item_id")} | {event.item.id for event in events if hasattr(event, "item")}
    assert len(items) == 1
    assert {event.output_index for event in events if hasattr(event, "output_index")} == {0}


def test_a_streams_text_is_told_four_times_alike(client):
    events = events_of(client)
    last = {event.type: event for event in events}
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == ANSWER
    assert last["response.output_text.done"].text == last["response.content_part.done"].part.text == ANSWER
    assert last["response.output_item.done"].item.content[0].text == ANSWER == last["response.completed"].response.output_text
    assert last["response.output_item.done"].item == last["response.completed"].response.output[0]
    assert last["response.output_item.added"].item.content == [] and last["response.created"].response.output == []


@pytest.mark.parametrize("fields", [{}, {"max_output_tokens": 2}, {"temperature": 1, "extra_body": {"seed": 4}},
                                    {"top_logprobs": 2, "include": ["message.output_text.logprobs"]}], ids=["plain", "cut", "seed", "logprobs"])
def test_a_streams_end_is_the_whole_reply(client, fields):
    whole, streamed = create(client, **fields).to_dict(), events_of(client, **fields)[-1].response.to_dict()
    for reply in (whole, streamed):
        for name in ("id", "created_at", "completed_at"):
            reply.pop(name, None)
        reply["output"][0].pop("id")
        reply["usage"].pop("input_tokens_details")  # the second finds the first in the cache
    assert streamed == whole


def test_every_event_on_the_wire_is_named(server):
    reply = server.post("/v1/responses", {**GREEDY, "input": QUESTION, "max_output_tokens": 2, "stream": True})
    events = reply.body.decode().split("\n\n")
    assert events.pop() == ""
    for event in events:
        name, data = event.split("\n")
        assert name == f"event: {json.loads(data.removeprefix('data: '))['type']}"
    assert events[-1].startswith("event: response.incomplete\n")
    assert reply.headers["content-type"].startswith("text/event-stream")


def test_the_stream_helper_tells_deltas_and_the_whole(client):
    with client.responses.stream(input=QUESTION, **GREEDY, max_output_tokens=16) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == ANSWER == final.output_text
    assert [event.snapshot for event in events if event.type == "response.output_text.delta"][-1] == ANSWER
    assert final.status == "completed" and final.usage.output_tokens > 0


def test_the_parse_helper_takes_plain_text(client):
    reply = client.responses.parse(input=QUESTION, **GREEDY, max_output_tokens=16)
    assert reply.output_text == ANSWER and reply.output_parsed is None


def test_logprobs_come_with_the_text(client, server):
    reply = create(client, top_logprobs=2, include=["message.output_text.logprobs"])
    logprobs = reply.output[0].content[0].logprobs
    assert len(logprobs) == len(encode(server, ANSWER)) and "".join(entry.token for entry in logprobs) == ANSWER
    assert all(len(entry.top_logprobs) == 2 and entry.top_logprobs[0].logprob == entry.logprob for entry in logprobs)
    assert create(client).output[0].content[0].logprobs == []


@pytest.mark.parametrize("given", [
    [{"role": "user", "content": QUESTION}],
    [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": QUESTION}]}],
    [{"type": "message", "id": "msg_1", "status": "completed", "role": "user", "content": [{"type": "input_text", "text": QUESTION[:9]},
                                                                                           {"type": "input_text", "text": QUESTION[9:]}]}],
], ids=["easy", "parts", "ids"])
def test_forms_of_input_are_alike(client, server, given):
    reply = create(client, given)
    assert reply.output_text == ANSWER and reply.usage.input_tokens == len(prompt_tokens(server, ("user", QUESTION)))


def test_instructions_stand_in_front(client, server):
    messages = [("system", "Be terse."), ("user", QUESTION)]
    count = client.responses.input_tokens.count(model=MODEL, instructions="Be terse.", input=QUESTION)
    assert (count.object, count.input_tokens) == ("response.input_tokens", len(prompt_tokens(server, *messages)))
    assert create(client, instructions="Be terse.", max_output_tokens=1).usage.input_tokens == count.input_tokens


# Stored responses.

def test_a_stored_response_is_got_as_it_was_made(client):
    reply = create(client)
    assert client.responses.retrieve(reply.id).to_dict() == reply.to_dict()


def test_a_streamed_response_is_stored_too(client):
    last = events_of(client)[-1].response
    assert client.responses.retrieve(last.id).to_dict() == last.to_dict()


def test_a_conversation_goes_on_from_a_stored_response(client, server):
    first = create(client)
    second = create(client, "And of Italy?", previous_response_id=first.id)
    turns = [("user", QUESTION), ("assistant", ANSWER), ("user", "And of Italy?")]
    assert second.usage.input_tokens == len(prompt_tokens(server, *turns)) and "Rome" in second.output_text
    assert second.previous_response_id == first.id
    third = create(client, "Thanks!", previous_response_id=second.id, max_output_tokens=1)
    turns += [("assistant", second.output_text), ("user", "Thanks!")]
    assert third.usage.input_tokens == len(prompt_tokens(server, *turns))


def test_instructions_of_the_turn_before_do_not_go_on(client, server):
    first = create(client, instructions="Be terse.")
    second = create(client, "And of Italy?", previous_response_id=first.id, max_output_tokens=1)
    turns = [("user", QUESTION), ("assistant", first.output_text), ("user", "And of Italy?")]
    assert second.usage.input_tokens == len(prompt_tokens(server, *turns))


def test_two_conversations_go_on_from_one_response(client):
    first = create(client)
    italy, spain = (create(client, f"And of {land}?", previous_response_id=first.id) for land in ("Italy", "Spain"))
    assert "Rome" in italy.output_text and "Madrid" in spain.output_text


def test_a_deleted_response_is_gone(client):
    reply = create(client)
    client.responses.delete(reply.id)
    for ask in (client.responses.retrieve, client.responses.delete, lambda name: create(client, previous_response_id=name)):
        with pytest.raises((openai.NotFoundError, openai.BadRequestError)):
            ask(reply.id)


@pytest.mark.parametrize("stream", [False, True])
def test_what_is_not_to_be_stored_is_not(client, stream):
    reply = events_of(client, store=False)[-1].response if stream else create(client, store=False)
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(reply.id)


def test_another_keys_response_is_not_found(client, server):
    reply = create(client)
    other = server.openai(fresh_key())
    with pytest.raises(openai.NotFoundError):
        other.responses.retrieve(reply.id)
    with pytest.raises(openai.NotFoundError):
        other.responses.delete(reply.id)
    with pytest.raises((openai.NotFoundError, openai.BadRequestError)) as caught:
        create(other, previous_response_id=reply.id)
    assert caught.value.code == "previous_response_not_found" and caught.value.param == "previous_response_id"
    assert client.responses.retrieve(reply.id).id == reply.id  # it is still there


def test_a_responses_input_is_listed(client):
    first = create(client)
    second = create(client, "And of Italy?", previous_response_id=first.id, max_output_tokens=1)
    items = list(client.responses.input_items.list(second.id, order="asc"))
    texts = [item.content if isinstance(item.content, str) else item.content[0].text for item in items]
    assert texts == [QUESTION, ANSWER, "And of Italy?"]
    assert [list(client.responses.input_items.list(second.id, order="desc"))[i].id for i in range(3)] == [item.id for item in items[::-1]]


@pytest.mark.parametrize("fields", [{"background": True}, {"conversation": "conv_1"}, {"prompt": {"id": "pmpt_1"}}], ids=lambda fields: next(iter(fields)))
def test_what_cannot_be_done_is_named(client, fields):
    with pytest.raises(openai.BadRequestError) as caught:
        create(client, **fields)
    assert caught.value.param == next(iter(fields))


@pytest.mark.parametrize("item", [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "someone-elses"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": None},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "an_item_of_tomorrow", "id": "x_1"}, {"type": "message", "role": "developer", "content": "Be kind."},
], ids=["encrypted", "summary", "web-search", "unknown", "developer"])
def test_items_that_agents_send_back_pass(client, item):
    given = [{"role": "user", "content": "Hello"}, item, {"role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
             {"role": "user", "content": QUESTION}]
    assert create(client, given, max_output_tokens=1, store=False).usage.output_tokens == 1
