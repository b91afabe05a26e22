#!/usr/bin/env python3
"""What `folio serve` costs beside the engine: its share of a decode step, tokens a second against `folio bench`, and the
first byte of a prompt that is all in the cache.

usage: bench/serving/serve_overhead.py [MODEL] [--rounds N] [--out FILE.md]

The engine has one thread, so that the machine has another for HTTP and for the clients of this script. Three figures:

  share        CPU time of all other threads of the server while 64 streams are decoded, over the engine's
  rate         tokens a second of 16 streams, over what `folio bench --batch 16` decodes, in turns; the median over rounds
  first byte   of a prompt of 8,000 tokens, asked again, on a tiny model (generated): from the request to the reply's head and
               to its first token; prompts as token ids and as text, the median of 20

Exits 1 if one of the project's goals is missed.

  FOLIO_BIN, FOLIO_MODEL_DIR   as the tests have them
"""

import argparse
import dataclasses
import datetime
import http.client
import json
import os
import pathlib
import platform
import random
import re
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from folio_server import FOLIO, ROOT, FolioServer

sys.path.append(str(ROOT / "tests/golden"))
import make_tiny_models  # pylint: disable=wrong-import-position

DEFAULT_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
# The default model goes on with this until it is stopped.
PROMPT = "Once upon a time"
LONG = 8000
GOALS = {"share": 0.03, "rate": 0.95, "first byte": 0.005}


def serve(model, *options):
    return FolioServer(model, "--threads", 1, "--max-draft-tokens", 0, *options)


def streams(server, count, tokens):
    """Seconds that so many streams take together. The replies are only read, and looked at afterwards."""
    body = json.dumps({"prompt": PROMPT, "max_tokens": tokens, "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}).encode()
    request = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    replies = {}
    with selectors.DefaultSelector() as open_ones:
        start = time.monotonic()
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", server.port))
            connection.sendall(request)
            open_ones.register(connection, selectors.EVENT_READ)
            replies[connection] = []
        while open_ones.get_map():
            for key, _ in open_ones.select():
                data = key.fileobj.recv(1 << 16)
                replies[key.fileobj].append(data)
                if not data:
                    open_ones.unregister(key.fileobj)
                    key.fileobj.close()
        seconds = time.monotonic() - start
    for pieces in replies.values():
        assert f'"completion_tokens":{tokens}'.encode() in b"".join(pieces), "a reply ended early"
    return seconds


def measure_share(model, count, tokens):
    """(CPU time of the other threads over the engine's, milliseconds of a step)."""
    with serve(model, "--max-requests", count) as server:
        streams(server, count, 8)
        before = server.cpu()
        seconds = streams(server, count, tokens)
        spent = sorted(now - before.get(thread, 0) for thread, now in server.cpu().items())
    return sum(spent[:-1]) / spent[-1], 1000 * seconds / tokens


def measure_rate(model, count, tokens, rounds):
    """[(tokens a second of the server, of bench)]"""
    figures = []
    with serve(model) as server:
        streams(server, count, 8)
        for _ in range(rounds):
            served = count * tokens / streams(server, count, tokens)
            command = [FOLIO, "bench", model, "--prompt", 0, "--generate", tokens, "--batch", count, "--threads", 1, "--repeat", 1, "--json"]
            done = json.loads(subprocess.run([str(part) for part in command], capture_output=True, check=True).stdout)
            figures.append((served, done["results"][0]["tokens_per_s"]["median"]))
    return figures


def connect(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def first_bytes(server, prompt, repeat):
    """(seconds to the head, seconds to the first token): medians, of a prompt that was computed before."""
    body = json.dumps({"prompt": prompt, "max_tokens": 1, "temperature": 0, "stream": True}).encode()
    connection = connect(server)
    heads, tokens = [], []
    for number in range(repeat + 3):
        start = time.monotonic()
        connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
        connection.sock.recv(1, socket.MSG_PEEK)
        head = time.monotonic() - start
        response = connection.getresponse()
        assert response.status == 200, response.read()
        response.readline()
        token = time.monotonic() - start
        cached = int(re.match(r"cached=(\d+)", response.getheader("x-folio-cache"))[1])
        response.read()
        if number < 3:
            continue  # the first one computes
        assert cached > LONG - 32, cached
        heads.append(head)
        tokens.append(token)
    return statistics.median(heads), statistics.median(tokens)


def measure_first_byte(repeat):
    name = "long"
    make_tiny_models.MODELS[name] = dataclasses.replace(make_tiny_models.MODELS["qwen3"], context=2 * LONG)
    numbers = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tiny.gguf"
        make_tiny_models.write_model(name, path)
        with serve(path, "--memory", "1GiB") as server:
            ids = [numbers.randrange(100, 350) for _ in range(LONG)]
            text = "".join(numbers.choice("abcdefghijklmnopqrstuvwxyz ") for _ in range(2 * LONG))
            connection = connect(server)
            connection.request("POST", "/tokenize", json.dumps({"content": text}))
            text = text[: int(len(text) * LONG / json.loads(connection.getresponse().read())["count"])]
            return {"token ids": first_bytes(server, ids, repeat), "text": first_bytes(server, text, repeat)}


def report(share, step, rates, firsts):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    served, decoded = (statistics.median(column) for column in zip(*rates))
    rate = statistics.median(served / decoded for served, decoded in rates)
    head, token = firsts["token ids"]
    lines = [f"{datetime.date.today().isoformat()}, {cpu}, the engine on 1 thread, commit {commit}", "",
             "| figure | measured | goal |", "|---|---|---|",
             f"| CPU time of HTTP, JSON and events, over the engine's, 64 streams (a step of {step:.1f} ms) | {100 * share:.1f} % | < 3 % |",
             f"| tokens a second of 16 streams ({served:.0f}), over `folio bench --batch 16` ({decoded:.0f}) | {100 * rate:.1f} % | ≥ 95 % |",
             f"| first byte, {LONG} cached tokens given as ids | {1000 * head:.1f} ms (first token {1000 * token:.1f} ms) | < 5 ms |",
             "| ... given as text | {:.1f} ms (first token {:.1f} ms) | – |".format(*(1000 * seconds for seconds in firsts["text"]))]
    return "\n".join(lines) + "\n", share < GOALS["share"] and rate >= GOALS["rate"] and head < GOALS["first byte"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=64, help="of each stream")
    parser.add_argument("--out", help="write the table to this file too")
    options = parser.parse_args()
    model = options.model or pathlib.Path(os.environ.get("FOLIO_MODEL_DIR") or ".") / DEFAULT_MODEL
    firsts = measure_first_byte(20)
    share, step = measure_share(model, 64, options.tokens)
    rates = measure_rate(model, 16, options.tokens, options.rounds)
    text, holds = report(share, step, rates, firsts)
    print(text, end="")
    if options.out:
        pathlib.Path(options.out).write_text(text, encoding="utf-8")
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
