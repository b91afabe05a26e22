"""What the server refuses, as each SDK raises it: the class, the status, the code, and the JSON path of the field."""
import json

import anthropic
import openai
import pytest
from server import MODEL

USER = {"role": "user", "content": "Hello"}
CHAT = {"model": MODEL, "messages": [USER], "max_tokens": 1}
TEXT = {"model": MODEL, "prompt": "Hello", "max_tokens": 1}
RESPONSES = {"model": MODEL, "input": "Hello", "max_output_tokens": 16}
MESSAGES = {"model": MODEL, "messages": [USER], "max_tokens": 1}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
PATHS = {"/v1/chat/completions": CHAT, "/v1/completions": TEXT, "/v1/responses": RESPONSES, "/v1/messages": MESSAGES}


def refused(server, path, body, status=400):
    """The error object of a refusal, with what every one has looked at."""
    reply = server.post(path, body)
    assert reply.status == status, reply.body
    answer = reply.json()
    assert reply.headers["content-type"] == "application/json"
    if path.startswith("/v1/messages"):
        assert answer["type"] == "error" and answer["request_id"] == reply.headers["request-id"]
        assert set(answer["error"]) >= {"type", "message"}
    else:
        assert set(answer) == {"error"} and set(answer["error"]) == {"message", "type", "param", "code"}
        assert reply.headers["x-request-id"].startswith("req_")
    assert answer["error"]["message"]
    return answer["error"]


OPENAI_CASES = [
    ("/v1/chat/completions", {"messages": None}, "messages"),
    ("/v1/chat/completions", {"messages": []}, "messages"),
    ("/v1/chat/completions", {"messages": "Hello"}, "messages"),
    ("/v1/chat/completions", {"messages": [USER, "Hello"]}, "messages[1]"),
    ("/v1/chat/completions", {"messages": [{"content": "Hello"}]}, "messages[0].role"),
    ("/v1/chat/completions", {"messages": [{"role": "wizard", "content": "Hello"}]}, "messages[0].role"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}, "messages[0].content[0].text"),
    ("/v1/chat/completions", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}]},
     "messages[0].content[0].type"),
    ("/v1/chat/completions", {"max_tokens": "many"}, "max_tokens"),
    ("/v1/chat/completions", {"max_tokens": -5}, "max_tokens"),
    ("/v1/chat/completions", {"max_tokens": 2**63}, "max_tokens"),
    ("/v1/chat/completions", {"temperature": "hot"}, "temperature"),
    ("/v1/chat/completions", {"temperature": -1}, "temperature"),
    ("/v1/chat/completions", {"top_p": 1.5}, "top_p"),
    ("/v1/chat/completions", {"n": 0}, "n"),
    ("/v1/chat/completions", {"n": 10**6}, "n"),
    ("/v1/chat/completions", {"stream": "yes"}, "stream"),
    ("/v1/chat/completions", {"stop": 5}, "stop"),
    ("/v1/chat/completions", {"stop": ["a", 5]}, "stop[1]"),
    ("/v1/chat/completions", {"logprobs": True, "top_logprobs": 1000}, "top_logprobs"),
    ("/v1/chat/completions", {"tools": {}}, "tools"),
    ("/v1/chat/completions", {"tools": [TOOL, {"type": "function"}]}, "tools[1].function"),
    ("/v1/chat/completions", {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}}, "tool_choice.function.name"),
    ("/v1/chat/completions", {"tool_choice": "required"}, "tool_choice"),
    ("/v1/chat/completions", {"response_format": {"type": "poem"}}, "response_format.type"),
    ("/v1/completions", {"prompt": None}, "prompt"),
    ("/v1/completions", {"prompt": {}}, "prompt"),
    ("/v1/completions", {"max_tokens": 1.5}, "max_tokens"),
    ("/v1/responses", {"input": None}, "input"),
    ("/v1/responses", {"input": 5}, "input"),
    ("/v1/responses", {"input": []}, "input"),
    ("/v1/responses", {"input": [{"role": "wizard", "content": "Hello"}]}, "input[0].role"),
    ("/v1/responses", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]}, "input[0].content[0].type"),
    ("/v1/responses", {"max_output_tokens": 0}, "max_output_tokens"),
    ("/v1/responses", {"text": {"format": {"type": "poem"}}}, "text.format.type"),
    ("/v1/responses", {"metadata": "x"}, "metadata"),
    ("/v1/responses", {"tool_choice": {"type": "function", "name": "g"}}, "tool_choice.name"),
]


