"""Several models within one budget: requests choose, models are loaded when they are asked for and make room for each other, and
nobody's reply is cut."""
import os
import threading
import time

import openai
import pytest
from cli_checks import refused
from raw_http import Wire, request_bytes
from server import Server, fresh_key, key_line

USER = {"role": "user", "content": "What is the capital of France?"}
ANSWER = "The capital of France is Paris."
CHAT = {"messages": [USER], "max_tokens": 12, "temperature": 0}
LONG = {"prompt": "Once upon a time", "max_tokens": 150, "temperature": 0}
SLOW = ("--max-draft-tokens", 0)


def start(folio, memory, *args):
    return Server(folio.binary, args[0], "--threads", 1, "--memory", memory, *SLOW, *args[1:]).wait()


@pytest.fixture(scope="module")
def roomy(folio, smollm2):
    """Two names of one file, and room for both."""
    running = start(folio, "1200MiB", f"one={smollm2}", f"two={smollm2}")
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def tight(folio, smollm2):
    """Room for one of two."""
    running = start(folio, "700MiB", f"one={smollm2}", f"two={smollm2}")
    try:
        yield running
    finally:
        running.stop()


def ask(server, model, key=None, **more):
    return server.openai(key).chat.completions.create(model=model, **{**CHAT, **more})


def loads(server):
    """Model -> (whether it is loaded, how often it was)."""
    values = {}
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith("folio_model_load"):
            name, _, rest = line.partition("{")
            values.setdefault(rest.split('"')[1], {})[name] = float(line.rsplit(" ", 1)[1])
    return {model: (bool(of["folio_model_loaded"]), of["folio_model_loads_total"]) for model, of in values.items()}


def test_all_are_listed_loaded_or_not(roomy, smollm2):
    models = roomy.openai().models.list().data
    assert [model.id for model in models] == ["one", "two"]
    assert models[1].context_length == models[1].max_model_len > 1000
    assert roomy.anthropic().models.retrieve("two").id == "two"
    with pytest.raises(openai.NotFoundError):
        roomy.openai().models.retrieve(os.path.basename(smollm2))


def test_the_request_chooses_and_both_stay_where_there_is_room(roomy, smollm2):
    for name in ["one", "two", "one", "two"]:
        reply = ask(roomy, name)
        assert (reply.model, reply.choices[0].message.content) == (name, ANSWER)
    assert ask(roomy, "a-name-of-the-clients-own").model == "one"
    assert ask(roomy, os.path.splitext(os.path.basename(smollm2))[0]).model == "one"  # the first that is called so
    assert loads(roomy) == {"one": (True, 1), "two": (True, 1)}
    told = roomy.get("/metrics").body.decode()
    for model in ["one", "two"]:
        assert f'vllm:num_requests_running{{model_name="{model}"}} 0' in told
        assert f'vllm:time_to_first_token_seconds_count{{model_name="{model}"}}' in told


def test_every_api_waits_for_its_model(tight):
    for number in range(2):
        for name in ["one", "two"]:
            key = fresh_key()
            if number == 0:
                reply = tight.anthropic(key).messages.create(model=name, max_tokens=12, messages=[USER], extra_body={"temperature": 0})
                assert (reply.model, reply.content[0].text) == (name, ANSWER)
                assert tight.openai(key).responses.create(model=name, input=USER["content"], temperature=0).output_text == ANSWER
            else:
                assert tight.anthropic(key).messages.count_tokens(model=name, messages=[USER]).input_tokens > 10
                assert tight.post("/tokenize", {"model": name, "content": "hello"}, key).json()["count"] > 0
                text = "".join(chunk.choices[0].delta.content or "" for chunk in ask(tight, name, key, stream=True))
                assert text == ANSWER
    now = loads(tight)
    assert sorted(loaded for loaded, _ in now.values()) == [False, True] and min(times for _, times in now.values()) >= 2


def test_a_switch_waits_for_what_runs(tight):
    client = tight.openai()
    whole = client.completions.create(model="one", **LONG).choices[0].text
    lines = len(tight.lines)
    texts = {}
    with client.completions.create(model="one", stream=True, **LONG) as stream:
        chunks = iter(stream)
        text = next(chunks).choices[0].text
        other = threading.Thread(target=lambda: texts.update(two=ask(tight, "two").choices[0].message.content))
        other.start()
        time.sleep(0.3)
        late = threading.Thread(target=lambda: texts.update(one=ask(tight, "one").choices[0].message.content))
        late.start()
        text += "".join(chunk.choices[0].text for chunk in chunks)
    other.join()
    late.join()
    assert text == whole and texts == {"one": ANSWER, "two": ANSWER}
    moves = [line.split(":")[0] for line in tight.lines[lines:] if line.startswith(("loaded", "unloaded"))]
    assert moves == ["unloaded one", "loaded two", "unloaded two", "loaded one"]


