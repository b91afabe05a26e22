#!/usr/bin/env python3
"""Peak memory of `folio run` against its bound: the model file, the KV cache and 150 MiB.

usage: bench/memory.py MODEL... [--context N]

The peak is the kernel's: the largest resident set of the process, mapped files included. Exits 1 if
one is above the bound.

  FOLIO_BIN   the command (default: the release build)
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLIO = os.environ.get("FOLIO_BIN") or str(ROOT / "build/release/bin/folio")
ALLOWANCE = 150 << 20
MIB = 1 << 20


def peak_resident_bytes(command):
    """(peak bytes, exit code) of a command; its output is thrown away."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * 1024, child.returncode


def kv_bytes(model, context):
    shown = subprocess.run([FOLIO, "show", model, "--json"], capture_output=True, text=True, check=True).stdout
    return json.loads(shown)["kv_bytes_per_token"] * context


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--context", type=int, default=2048)
    options = parser.parse_args()
    # At most half the context, also where every byte is a token.
    prompt = "The old ferry left the harbour. " * (options.context // 64)
    failed = False
    print("| model | file MiB | KV MiB | bound MiB | peak MiB | |\n|---|---|---|---|---|---|")
    for model in options.models:
        size, kv = os.path.getsize(model), kv_bytes(model, options.context)
        peak, code = peak_resident_bytes([FOLIO, "run", model, "--context", str(options.context), "--prompt", prompt,
                                          "--max-tokens", "32"])
        if code != 0:
            sys.exit(f"memory.py: folio run {model} ended with {code}")
        bound = size + kv + ALLOWANCE
        failed |= peak > bound
        figures = " | ".join(f"{value / MIB:.0f}" for value in (size, kv, bound, peak))
        print(f"| {os.path.basename(model)} | {figures} | {'ABOVE' if peak > bound else 'below'} |")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
