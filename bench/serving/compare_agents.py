#!/usr/bin/env python3
"""A coding agent's session of ten turns: Folio's server against llama.cpp's, same file, same run, in turns.

usage: bench/serving/compare_agents.py [MODEL] [--turns N] [--rounds N] [--out FILE.md]
       (after bench/peers/build_llama_cpp.sh --server)

The session has the shape of one that was captured (tests/e2e/traffic): a long system prompt with the tools written out in
it, a question, and then results of tools of some hundred characters, one a turn, all in chat completions that stream. Each
server is sent the same questions and results, its own replies, and is asked for as many tokens. Both are as they come, with one
slot for llama.cpp's. Beside each turn of the session goes a side request with a prompt of its own, as agents ask for titles
and summaries; its time is not counted.

Exits 1 if Folio's session takes longer.

  FOLIO_BIN, FOLIO_MODEL_DIR, FOLIO_PEERS   as the tests and build_llama_cpp.sh have them
"""

import argparse
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import compare_serving
from compare_serving import DEFAULT_MODEL, SERVER
from folio_server import ROOT, FolioServer

sys.path.append(str(ROOT / "tests/e2e"))
import traffic_shapes  # pylint: disable=wrong-import-position

CAPTURE, SCENARIO = "opencode-chat", "occhat-tool"
CONTEXT, GENERATED = 8192, 24


def folio_server(model, options):
    return FolioServer(model, "--threads", options.threads)


@contextlib.contextmanager
def llama_server(model, options):
    # A slot and its context, as compare_serving counts them.
    with compare_serving.LlamaServer(model, argparse.Namespace(requests=1, prefix=CONTEXT - 256, threads=options.threads)) as server:
        yield server


def session():
    """(system prompt, question, tool results without end, a side request)"""
    capture = traffic_shapes.read(CAPTURE)
    side, main = [request["body"] for request in capture["requests"] if request["scenario"] == SCENARIO][:2]
    system = main["messages"][0]["content"] + "\n\n" + "\n".join(json.dumps(tool["function"], separators=(",", ":")) for tool in main["tools"])
    results = (traffic_shapes.text_of(f"result {number}", 200) for number in range(1000))
    return system, main["messages"][1]["content"], results, side["messages"]


def ask(port, messages):
    """(reply, seconds to its first piece, seconds to its end)"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    body = {"messages": messages, "max_tokens": GENERATED, "temperature": 0, "stream": True}
    start = time.monotonic()
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    assert response.status == 200, response.read()
    text, first = "", None
    for line in response:
        if line.startswith(b"data: {"):
            choices = json.loads(line[6:])["choices"]
            piece = choices[0]["delta"].get("content") if choices else None
            if piece:
                first = first or time.monotonic() - start
                text += piece
    connection.close()
    return text, first or time.monotonic() - start, time.monotonic() - start


def play(server, options):
    """[(seconds to the first piece, seconds to the end)] of the turns."""
    system, question, results, side = session()
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    turns = []
    with server as running:
        ask(running.port, [{"role": "user", "content": "Hello"}])
        for _ in range(options.turns):
            text, first, total = ask(running.port, messages)
            turns.append((first, total))
            messages += [{"role": "assistant", "content": text}, {"role": "user", "content": next(results)}]
            if options.side:
                ask(running.port, side)
    return turns


def table(rounds, options):
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    cpu = next(line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name"))
    lines = [f"{datetime.date.today().isoformat()}, {cpu}, {options.threads} threads, commit {commit}; {options.turns} turns, {GENERATED} tokens each"
             + (", a side request after each" if options.side else "") + f"; medians of {len(rounds)} rounds", "",
             "| server | first token s: turn 1 | later turns | session s |", "|---|---|---|---|"]
    for name in rounds[0]:
        first = statistics.median(figures[name][0][0] for figures in rounds)
        later = statistics.median(statistics.median(turn[0] for turn in figures[name][1:]) for figures in rounds)
        total = statistics.median(sum(turn[1] for turn in figures[name]) for figures in rounds)
        lines.append(f"| {name} | {first:.2f} | {later:.3f} | {total:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-side", dest="side", action="store_false", help="the session alone")
    parser.add_argument("--only", help="one server, by its name")
    parser.add_argument("--out", help="write the table to this file too")
    options = parser.parse_args()
    if not SERVER.exists() and options.only != "Folio":
        sys.exit("compare_agents.py: llama.cpp's server is not built: run bench/peers/build_llama_cpp.sh --server")
    model = options.model or pathlib.Path(os.environ.get("FOLIO_MODEL_DIR") or ".") / DEFAULT_MODEL
    servers = {"Folio": folio_server, "llama.cpp": llama_server}
    rounds = []
    for number in range(options.rounds):
        names = [name for name in servers if options.only in (None, name)][:: 1 if number % 2 == 0 else -1]
        rounds.append({name: play(servers[name](model, options), options) for name in names})
    ratio = statistics.median(sum(turn[1] for turn in figures["llama.cpp"]) / sum(turn[1] for turn in figures["Folio"])
                              for figures in rounds) if options.only is None else 1
    text = table(rounds, options) + f"\nFolio's session takes 1/{ratio:.2f} of the time.\n" * (options.only is None)
    print(text, end="")
    if options.out:
        pathlib.Path(options.out).write_text(text, encoding="utf-8")
    sys.exit(0 if ratio >= 1 else 1)


if __name__ == "__main__":
    main()