def test_who_waits_long_is_kept_alive_and_who_leaves_loads_nothing(tight):
    ask(tight, "one")
    before = loads(tight)["two"][1]
    endless = {**LONG, "model": "one", "max_tokens": 7000, "stream": True}
    with tight.openai().completions.create(**endless) as running:
        next(iter(running))
        wire = Wire(tight.connect())
        wire.send(request_bytes("POST", "/v1/messages", {**CHAT, "model": "two", "stream": True}, "Accept: text/event-stream"))
        status, fields = wire.head()
        assert status == 200 and fields["content-type"].startswith("text/event-stream")
        assert wire.wait_for(b": the model is being loaded\n\n")
        with pytest.raises(openai.APITimeoutError):
            ask(tight, "one", timeout=0.5)  # it is leaving, and this one leaves before
    assert wire.wait_for(b"event: message_stop")
    wire.sock.close()
    assert loads(tight)["two"][1] == before + 1
    time.sleep(0.3)
    assert loads(tight)["one"][0] is False


def test_who_waits_for_a_model_counts_among_the_keys_requests(folio, smollm2, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(key_line("ann", "ann's key") + key_line("bob", "bob's key", "max-requests=1"))
    own = start(folio, "700MiB", f"one={smollm2}", f"two={smollm2}", "--api-keys", keys)
    with own.openai("ann's key").completions.create(**{**LONG, "model": "one", "max_tokens": 7000, "stream": True}) as running:
        next(iter(running))
        asked = request_bytes("POST", "/v1/chat/completions", {**CHAT, "model": "two"}, "Authorization: Bearer bob's key")
        first = Wire(own.connect())
        first.send(asked)
        own.wait_for_metric("folio_http_connections", 3, "ann's key")
        assert own.post("/v1/chat/completions", {**CHAT, "model": "two"}, "bob's key").status == 429
        first.sock.close()
        own.wait_for_metric("folio_http_connections", 2, "ann's key")
        second = Wire(own.connect())
        second.send(asked)
        second.sock.settimeout(1)
        with pytest.raises(TimeoutError):
            second.sock.recv(1)
        second.sock.settimeout(60)
    assert second.head()[0] == 200
    own.stop()


def test_what_is_refused_after_the_head_is_told_in_the_stream(tight):
    ask(tight, "one")
    too_long = [{"role": "user", "content": "word " * 20000}]
    for path, mark, body in [("/v1/chat/completions", b"context_length_exceeded", {"messages": too_long}),
                             ("/v1/responses", b"context_length_exceeded", {"input": too_long[0]["content"]}),
                             ("/v1/messages", b"prompt is too long", {"messages": too_long, "max_tokens": 5})]:
        reply = tight.post(path, {**body, "model": "two", "stream": True})
        assert reply.status == 400 and mark in reply.body, path  # the model came in time
        ask(tight, "one")


def test_strict_servers_refuse_other_names(serve, tiny_models):
    own = serve(f"one={tiny_models('qwen3')}", f"two={tiny_models('llama2')}", "--strict-models").wait()
    with pytest.raises(openai.NotFoundError) as caught:
        own.openai().completions.create(model="three", prompt="x", max_tokens=1)
    assert caught.value.code == "model_not_found"
    assert own.openai().completions.create(model="two", prompt="x", max_tokens=1).model == "two"


def test_a_folder_of_models_leaves_out_what_is_none(folio, tiny_models, tmp_path):
    for name in ["qwen3", "llama2"]:
        os.symlink(tiny_models(name), tmp_path / f"{name}.gguf")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF is not all of it")
    (tmp_path / "notes.txt").write_text("not a model")
    own = Server(folio.binary, f"--models={tmp_path}", "--threads", 1, "--memory", "1GiB").wait()
    assert [model.id for model in own.openai().models.list().data] == ["llama2", "qwen3"]
    own.stop(expected="^left out broken: ")


def test_models_that_cannot_be_served_are_named(folio, tiny_models, tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF is not all of it")
    refused(folio("serve", tiny_models("qwen3"), broken, "--port", 0), 3, str(broken))
    refused(folio("serve", tiny_models("qwen3"), tiny_models("qwen3"), "--port", 0), 2, "NAME=")
    refused(folio("serve", "--models", tmp_path / "none", "--port", 0), 3, "none")
    refused(folio("serve", tiny_models("qwen3"), tiny_models("llama2"), "--port", 0, "--memory", "60MiB"), 1, "--memory")
