"""How a server runs: who may use it and how much, what happens when clients leave, when there is too much to do, when a reply
takes long, and how it loads and ends."""
import contextlib
import os
import re
import signal
import threading
import time

import anthropic
import openai
import pytest
from chat_prompts import cached_tokens, encode, prompt_tokens
from raw_http import Wire, request_bytes
from server import MODEL, Server, UnixConnection, exchange, fresh_key, key_line

USER = {"role": "user", "content": "What is the capital of France?"}
ANSWER = "The capital of France is Paris."
CHAT = {"model": MODEL, "messages": [USER], "max_tokens": 12, "temperature": 0}
DRAGON = "Write a very long story about a dragon."
# A prompt that this model goes on with until it is stopped, token by token.
ENDLESS = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 7000, "temperature": 0}
SLOW = ("--max-draft-tokens", 0)


def wait_until(holds, seconds=10):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Keys.

@pytest.fixture(scope="module")
def keyed(folio, smollm2, tmp_path_factory):
    """A server that asks for keys, their file, and a stop at the end."""
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text("# who\n\n" + key_line("ann", "ann's key", "admin") + key_line("bob", "bob's key", "max-requests=1"))
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--api-keys", path, *SLOW)
    try:
        yield running.wait(), path
    finally:
        running.stop(expected="keys not read again")


def test_known_keys_are_let_in(keyed):
    server, _ = keyed
    assert server.openai("ann's key").chat.completions.create(**CHAT).choices[0].message.content == ANSWER
    assert server.anthropic("bob's key").messages.create(model=MODEL, max_tokens=1, messages=[USER]).role == "assistant"
    assert server.request("POST", "/v1/chat/completions", CHAT, {"x-api-key": "ann's key"}).status == 200


@pytest.mark.parametrize("bad", ["ann's ke", "ann's keys", "ANN'S KEY", "another", "ann"])
def test_other_keys_are_not(keyed, bad):
    server, _ = keyed
    with pytest.raises(openai.AuthenticationError) as caught:
        server.openai(bad).chat.completions.create(**CHAT)
    assert (caught.value.status_code, caught.value.code) == (401, "invalid_api_key")
    with pytest.raises(anthropic.AuthenticationError) as caught:
        server.anthropic(bad).messages.create(model=MODEL, max_tokens=1, messages=[USER])
    assert caught.value.type == "authentication_error"


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/tokenize", "/cache/reset"])
def test_nothing_is_told_without_a_key(keyed, path):
    server, _ = keyed
    for headers in ({}, {"authorization": "Bearer "}, {"authorization": "Basic YTpi"}, {"x-api-key": ""}):
        reply = server.request("POST", path, CHAT, headers)
        assert reply.status == 401 and reply.headers["www-authenticate"].startswith("Bearer")
    assert server.get("/v1/models").status == 401 and server.get("/metrics").status == 401
    assert server.get("/health").status == 200 and server.get("/ready").status == 200


def test_keys_are_refused_before_the_body_is_read(keyed):
    with Wire(keyed[0].connect()) as wire:
        wire.send(request_bytes("POST", "/v1/chat/completions", b"", "Content-Length: 1000000"))
        assert wire.reply()[0] == 401


def test_a_key_has_its_most_requests_at_a_time(keyed):
    server, _ = keyed
    bob = server.openai("bob's key")
    with bob.completions.create(**ENDLESS, stream=True) as stream:
        next(iter(stream))
        with pytest.raises(openai.RateLimitError) as caught:
            bob.chat.completions.create(**CHAT)
        assert caught.value.code == "rate_limit_exceeded" and int(caught.value.response.headers["retry-after"]) > 0
        with pytest.raises(anthropic.RateLimitError) as caught:
            server.anthropic("bob's key").messages.create(model=MODEL, max_tokens=1, messages=[USER])
        assert caught.value.type == "rate_limit_error"
        assert server.openai("ann's key").chat.completions.create(**CHAT).choices[0].finish_reason == "stop"
    server.wait_for_metric("vllm:num_requests_running", 0, "ann's key")
    assert server.openai("bob's key", retries=2).chat.completions.create(**CHAT).choices[0].message.content == ANSWER


