#!/usr/bin/env python3
"""Time from starting `folio run` to the first byte of its reply, with the file in the page cache.

A model of random weights may end its reply at once or begin it with part of a character: then the
end of the output is what is timed, which is later.

usage: bench/first_token.py [MODEL] [--repeat N] [--limit SECONDS]

Without MODEL: a generated file in the shape of Llama 3.1 8B, Q4_0, 4.5 GB, kept in $FOLIO_PEERS/models.
Exits 1 if the median is above the limit.

  FOLIO_BIN   the command (default: the release build)
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

import make_bench_models

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = pathlib.Path(os.environ.get("FOLIO_PEERS") or ROOT / "build/peers")
FOLIO = os.environ.get("FOLIO_BIN") or str(ROOT / "build/release/bin/folio")


def read_through(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(16 << 20):
            pass


def seconds_to_first_byte(model):
    start = time.monotonic()
    command = [FOLIO, "run", model, "--prompt", "Hello", "--max-tokens", "2", "--temperature", "0", "--context", "512"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        os.read(child.stdout.fileno(), 1)
        seconds = time.monotonic() - start
        child.stdout.read()
    if child.returncode != 0:
        sys.exit(f"first_token.py: folio run ended with {child.returncode}")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--limit", type=float, default=1.5)
    options = parser.parse_args()
    model = options.model or make_bench_models.ensure("llama-3.1-8b", "Q4_0", PEERS / "models")
    read_through(model)
    times = [seconds_to_first_byte(model) for _ in range(options.repeat)]
    median = statistics.median(times)
    print(f"{os.path.basename(model)}, {os.path.getsize(model) / 1e9:.2f} GB: first token after {median:.2f} s "
          f"(median of {options.repeat}, {min(times):.2f} to {max(times):.2f}; limit {options.limit} s)")
    sys.exit(1 if median > options.limit else 0)


if __name__ == "__main__":
    main()
