"""Attacks: whatever is sent is answered or refused quickly, costs little memory, and others are served meanwhile."""
import contextlib
import json
import socket
import statistics
import threading
import time

import attacks
import pytest
from attacks import CHAT
from load_clients import memory_of
from raw_http import Wire, request_bytes
from server import Server, fresh_key

QUICK = 5  # seconds, on a machine that does other things too
MOST_MEMORY = 96 << 20  # bytes more than before
LONGEST_REFUSAL = 4096  # bytes
OTHER = {"prompt": "Hello", "max_tokens": 1}


@pytest.fixture(scope="module")
def target(folio, smollm2):
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB").wait()
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    ask(running, *attacks.chat(response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}))  # what grammars need is there
    try:
        yield running
    finally:
        running.stop(expected="/v1/")


class Others:
    """Somebody else, who asks for a token again and again; `worst` is the longest that it took."""

    def __init__(self, server):
        self.server, self.worst, self.asked, self._over = server, 0.0, 0, threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self):
        key = fresh_key()
        while not self._over.is_set():
            start = time.monotonic()
            assert self.server.post("/v1/completions", OTHER, key).status == 200
            self.worst = max(self.worst, time.monotonic() - start)
            self.asked += 1
            time.sleep(0.01)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def ask(server, path, body, encoding=None):
    """(status, body, seconds)"""
    start = time.monotonic()
    headers = {"content-encoding": encoding} if encoding else {}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was sent
        reply = server.request("POST", path, body, headers)
        return reply.status, reply.body, time.monotonic() - start
    return 413, b"", time.monotonic() - start


@contextlib.contextmanager
def unharmed(server):
    """Memory stays what it was, and others are served."""
    before = memory_of(server.process.pid)[1]
    with Others(server) as others:
        yield
    assert server.process.poll() is None
    assert others.asked > 0 and others.worst < QUICK
    grown = memory_of(server.process.pid)[1] - before
    assert grown < MOST_MEMORY, f"{grown >> 20} MiB more"


def check_all(server, cases, allowed=(400, 413)):
    told = {}
    with unharmed(server):
        for name, case in cases:
            status, body, seconds = ask(server, *case)
            if status not in allowed or seconds > QUICK or (status != 200 and len(body) > LONGEST_REFUSAL):
                told[name] = status, body[:200], round(seconds, 2)
    assert told == {}


@pytest.mark.parametrize("kind", [attacks.json_bombs, attacks.number_bombs, attacks.size_bombs, attacks.packed_bombs], ids=lambda kind: kind.__name__)
def test_bombs_are_refused(target, kind):
    check_all(target, kind(), (400, 413, 415))