def test_the_log_names_the_key_and_never_shows_it(keyed):
    server, _ = keyed
    server.openai("ann's key").chat.completions.create(**CHAT)
    server.wait_for_line(r"\[ann\] ok: ")
    assert not any("'s key" in line or "France" in line for line in server.lines if line)


def test_a_stream_that_flows_has_no_keep_alives(keyed):
    server, _ = keyed
    body = {**CHAT, "n": 2, "max_tokens": 100, "temperature": 1, "stream": True, "ignore_eos": True}
    lines = [line for line in server.post("/v1/chat/completions", body, "ann's key").body.split(b"\n") if line]
    assert len(lines) > 20 and sum(line.startswith(b":") for line in lines) <= 1  # a slow machine may have one


def test_refusals_are_logged_and_counted_without_their_text(keyed):
    server, _ = keyed
    before = server.metrics("ann's key").get("folio_requests_refused_total", 0)
    body = {"messages": [{"role": "wizard", "content": "a secret"}]}
    assert server.post("/v1/chat/completions", body, "ann's key").status == 400
    server.wait_for_line(r"^/v1/chat/completions \[ann\] refused: 400 invalid_request_error, messages\[0\]\.role$")
    assert server.post("/v1/messages", body).status == 401
    server.wait_for_line(r"^/v1/messages refused: 401 authentication_error$")
    assert server.get("/v1/nothing").status == 404
    server.wait_for_line(r"^/v1/nothing refused: 404 invalid_request_error$")
    assert server.metrics("ann's key")["folio_requests_refused_total"] == before + 3
    assert not any("secret" in line or "wizard" in line for line in server.lines if line)


def test_only_an_administrators_key_empties_the_cache(keyed):
    server, _ = keyed
    assert server.post("/cache/reset", {}, "bob's key").status == 403
    assert server.post("/cache/reset", {}, "ann's key").status == 200


@pytest.mark.parametrize("bearer, key, status", [("none", "ann's key", 200), ("ann's key", "none", 200), ("none", "none", 401)])
def test_either_of_two_keys_lets_in(keyed, bearer, key, status):
    """A client may send one of its own by default beside the one that its user set."""
    server, _ = keyed
    assert server.request("GET", "/v1/models", headers={"authorization": f"Bearer {bearer}", "x-api-key": key}).status == status


def test_keys_are_read_again(keyed):
    server, path = keyed
    before = path.read_text()
    carol = server.openai("carol's key")
    with pytest.raises(openai.AuthenticationError):
        carol.models.list()
    path.write_text(key_line("carol", "carol's key"))
    server.signal(signal.SIGHUP)
    server.wait_for_line("keys read again: 1")
    wait_until(lambda: server.request("GET", "/v1/models", headers={"x-api-key": "carol's key"}).status == 200)
    assert len(carol.models.list().data) == 1
    with pytest.raises(openai.AuthenticationError):
        server.openai("ann's key").models.list()
    path.write_text("carol is one of us\n")
    server.signal(signal.SIGHUP)
    server.wait_for_line("keys not read again: ")
    assert len(carol.models.list().data) == 1  # the keys before go on
    path.write_text(before)
    server.signal(signal.SIGHUP)
    server.wait_for_line("keys read again: 2")
    wait_until(lambda: server.request("GET", "/v1/models", headers={"x-api-key": "ann's key"}).status == 200)
    assert len(server.openai("ann's key").models.list().data) == 1


@pytest.mark.parametrize("text", ["ann\n", "ann 1234\n", "ann " + "g" * 64 + "\n", key_line("ann", "x", "max-requests=-1"), key_line("ann", "x", "colour=blue")],
                         ids=["no-hash", "short", "no-hex", "negative", "unknown"])
