#!/usr/bin/env python3
"""Time from starting `folio run` to the first byte of its reply, with the file in the page cache.

A model of random weights may end its reply at once or begin it with part of a character: then the
end of the output is what is timed, which is later.

usage: bench/first_token.py [MODEL] [--repeat N] [--limit SECONDS]

A virtual machine may have given its idle memory back to its host; the first use of such memory costs
seconds a gigabyte (measured: 2.9 s, where memory used a moment before takes 0.13 s), whatever the
program. So memory of the file's size is used and freed right before each start; --cold leaves that out.

Without MODEL: a generated file in the shape of Llama 3.1 8B, Q4_0, 4.5 GB, kept in $FOLIO_PEERS/models.
Exits 1 if the median is above the limit.

  FOLIO_BIN   the command (default: the release build)
"""

import argparse
import mmap
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


def use_memory(size):
    """Makes the machine back `size` bytes of memory, then frees them, in a process of its own."""
    child = os.fork()
    if child == 0:
        with mmap.mmap(-1, size) as memory:
            memory.madvise(mmap.MADV_HUGEPAGE)
            memory[::mmap.PAGESIZE] = b"\1" * -(-size // mmap.PAGESIZE)
        os._exit(0)
    os.waitpid(child, 0)


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
    parser.add_argument("--cold", action="store_true", help="do not use the memory beforehand")
    options = parser.parse_args()
    model = options.model or make_bench_models.ensure("llama-3.1-8b", "Q4_0", PEERS / "models")
    read_through(model)
    times = []
    for _ in range(options.repeat):
        if not options.cold:
            use_memory(os.path.getsize(model) + (256 << 20))
        times.append(seconds_to_first_byte(model))
    median = statistics.median(times)
    print(f"{os.path.basename(model)}, {os.path.getsize(model) / 1e9:.2f} GB: first token after {median:.2f} s "
          f"(median of {options.repeat}, {min(times):.2f} to {max(times):.2f}; limit {options.limit} s)")
    sys.exit(1 if median > options.limit else 0)


if __name__ == "__main__":
    main()
