"""What a server tells while requests wait, whose turn is next, and that nobody waits for those who wait."""
import re
import threading
import time

import openai
import pytest
from raw_http import Wire, request_bytes
from server import MODEL, Server, fresh_key, key_line

ENDLESS = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 7000, "temperature": 0}
SHORT = {"model": MODEL, "prompt": "Once upon a time", "max_tokens": 20, "temperature": 0}
USER = {"role": "user", "content": "What is the capital of France?"}
SLOW = ("--max-draft-tokens", 0)
# Of each API: a streamed request, and the event that keeps its clients waiting; the note stands in a comment.
STREAMS = {
    "/v1/chat/completions": ({"messages": [USER], "stream": True}, b""),
    "/v1/completions": ({"prompt": "Hello", "max_tokens": 2, "stream": True}, b""),
    "/v1/messages": ({"messages": [USER], "max_tokens": 5, "stream": True}, b"event: ping\ndata: {\"type\":\"ping\"}\n\n"),
    "/v1/responses": ({"input": USER["content"], "stream": True}, b"event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":2}\n\n"),
}


@pytest.fixture(scope="module")
def narrow(folio, smollm2):
    """A server that makes one reply at a time and lets three wait, and has made one."""
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--max-requests", 1, "--max-queue", 4, *SLOW)
    try:
        running.wait().openai().completions.create(**SHORT)
        yield running
    finally:
        running.stop()


def test_who_waits_is_told_how_long_and_who_finds_the_queue_full_when_to_come_back(narrow):
    client = narrow.openai()
    with client.completions.create(**ENDLESS, stream=True) as running:
        next(iter(running))
        wires = {path: Wire(narrow.connect()) for path in STREAMS}
        for path, wire in wires.items():
            wire.send(request_bytes("POST", path, STREAMS[path][0]))
            assert wire.head()[0] == 200
        with pytest.raises(openai.InternalServerError) as caught:
            client.completions.create(**SHORT)
        told = re.search(r"try again in about (\d+) s$", caught.value.body["message"])
        assert told, caught.value.body
        assert int(caught.value.response.headers["retry-after"]) == max(2, int(told[1]))
        for path, wire in wires.items():
            told = wire.wait_for(b" s left")
            rest = wire.wait_for(b"\n\n" + STREAMS[path][1])
            assert re.search(rb"(^|\n): 0 of \d+ tokens of the prompt, about \d+ s left$", told), told
            assert re.match(rb"(, \d+ tokens before it)?\n\n", rest), rest
    for wire in wires.values():
        wire.sock.close()
    narrow.wait_for_metric("vllm:num_requests_running", 0)


def test_a_request_that_is_left_is_logged_with_what_was_known(narrow):
    lines = len(narrow.lines)
    with narrow.openai().completions.create(**ENDLESS, stream=True) as running:
        for _, _ in zip(range(5), running):
            pass
    narrow.wait_for_metric("vllm:num_requests_running", 0)
    found = [line for line in narrow.lines[lines:] if "cancelled: " in line]
    told = re.search(r"cancelled: the client went away: prompt (\d+) \(0 cached\), (\d+) generated, \d+\.\d\d s$", found[0])
    assert len(found) == 1 and int(told[1]) == 4 and int(told[2]) >= 5


def test_keys_take_turns(folio, smollm2, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text(key_line("ann", "ann's key") + key_line("bob", "bob's key"))
    server = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--max-requests", 1, "--api-keys", keys, *SLOW).wait()
    ended = []

    def ask(name, number):
        server.openai(f"{name}'s key").completions.create(**{**SHORT, "prompt": f"Story number {number}: once upon a time"})
        ended.append(name)

    anns = [threading.Thread(target=ask, args=("ann", number)) for number in range(20)]
    for thread in anns:
        thread.start()
    while server.metrics("ann's key")["vllm:num_requests_waiting"] < 15:
        time.sleep(0.01)
    ask("bob", 1)
    assert server.metrics("ann's key")["vllm:num_requests_waiting"] >= 5  # of those who came first
    for thread in anns:
        thread.join()
    assert ended.count("ann") == 20
    server.stop()


def test_nobody_waits_for_those_who_wait(folio, smollm2):
    """While a step takes seconds, and many requests wait for it: the server's health and its heads are there."""
    server = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--max-batch-tokens", 4096).wait()
    long = {"messages": [{"role": "user", "content": "word " * 3000}], "max_tokens": 1}
    wires = [Wire(server.connect()) for _ in range(9)]
    wires[0].send(request_bytes("POST", "/v1/chat/completions", long))
    time.sleep(0.5)
    start = time.monotonic()
    for wire in wires[1:]:
        wire.send(request_bytes("POST", "/v1/chat/completions", {"messages": [USER], "max_tokens": 1, "stream": True}, f"Authorization: Bearer {fresh_key()}"))
    time.sleep(0.1)
    asked = time.monotonic()
    assert server.get("/health").status == 200 and server.get("/ready").status == 200
    assert time.monotonic() - asked < 0.5
    for wire in wires[1:]:
        assert wire.head()[0] == 200
    heads = time.monotonic() - start
    assert server.get("/metrics").status == 200
    assert heads < 2.5, heads  # one after another they would have taken a second each, on two workers
    for wire in wires:
        wire.sock.close()
    server.stop()