def test_a_broken_key_file_is_named(folio, tiny_models, tmp_path, text):
    path = tmp_path / "keys"
    path.write_text("# first\n" + text)
    outcome = folio("serve", tiny_models("qwen3"), "--port", 0, "--api-keys", path)
    assert outcome.code != 0 and outcome.out == "" and outcome.err.count("\n") == 1 and str(path) in outcome.err


def test_others_are_let_in_only_with_keys_or_on_purpose(folio, tiny_models):
    outcome = folio("serve", tiny_models("qwen3"), "--port", 0, "--host", "0.0.0.0")
    assert outcome.code == 2 and "--insecure" in outcome.err and "--api-keys" in outcome.err


# Clients that leave.

def leave_chat(server, key):
    stream = server.openai(key).chat.completions.create(model=MODEL, messages=[{"role": "user", "content": DRAGON}],
                                                        max_tokens=6000, temperature=0, stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()


def leave_responses(server, key):
    with server.openai(key).responses.create(model=MODEL, input=DRAGON, max_output_tokens=6000, temperature=0,
                                             stream=True) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                break


def leave_messages(server, key):
    with server.anthropic(key).messages.stream(model=MODEL, messages=[{"role": "user", "content": DRAGON}],
                                               max_tokens=6000, extra_body={"temperature": 0}) as stream:
        next(iter(stream.text_stream))


def leave_before_the_end(server, key):
    """Of a reply that isn't streamed."""
    wire = Wire(server.connect())
    wire.send(request_bytes("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": DRAGON}],
                                                             "max_tokens": 6000, "temperature": 0}, f"Authorization: Bearer {key}"))
    server.wait_for_metric("vllm:num_requests_running", 1)
    time.sleep(0.3)
    wire.sock.close()


@pytest.mark.parametrize("leave", [leave_chat, leave_responses, leave_messages, leave_before_the_end], ids=lambda leave: leave.__name__)
def test_a_client_that_leaves_ends_its_request_and_its_prompt_stays(server, key, leave):
    lines = len(server.lines)
    leave(server, key)
    server.wait_for_metric("vllm:num_requests_running", 0)
    wait_until(lambda: any("cancelled: " in line for line in server.lines[lines:]))
    prompt = prompt_tokens(server, ("user", DRAGON))
    usage = server.openai(key).chat.completions.create(model=MODEL, messages=[{"role": "user", "content": DRAGON}],
                                                       max_tokens=1).usage
    assert usage.prompt_tokens_details.cached_tokens == cached_tokens(prompt, prompt)


def test_a_response_whose_client_left_is_not_stored(server, key):
    with server.openai(key).responses.create(model=MODEL, input=DRAGON, max_output_tokens=6000, stream=True) as stream:
        name = next(iter(stream)).response.id
    server.wait_for_metric("vllm:num_requests_running", 0)
    with pytest.raises(openai.NotFoundError):
        server.openai(key).responses.retrieve(name)


# Too much to do, and long waits.

@pytest.fixture(scope="module")
def narrow(folio, smollm2):
    """A server that makes one reply at a time and lets one wait."""
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--max-requests", 1, "--max-queue", 1, *SLOW)
    try:
        yield running.wait()
    finally:
        running.stop()


def test_beyond_the_queue_clients_are_told_when_to_come_back(narrow):
    client = narrow.openai()
    with client.completions.create(**ENDLESS, stream=True) as running:
        next(iter(running))
        with client.completions.create(**ENDLESS, stream=True):
            narrow.wait_for_metric("vllm:num_requests_waiting", 1)
            with pytest.raises(openai.InternalServerError) as caught:
                client.chat.completions.create(**CHAT)
            assert (caught.value.status_code, caught.value.code) == (503, "service_unavailable")
            assert int(caught.value.response.headers["retry-after"]) > 0
            with pytest.raises(openai.InternalServerError) as caught:
                client.responses.create(model=MODEL, input="Hello", stream=True)
            assert caught.value.status_code == 503
            with pytest.raises(anthropic.APIStatusError) as caught:
                narrow.anthropic().messages.create(model=MODEL, max_tokens=1, messages=[USER])
            assert (caught.value.status_code, caught.value.type) == (503, "overloaded_error")
            assert int(caught.value.response.headers["retry-after"]) > 0
            assert narrow.anthropic().messages.count_tokens(model=MODEL, messages=[USER]).input_tokens > 0  # which needs no engine
    narrow.wait_for_metric("vllm:num_requests_running", 0)
    assert client.chat.completions.create(**CHAT).choices[0].message.content == ANSWER


