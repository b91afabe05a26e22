"""Many clients at once on a tiny model: idle ones, streams of all dialects, those that stall or vanish, and an end in the middle of
it all. Nobody who stays sees an error, and memory stays what was planned."""
import asyncio
import contextlib
import signal
import time

import pytest
from load_clients import PATHS, Clients, Load, allow_files, memory_of
from server import Server

IDLE, STREAMS, LEAVING = 1000, 256, 100
MARGIN = 96 << 20  # beside what is planned: the program, connections, what is kept of prompts
TOKENS = 48


def start(folio, model, *args):
    allow_files(8192)
    return Server(folio.binary, model, "--threads", 1, "--memory", "256MiB", "--max-requests", STREAMS, *args).wait()


@pytest.fixture
def own(folio, tiny_models):
    running = start(folio, tiny_models("qwen3"))
    try:
        yield running
    finally:
        running.stop()


async def crowd(port, seconds):
    """(what the streams saw, idle connections that were still answered at the end)"""
    clients, over = Clients(port, Load()), asyncio.Event()
    idle = asyncio.create_task(clients.hold(IDLE, over))
    streams = [clients.keep_asking(number, TOKENS, seconds) for number in range(STREAMS)]
    leaving = [clients.vanish(PATHS[number % len(PATHS)], f"Leaving {number} " * 40) for number in range(LEAVING)]
    await asyncio.gather(*streams, *leaving)
    over.set()
    return clients.load, await idle


def check_crowd(server, seconds, record_property):
    load, idle = asyncio.run(crowd(server.port, seconds))
    assert (load.errors[:1], idle) == ([], IDLE)
    assert load.whole >= STREAMS and load.pieces > load.whole
    figures = {"p50_gap_ms": 1000 * load.percentile(0.5), "p99_gap_ms": 1000 * load.percentile(0.99), "replies": load.whole}
    for name, value in figures.items():
        record_property(name, round(value, 1))
    print(figures)
    for name in ("vllm:num_requests_running", "vllm:num_requests_waiting", "folio_kv_blocks_used"):
        server.wait_for_metric(name, 0)
    metrics = server.metrics()
    assert metrics["folio_requests_failed_total"] == metrics["folio_http_connections_refused_total"] == 0
    now, most = memory_of(server.process.pid)
    assert most < metrics["folio_memory_planned_bytes"] + MARGIN
    return load, now


def test_a_crowd_is_served_within_the_memory_that_was_planned(own, record_property):
    load, _ = check_crowd(own, 3, record_property)
    assert load.percentile(0.99) < 5


@pytest.mark.long
def test_a_crowd_is_served_for_ten_minutes(own, record_property):
    _, early = check_crowd(own, 60, record_property)
    _, late = check_crowd(own, 540, record_property)
    assert late < 1.1 * early + (8 << 20)


def test_a_server_that_is_ended_in_a_crowd_finishes_what_it_began(folio, tiny_models):
    running = start(folio, tiny_models("qwen3"))

    async def load():
        clients, begun = Clients(running.port), asyncio.Semaphore(0)
        streams = [asyncio.create_task(clients.stream(PATHS[number % len(PATHS)], f"Hello {number}", 150, begun.release)) for number in range(STREAMS)]
        for _ in streams:
            await begun.acquire()
        running.signal(signal.SIGTERM)
        await asyncio.gather(*streams)
        return clients.load

    result = asyncio.run(load())
    at_end = time.monotonic()
    assert (result.errors[:1], result.whole) == ([], STREAMS)
    running.process.wait(10)
    assert time.monotonic() - at_end < 5
    running.stop()


@pytest.mark.parametrize("limit, taken", [("-Sn 256", 300), ("-n 256", 160)], ids=["soft", "hard"])
def test_a_server_takes_as_many_connections_as_it_may_have_files(folio, tiny_models, tmp_path, limit, taken):
    """It raises the limit that is its own to raise; beyond, a connection is told so or closed at once, and others go on."""
    launcher = tmp_path / "serve"
    launcher.write_text(f'#!/bin/sh\nulimit {limit}\nexec {folio.binary} "$@"\n')
    launcher.chmod(0o755)
    running = Server(launcher, tiny_models("qwen3"), "--threads", 1, "--memory", "256MiB").wait()
    running.wait_for_metric("folio_http_connections", 1)
    time.sleep(0.2)  # the one that asked for it is over too
    with contextlib.ExitStack() as held:
        connections = [held.enter_context(running.connect()) for _ in range(300)]
        statuses = [answered(connection) for connection in connections]
        assert statuses[:taken] == [b"200"] * taken
        assert set(statuses[taken:]) <= {b"503", b""} and statuses[taken:].count(b"503") >= min(32, len(connections) - taken)
    running.wait_for_metric("folio_http_connections", 1)
    assert running.metrics()["folio_http_connections_refused_total"] == len(connections) - taken
    running.stop()


def answered(connection):
    """The status of a reply, or nothing where the connection was closed."""
    connection.settimeout(10)
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        return connection.recv(4096)[9:12]
    return b""
