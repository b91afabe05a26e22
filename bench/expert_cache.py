#!/usr/bin/env python3
"""Speed of a model with experts that is larger than its memory, against the same model wholly in memory.

usage: bench/expert_cache.py MODEL [--share 0.5] [--tokens 64] [--rounds 3]

The same prompt is answered twice, one after the other, greedily. The first reply finds an empty cache of experts, the
second one those that the first left: "hot" if all that it needs fit. Tokens a second are of decoding; medians over rounds.
The budget is SHARE of the model file. Greedy replies of a model with random weights soon repeat themselves, so that
they keep to few experts, as real text does to its subject.

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
PROMPT = "The old ferry left the harbour."


def replies(model, tokens, *options):
    """Of two replies: tokens a second of each, and what the document says of the cache."""
    done = subprocess.run(
        [FOLIO, "run", model, "--prompt", PROMPT, "--prompt", PROMPT, "--max-requests", "1", "--max-tokens", str(tokens),
         "--max-draft-tokens", "0", "--no-prefix-cache", "--temperature", "0", "--context", "1024", "--max-batch-tokens", "128", "--json",
         *options], capture_output=True, text=True, check=True)  # fmt: skip
    document = json.loads(done.stdout)
    speeds = [(reply["completion_tokens"] - 1) / reply["timings"]["decode_s"] for reply in document["replies"]]
    return speeds, document.get("expert_cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    memory = str(int(os.path.getsize(options.model) * options.share))
    whole, cold, hot, cache = [], [], [], None
    for _ in range(options.rounds):
        whole.append(replies(options.model, options.tokens)[0][1])
        speeds, cache = replies(options.model, options.tokens, "--memory", memory)
        cold.append(speeds[0])
        hot.append(speeds[1])
    base = statistics.median(whole)
    print("| | tokens/s | of all in memory |\n|---|---|---|")
    for name, values in (("all in memory", whole), ("first reply", cold), ("second reply", hot)):
        print(f"| {name} | {statistics.median(values):.1f} | {statistics.median(values) / base:.2f} |")
    if cache is None:
        print("\nall experts fit: no cache")
        return
    print(f"\n{cache['slots']} of {cache['experts']} experts fit; {cache['hits']} hits, {cache['misses']} misses, "
          f"{cache['bytes_read'] / 1e6:.0f} MB read, {cache['wait_seconds']:.2f} s waited")


if __name__ == "__main__":
    main()