def test_the_sdks_retries_get_through_a_full_queue(narrow):
    client = narrow.openai(retries=5)
    running = client.completions.create(**ENDLESS, stream=True)
    next(iter(running))
    waiting = client.completions.create(**ENDLESS, stream=True)
    narrow.wait_for_metric("vllm:num_requests_waiting", 1)
    timer = threading.Timer(0.5, lambda: (running.close(), waiting.close()))
    timer.start()
    assert client.chat.completions.create(**CHAT).choices[0].message.content == ANSWER
    timer.join()


KEEP_ALIVES = {
    "/v1/chat/completions": ({**CHAT, "stream": True}, b"\n: "), "/v1/messages": ({**CHAT, "stream": True}, b"event: ping\n"),
    "/v1/responses": ({"input": USER["content"], "temperature": 0, "stream": True}, b"event: keepalive\n"),
    "/v1/completions": ({"prompt": "Hello", "max_tokens": 2, "stream": True}, b": "),
}


def test_streams_that_wait_are_kept_alive(folio, smollm2):
    server = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--max-requests", 1, *SLOW).wait()
    client = server.openai()
    with client.completions.create(**ENDLESS, stream=True) as running:
        next(iter(running))
        wires = {path: Wire(server.connect()) for path in KEEP_ALIVES}
        start = time.monotonic()
        for path, wire in wires.items():
            wire.send(request_bytes("POST", path, KEEP_ALIVES[path][0]))
            status, fields = wire.head()  # at once
            assert status == 200 and fields["content-type"].startswith("text/event-stream")
        assert time.monotonic() - start < 5
        for path, wire in wires.items():
            wire.wait_for(KEEP_ALIVES[path][1])
        assert 5 < time.monotonic() - start < 12
    for path, wire in wires.items():
        end = {"/v1/messages": b"event: message_stop", "/v1/responses": b"event: response.completed"}.get(path, b"data: [DONE]")
        wire.wait_for(end)
        wire.sock.close()
    server.stop()


# The begin and the end.

def listens(path):
    """The file is there somewhat before that."""
    try:
        UnixConnection(path).connect()
    except OSError:
        return False
    return True


def test_while_it_loads_it_says_so(serve, smollm2, tmp_path):
    path = tmp_path / "folio.sock"
    own = serve(smollm2, "--unix-socket", path)
    while not listens(path):
        assert own.process.poll() is None
        time.sleep(0.001)
    told = exchange(UnixConnection(path), "GET", "/ready")
    asked = exchange(UnixConnection(path), "POST", "/v1/messages", {"max_tokens": 1, "messages": [USER]})
    assert exchange(UnixConnection(path), "GET", "/health").status == 200
    own.wait()
    assert told.status == asked.status == 503
    assert int(told.headers["retry-after"]) > 0 and int(asked.headers["retry-after"]) > 0
    assert asked.json()["error"]["type"] == "overloaded_error"
    assert exchange(UnixConnection(path), "GET", "/ready").status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["sigterm", "sigint"])