def test_schemas_that_explode_cost_little(target):
    """Those that compile within bounds are kept to; the others are refused, or end the reply."""
    check_all(target, [(name, attacks.chat(response_format={"type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}}))
                       for name, schema in attacks.schema_bombs()], (200, 400))


@pytest.mark.parametrize("kind", [attacks.grammar_bombs, pytest.param(attacks.long_grammar_bombs, marks=pytest.mark.long)], ids=lambda kind: kind.__name__)
def test_grammars_that_explode_cost_little(target, kind):
    def tool(syntax, definition):
        return attacks.chat(tools=[{"type": "custom", "custom": {"name": "f", "format": {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}}}],
                            tool_choice={"type": "custom", "custom": {"name": "f"}}, max_tokens=60 if kind is attacks.long_grammar_bombs else 8)

    check_all(target, [(name, tool(*grammar)) for name, grammar in kind()], (200, 400))


# HTTP.

def hung_up(connection):
    """What came before the other side ended the connection."""
    connection.settimeout(20)
    with contextlib.suppress(ConnectionResetError):
        return Wire(connection).rest()
    return b""


@pytest.mark.parametrize("flood", [b"A: b\r\n" * 20_000, b"A: " + b"b" * (1 << 20) + b"\r\n", b"".join(b"H%d: x\r\n" % number for number in range(20_000)),
                                   b"Cookie: " + b"a=b; " * 100_000 + b"\r\n", b"Transfer-Encoding: " + b"chunked, " * 20_000 + b"chunked\r\n"],
                         ids=["lines", "line", "names", "cookie", "encodings"])
def test_floods_of_header_lines_end_the_connection(target, flood):
    with unharmed(target), target.connect() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n" + flood + b"\r\n")
        assert hung_up(connection)[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 413", b"HTTP/1.1 431")


def test_requests_sent_without_reading_wait(target):
    """Two hundred thousand of them: no more are taken than the replies that a connection holds."""
    with unharmed(target), target.connect() as connection:
        connection.setblocking(False)
        data = request_bytes("GET", "/v1/models") * 1000
        sent, last = 0, time.monotonic()
        while sent < 200 * len(data) and time.monotonic() < last + 1:
            try:
                sent += connection.send(data[sent % len(data) :])
                last = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert sent < 200 * len(data), "more was taken than is kept"


def test_chunks_of_a_byte_are_read(target):
    body = json.dumps({"prompt": "Hello", "max_tokens": 1, "user": "x" * 300_000}).encode()
    with unharmed(target), Wire(target.connect()) as wire:
        wire.send(request_bytes("POST", "/v1/completions", b"", "Transfer-Encoding: chunked"))
        wire.send(b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
        assert wire.reply()[0] == 200


def slow_ones(server, count):
    """Connections of which half have sent half a header, the others half a body."""
    for number in range(count):
        connection = server.connect()
        whole = request_bytes("POST", CHAT, attacks.chat()[1])
        connection.sendall(whole[: 20 if number % 2 else len(whole) - 9])
        yield connection


def test_slow_senders_keep_nobody_waiting(target):
    with contextlib.ExitStack() as held, unharmed(target):
        for connection in slow_ones(target, 200):
            held.enter_context(connection)
        time.sleep(0.5)
        assert target.metrics()["folio_http_connections"] >= 200


@pytest.mark.long
def test_slow_senders_are_hung_up_on(target):
    with unharmed(target):
        connections = list(slow_ones(target, 20))
        end = time.monotonic() + 60
        for number in range(1000):
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.send(b"x" if number % 10 == 0 else b"")
            time.sleep(0.5)
            if time.monotonic() > end:
                break
        for connection in connections[1::2]:  # a header that takes longer than half a minute
            connection.settimeout(5)
            assert hung_up(connection)[:12] in (b"", b"HTTP/1.1 408", b"HTTP/1.1 400")
        for connection in connections:
            connection.close()


def test_replies_that_nobody_reads_are_bounded(target):
    with contextlib.ExitStack() as held, unharmed(target):
        for _ in range(20):
            connection = held.enter_context(target.connect())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request_bytes("POST", "/v1/completions", {"prompt": "Once upon a time", "max_tokens": 400, "stream": True, "n": 2}))
        time.sleep(1)
    target.wait_for_metric("vllm:num_requests_running", 0, seconds=60)


# What others asked.

def prefill_seconds(server, prompt, key):
    start = time.monotonic()
    reply = server.post("/v1/completions", {"prompt": prompt, "max_tokens": 1, "temperature": 0}, key).json()
    return time.monotonic() - start, reply["usage"]["prompt_tokens_details"]["cached_tokens"]


@pytest.mark.long
def test_time_doesnt_tell_what_another_key_asked(target):
    """A guess at what somebody else asked takes as long when it is right as when it is wrong; one's own prompts are found."""
    right, wrong, own = [], [], []
    for number in range(12):
        secret, guess = (f"{number} {word} " + "the quick brown fox jumps over the lazy dog " * 60 for word in ("secret", "other"))
        victim, attacker = fresh_key(), fresh_key()
        prefill_seconds(target, secret, victim)
        pair = [(right, secret), (wrong, guess)]
        for times, prompt in pair[:: 1 if number % 2 else -1]:
            seconds, cached = prefill_seconds(target, prompt, attacker)
            assert cached == 0
            times.append(seconds)
        own.append(prefill_seconds(target, secret, victim)[0])
    difference = statistics.median(a - b for a, b in zip(right, wrong))
    noise = statistics.median(abs(a - b) for a, b in zip(wrong, wrong[1:]))
    assert abs(difference) < max(2 * noise, 0.03 * statistics.median(wrong)), (difference, noise)
    assert statistics.median(own) < 0.3 * statistics.median(wrong), "a hit would have been seen"