@pytest.mark.parametrize("path, change, param", OPENAI_CASES, ids=[f"{c[0][4:8]}-{c[2]}-{i}" for i, c in enumerate(OPENAI_CASES)])
def test_openais_errors_name_the_field(server, path, change, param):
    error = refused(server, path, {**PATHS[path], **change})
    assert (error["param"], error["type"]) == (param, "invalid_request_error")


ANTHROPIC_CASES = [
    ({"messages": None}, "messages"), ({"messages": []}, "messages"), ({"messages": [5]}, "messages[0]"),
    ({"messages": [{"role": "wizard", "content": "Hello"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}]}]},
     "messages[0].content[0]"),
    ({"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": ""}}]}]},
     "messages[0].content[0]"),
    ({"max_tokens": None}, "max_tokens"), ({"max_tokens": -1}, "max_tokens"), ({"max_tokens": "5"}, "max_tokens"),
    ({"system": 5}, "system"), ({"stop_sequences": [5]}, "stop_sequences[0]"),
    ({"tools": [{"name": "f"}]}, "tools[0].input_schema"), ({"tools": [{"input_schema": {"type": "object"}}]}, "tools[0].name"),
    ({"tool_choice": {"type": "any"}}, "tool_choice"), ({"tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name"),
    ({"thinking": {"type": "deep"}}, "thinking.type"), ({"output_config": {"format": {"type": "poem"}}}, "output_config.format.type"),
    ({"temperature": "hot"}, "temperature"), ({"metadata": 5}, "metadata"), ({"stream": 1}, "stream"),
    ({"system": [{"type": "text", "text": "x", "cache_control": {"type": "forever"}}]}, "system[0].cache_control.type"),
    ({"messages": [USER, {"role": "assistant", "content": "I"}]}, "messages"),
]


@pytest.mark.parametrize("change, path", ANTHROPIC_CASES, ids=[f"{c[1]}-{i}" for i, c in enumerate(ANTHROPIC_CASES)])
def test_anthropics_errors_name_the_field(server, change, path):
    error = refused(server, "/v1/messages", {**MESSAGES, **change})
    assert error["type"] == "invalid_request_error" and error["message"].startswith(path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("body", ["", "{", "[]", "5", '"x"', '{"messages": [}', b"\xff\xfe{}", "[" * 10000, '{"model":"\ud800"}'.encode("utf-8", "surrogatepass")],
                         ids=["empty", "open", "list", "number", "string", "broken", "not-utf-8", "deep", "surrogate"])
def test_what_is_no_request_is_refused_in_the_dialects_form(server, path, body):
    error = refused(server, path, body)
    assert error["type"] == "invalid_request_error"


def test_openais_sdk_raises_bad_requests(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model=MODEL, messages=[{"role": "wizard", "content": "Hello"}])
    error = caught.value
    assert (error.status_code, error.param, error.type, error.code) == (400, "messages[0].role", "invalid_request_error", None)
    assert "wizard" in error.message and error.request_id.startswith("req_")


def test_anthropics_sdk_raises_bad_requests(claude):
    with pytest.raises(anthropic.BadRequestError) as caught:
        claude.messages.create(model=MODEL, max_tokens=1, messages=[{"role": "wizard", "content": "Hello"}])
    assert (caught.value.status_code, caught.value.type) == (400, "invalid_request_error")
    assert "wizard" in caught.value.message and caught.value.request_id.startswith("req_")


@pytest.mark.parametrize("stream", [False, True])
def test_refusals_come_before_a_streams_head(client, stream):
    with pytest.raises(openai.BadRequestError):
        client.chat.completions.create(model=MODEL, messages=[], stream=stream)


# A prompt that can never fit, as each client recognises it.

TOO_LONG = "word " * 9000


def test_openais_overflow_has_its_code(client):
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError) as caught:
            client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": TOO_LONG}], stream=stream)
        assert caught.value.code == "context_length_exceeded"
        assert "maximum context length is" in caught.value.message


