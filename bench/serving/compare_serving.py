#!/usr/bin/env python3
"""Requests with one long prefix that arrive together: Folio against llama.cpp's server, same file, same run, in turns.

usage: bench/serving/compare_serving.py [MODEL] [--requests N] [--prefix N] [--rounds N] [--out FILE.md]
       (after bench/peers/build_llama_cpp.sh --server)

Each request is the prefix and 50 tokens of its own, and 4 tokens are generated. llama.cpp's server has a slot for each
request and is otherwise as it comes; its requests come by HTTP from this script, a thread for each, with the tokens'
numbers as prompt. Folio's come from `folio bench --serving --scenario shared`, inside its process. Both have answered
a short request before. Times are from the first request's start; tables show each round.

Exits 1 if Folio's last first token does not come `--goal` times sooner (the median over rounds).

  FOLIO_BIN, FOLIO_MODEL_DIR, FOLIO_PEERS   as the tests and build_llama_cpp.sh have them
"""

import argparse
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import platform
import random
import socket
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = pathlib.Path(os.environ.get("FOLIO_PEERS") or ROOT / "build/peers")
SERVER = PEERS / "llama-build/bin/llama-server"
FOLIO = os.environ.get("FOLIO_BIN") or str(ROOT / "build/release/bin/folio")
DEFAULT_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
TAIL, GENERATED = 50, 4


def folio(model, options):
    command = [FOLIO, "bench", model, "--serving", "--scenario", "shared", "--requests", options.requests, "--prefix",
               options.prefix, "--threads", options.threads, "--json"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare_serving.py: folio: {done.stderr.strip()}")
    result = json.loads(done.stdout)["shared"]
    assert (result["tail_tokens"], result["generated_tokens"]) == (TAIL, GENERATED) and not result["scaled_to_context"]
    times = result["first_token_s"]
    return {"prefilled": result["prefilled_tokens"], "first": times["first"], "median": times["median"],
            "last": times["last"], "total": result["total_s"]}


def free_port():
    with contextlib.closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class LlamaServer:
    """llama.cpp's server while the `with` block runs."""

    def __init__(self, model, options):
        self.port = free_port()
        context = options.requests * (options.prefix + 256)  # divided among the slots
        command = [SERVER, "--model", model, "--parallel", options.requests, "--ctx-size", context, "--threads",
                   options.threads, "--host", "127.0.0.1", "--port", self.port]
        self.log = open(PEERS / "llama-server.log", "w", encoding="utf-8")
        self.process = subprocess.Popen([str(part) for part in command], stdout=self.log, stderr=self.log)

    def __enter__(self):
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/health")
                if connection.getresponse().status == 200:
                    return self
            time.sleep(0.2)
        self.__exit__()
        sys.exit(f"compare_serving.py: {SERVER} did not start: see {self.log.name}")

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        self.log.close()

    def complete(self, prompt):
        """(monotonic time of the first token, prompt tokens computed)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        body = {"prompt": prompt, "n_predict": GENERATED, "stream": True, "temperature": 0, "ignore_eos": True}
        connection.request("POST", "/completion", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert response.status == 200, response.read()
        first = None
        for line in response:
            if not line.startswith(b"data: "):
                continue
            first = first or time.monotonic()
            piece = json.loads(line[6:])
            if piece.get("stop"):
                return first, piece["timings"]["prompt_n"]
        raise AssertionError("the stream ended without its last piece")


def llama(model, options):
    numbers = random.Random(1)

    def tokens(count):
        return [numbers.randrange(1000, 30000) for _ in range(count)]

    prefix = tokens(options.prefix)
    prompts = [prefix + tokens(TAIL) for _ in range(options.requests)]
    results = [None] * len(prompts)
    with LlamaServer(model, options) as server:
        server.complete(tokens(16))

        def ask(i):
            results[i] = server.complete(prompts[i])

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(prompts))]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        end = time.monotonic()
    if None in results:
        sys.exit("compare_serving.py: a request to llama.cpp's server failed")
    times = sorted(first - start for first, _ in results)
    return {"prefilled": sum(count for _, count in results), "first": times[0], "median": times[len(times) // 2],
            "last": times[-1], "total": end - start}


def table(rounds, options):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    lines = [f"{datetime.date.today().isoformat()}, {cpu}, {options.threads} threads, commit {commit}; {options.requests} "
             f"requests, {options.prefix} tokens shared, {TAIL} of their own", "",
             "| engine | prompt tokens computed | first token s: first | median | last | all done s |",
             "|---|---|---|---|---|---|"]
    for figures in rounds:
        for engine, row in figures.items():
            lines.append(f"| {engine} | {row['prefilled']} | {row['first']:.2f} | {row['median']:.2f} | "
                         f"{row['last']:.2f} | {row['total']:.2f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--prefix", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--goal", type=float, default=20)
    parser.add_argument("--out", help="write the table to this file too")
    options = parser.parse_args()
    if not SERVER.exists():
        sys.exit("compare_serving.py: llama.cpp's server is not built: run bench/peers/build_llama_cpp.sh --server")
    model = options.model or pathlib.Path(os.environ.get("FOLIO_MODEL_DIR") or ".") / DEFAULT_MODEL
    engines = {"Folio": folio, "llama.cpp": llama}
    rounds = []
    for number in range(options.rounds):
        names = list(engines) if number % 2 == 0 else list(engines)[::-1]
        rounds.append({name: engines[name](model, options) for name in names})
    ratio = statistics.median(figures["llama.cpp"]["last"] / figures["Folio"]["last"] for figures in rounds)
    text = table(rounds, options) + f"\nFolio's last first token comes {ratio:.1f} times sooner (goal: {options.goal:g}).\n"
    print(text, end="")
    if options.out:
        pathlib.Path(options.out).write_text(text, encoding="utf-8")
    sys.exit(0 if ratio >= options.goal else 1)


if __name__ == "__main__":
    main()
