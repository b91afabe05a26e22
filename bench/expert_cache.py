#!/usr/bin/env python3
"""Speed of a model with experts that is larger than its memory, against the same model wholly in memory.

usage: bench/expert_cache.py MODEL [--share 0.5] [--tokens 2] [--replies 12] [--rounds 3]

The same prompt is answered several times, one after the other, greedily. The first reply finds an empty cache of experts,
the later ones those that the others left: all of them, if what a reply needs fits. A model with random weights sends
every token to other experts, so replies are short; with --tokens 64 the cache serves what it can. Tokens a second are of
decoding; medians. The budget is SHARE of the model file.

  FOLIO_BIN   the command (default: the release build)
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLIO = os.environ.get("FOLIO_BIN") or str(ROOT / "build/release/bin/folio")
PROMPT = "a"


def replies(model, shape, *options):
    """Tokens a second of each reply, and what the document says of the cache."""
    done = subprocess.run(
        [FOLIO, "run", model, *["--prompt", PROMPT] * shape.replies, "--max-requests", "1", "--max-tokens", str(shape.tokens),
         "--max-draft-tokens", "0", "--no-prefix-cache", "--temperature", "0", "--context", "1024", "--max-batch-tokens", "128", "--json",
         *options], capture_output=True, text=True, check=True)  # fmt: skip
    document = json.loads(done.stdout)
    speeds = [(reply["completion_tokens"] - 1) / reply["timings"]["decode_s"] for reply in document["replies"]]
    return speeds, document.get("expert_cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--tokens", type=int, default=2)
    parser.add_argument("--replies", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    memory = str(int(os.path.getsize(options.model) * options.share))
    whole, cold, hot, cache = [], [], [], None
    for _ in range(options.rounds):
        whole += replies(options.model, options)[0][2:]  # while the first are made, weights are packed
        speeds, cache = replies(options.model, options, "--memory", memory)
        cold.append(speeds[0])
        hot += speeds[2:]
    base = statistics.median(whole)
    print("| | tokens/s | of all in memory |\n|---|---|---|")
    for name, values in (("all in memory", whole), ("first reply", cold), ("later replies", hot)):
        print(f"| {name} | {statistics.median(values):.1f} | {statistics.median(values) / base:.2f} |")
    if cache is None:
        print("\nall experts fit: no cache")
        return
    print(f"\n{cache['slots']} of {cache['experts']} experts fit; {cache['hits']} hits, {cache['misses']} misses, "
          f"{cache['bytes_read'] / 1e6:.0f} MB read, {cache['wait_seconds']:.2f} s waited")


if __name__ == "__main__":
    main()