@pytest.mark.parametrize("stream", [False, True])
def test_responses_overflow_has_its_code(client, stream):
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(model=MODEL, input=TOO_LONG, stream=stream)
    assert caught.value.code == "context_length_exceeded"


def test_completions_overflow_has_its_code(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model=MODEL, prompt=TOO_LONG)
    assert caught.value.code == "context_length_exceeded"


def test_anthropics_overflow_has_its_words(claude):
    counted = claude.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": TOO_LONG}]).input_tokens
    assert counted > 9000
    with pytest.raises(anthropic.BadRequestError) as caught:
        claude.messages.create(model=MODEL, max_tokens=1, messages=[{"role": "user", "content": TOO_LONG}])
    assert caught.value.message.count(f"prompt is too long: {counted} tokens > 8")


# Other kinds.

def test_an_unknown_path_is_not_found(client, server):
    with pytest.raises(openai.NotFoundError):
        client.post("/nothing", cast_to=object)
    assert server.get("/v1/messages/nothing").json()["error"]["type"] == "not_found_error"
    assert server.post("/v1/chat/completions/x", {}).json()["error"]["type"] == "invalid_request_error"


def test_an_unknown_model_answers_by_default(client, claude, smollm2):
    for name in ("gpt-5.5", "claude-haiku-4-5-20251001", "", smollm2.stem):
        assert client.chat.completions.create(**{**CHAT, "model": name}).model == smollm2.stem
        assert client.responses.create(**{**RESPONSES, "model": name}).model == smollm2.stem
        assert claude.messages.create(**{**MESSAGES, "model": name}).model == smollm2.stem
    assert client.models.retrieve(smollm2.stem).id == smollm2.stem


def test_an_unknown_model_is_not_retrieved(client):
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("gpt-5.5")
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")


def test_strict_models_refuse_other_names(serve, tiny_models):
    own = serve(tiny_models("qwen3"), "--strict-models").wait()
    with pytest.raises(openai.NotFoundError) as caught:
        own.openai().completions.create(**TEXT)
    assert caught.value.code == "model_not_found"
    with pytest.raises(anthropic.NotFoundError):
        own.anthropic().messages.create(**MESSAGES)
    name = own.openai().models.list().data[0].id
    assert own.openai().completions.create(**{**TEXT, "model": name}).model == name


@pytest.mark.parametrize("format", ["float", "base64"])
def test_embeddings_are_refused_clearly(client, format):  # pylint: disable=redefined-builtin
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model=MODEL, input="Hello", encoding_format=format)
    assert "embeddings" in caught.value.message


def test_the_models_list_tells_the_context_by_every_name(client, server, smollm2):
    models = client.models.list()
    assert [model.id for model in models] == [smollm2.stem] and models.data[0].object == "model"
    told = server.get("/v1/models").json()
    assert told["object"] == "list" and told["models"] == told["data"]
    model = told["data"][0]
    for name in ("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"):
        assert model[name] == 8192
    assert model["meta"]["n_ctx"] == 8192 and server.get(f"/v1/models/{smollm2.stem}").json() == model


def test_odd_text_of_a_field_does_not_break_an_error(server):
    error = refused(server, "/v1/chat/completions", {**CHAT, "messages": [{"role": 'a"\u0000\n\U0001f680', "content": "x"}]})
    assert json.loads(json.dumps(error)) == error and "\U0001f680" in error["message"]
