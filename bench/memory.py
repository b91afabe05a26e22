#!/usr/bin/env python3
"""Peak memory against its bounds, of one request and of many.

usage: bench/memory.py MODEL... [--context N]

One request is `folio run`'s; the bound is the model file, the KV cache and 150 MiB. Many are those of `folio bench
--serving --scenario many`: 64 together on a pool of KV blocks too small for them; the bound is the plan that the engine
prints and 2 % or 64 MiB more, whichever is more. The peak is the kernel's: the largest resident set of the process,
mapped files included. Exits 1 if one is above its bound, or if the pool was not too small.

  FOLIO_BIN   the command (default: the release build)
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLIO = os.environ.get("FOLIO_BIN") or str(ROOT / "build/release/bin/folio")
ALLOWANCE = 150 << 20
MIB = 1 << 20


def peak_resident_bytes(command, output=subprocess.DEVNULL):
    """(peak bytes, exit code) of a command."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024, child.returncode


def kv_bytes(model, context):
    shown = subprocess.run([FOLIO, "show", model, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(shown)["kv_bytes_per_token"] * context


def one_request(model, context):
    """(figures in bytes, bound, peak) of `folio run`."""
    # At most half the context, also where every byte is a token.
    prompt = "The old ferry left the harbour. " * (context // 64)
    size, kv = os.path.getsize(model), kv_bytes(model, context)
    peak, code = peak_resident_bytes([FOLIO, "run", model, "--context", str(context), "--prompt", prompt,
                                      "--max-tokens", "32"])
    if code != 0:
        sys.exit(f"memory.py: folio run {model} ended with {code}")
    return (size, kv), size + kv + ALLOWANCE, peak


def many_requests(model):
    """(preemptions, plan, bound, peak) of 64 requests on too few blocks."""
    with tempfile.TemporaryFile("w+") as output:
        # Its own check of the memory makes it fail too: this table says by how much.
        peak, _ = peak_resident_bytes([FOLIO, "bench", model, "--serving", "--scenario", "many", "--json"], output)
        output.seek(0)
        text = output.read()
    if not text:
        sys.exit(f"memory.py: folio bench {model} printed nothing")
    result = json.loads(text)["many"]
    plan = result["memory"]["total_bytes"]
    return result["preemptions"], plan, plan + max(plan // 50, 64 * MIB), peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--context", type=int, default=2048)
    options = parser.parse_args()
    failed = False

    def verdict(peak, bound):
        nonlocal failed
        failed |= peak > bound
        return "ABOVE" if peak > bound else "below"

    print("| one request of | file MiB | KV MiB | bound MiB | peak MiB | |\n|---|---|---|---|---|---|")
    for model in options.models:
        parts, bound, peak = one_request(model, options.context)
        figures = " | ".join(f"{value / MIB:.0f}" for value in (*parts, bound, peak))
        print(f"| {os.path.basename(model)} | {figures} | {verdict(peak, bound)} |")
    print("\n| 64 requests of | preemptions | plan MiB | bound MiB | peak MiB | |\n|---|---|---|---|---|---|")
    for model in options.models:
        preemptions, plan, bound, peak = many_requests(model)
        failed |= preemptions == 0
        figures = " | ".join(f"{value / MIB:.0f}" for value in (plan, bound, peak))
        print(f"| {os.path.basename(model)} | {preemptions} | {figures} | {verdict(peak, bound)} |")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