def test_the_end_waits_for_replies(serve, smollm2, number):
    own = serve(smollm2, *SLOW).wait()
    body = {**ENDLESS, "max_tokens": 60}
    whole = own.openai().completions.create(**body).choices[0].text
    idle = own.connect()
    results = {}

    def ask():
        results["whole"] = own.openai().completions.create(**body).choices[0].text

    asking = threading.Thread(target=ask)
    with own.openai().completions.create(**body, stream=True) as stream:
        chunks = iter(stream)
        text = next(chunks).choices[0].text
        asking.start()
        own.wait_for_metric("vllm:num_requests_running", 2)
        own.signal(number)
        own.wait_for_line("ending: waiting for ")
        with pytest.raises(OSError):
            for _ in range(50):  # no more are let in
                own.connect().close()
                time.sleep(0.02)
        text += "".join(chunk.choices[0].text for chunk in chunks)
    asking.join()
    assert text == results["whole"] == whole
    assert idle.recv(1) == b""
    idle.close()
    lines = own.stop()
    assert lines[-1] == "ended"


def test_the_end_waits_so_long_only(serve, smollm2):
    own = serve(smollm2, "--drain-seconds", 1, *SLOW).wait()
    stream = own.openai().completions.create(**ENDLESS, stream=True)
    next(iter(stream))
    start = time.monotonic()
    own.signal(signal.SIGTERM)
    assert own.process.wait(20) == 0 and time.monotonic() - start > 0.9
    with pytest.raises(openai.APIConnectionError):
        list(stream)
    assert own.stop(expected="some replies were cut off")[-1] == "ended: some replies were cut off"


def test_quiet_servers_log_nothing_of_requests(serve, tiny_models):
    own = serve(tiny_models("qwen3"), "--quiet")
    while not own.port or own.get("/ready").status != 200:
        own.port = port_of(own.process.pid)
    assert own.post("/v1/completions", {"prompt": "Hello", "max_tokens": 1}).status == 200
    assert own.stop() == []


def port_of(pid):
    """Of a process's listening socket."""
    inodes = set()
    for descriptor in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile: the server is starting
            inodes.add(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                return int(fields[1].split(":")[1], 16)
    return None


def test_metrics_count_what_ran(serve, smollm2):
    own = serve(smollm2).wait()
    before = own.metrics()
    for name in ("vllm:request_success_total", "vllm:time_to_first_token_seconds_count", "folio_requests_failed_total", "folio_requests_cancelled_total"):
        assert before[name] == 0  # there before anything ran
    prompt, reply = len(prompt_tokens(own, ("user", USER["content"]))), len(encode(own, ANSWER)) + 1
    key = fresh_key()
    for _ in range(2):
        own.openai(key).chat.completions.create(**CHAT)
    now = own.metrics()
    assert now["vllm:request_success_total"] == now["vllm:time_to_first_token_seconds_count"] == 2
    assert now["vllm:prompt_tokens_total"] == 2 * prompt and now["vllm:generation_tokens_total"] == 2 * reply
    assert now["vllm:prefix_cache_queries_total"] == 2 * prompt and now["vllm:prefix_cache_hits_total"] == prompt // 16 * 16
    assert now["folio_requests_failed_total"] == now["folio_requests_cancelled_total"] == now["vllm:num_requests_running"] == 0


def test_metrics_tell_how_a_router_spreads_tokens(serve, tiny_models):
    own = serve(tiny_models("qwen3moe")).wait()
    own.openai().completions.create(model="x", prompt="one two three four five", max_tokens=8, extra_body={"ignore_eos": True})
    lines = [line for line in own.get("/metrics").body.decode().splitlines() if line.startswith("folio_moe_")]
    layers = {re.search(r'layer="(\d+)"', line)[1] for line in lines}
    values = {name: [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{")]
              for name in ("folio_moe_routed_tokens_total", "folio_moe_balance_loss", "folio_moe_load_entropy", "folio_moe_busiest_share")}
    assert len(layers) >= 2 and all(len(of) == len(layers) for of in values.values())
    assert all(tokens == own.metrics()["folio_computed_tokens_total"] for tokens in values["folio_moe_routed_tokens_total"])
    assert all(0 < entropy <= 1 for entropy in values["folio_moe_load_entropy"]) and all(0 < share <= 1 for share in values["folio_moe_busiest_share"])
    assert all(loss > 0 for loss in values["folio_moe_balance_loss"])
