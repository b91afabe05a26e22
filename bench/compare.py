#!/usr/bin/env python3
"""Compares Folio's speed with llama.cpp's on the same files, in the same run, in turns.

usage: bench/compare.py [--rounds N] [--models DIR] [--only NAME] [--together N] [--out FILE.md]
       (after bench/peers/build_llama_cpp.sh)

Each round runs llama.cpp without and with flash attention and Folio, in an order that changes from
round to round, so that slow phases of a shared machine meet all of them. llama.cpp's figure is its
better setting. Reported: medians over rounds of each round's median, and the median over rounds of
Folio's figure divided by llama.cpp's in that round. Prints a markdown table.

  FOLIO_BIN, FOLIO_MODEL_DIR, FOLIO_PEERS   as the tests and build_llama_cpp.sh have them

Needs numpy (for the generated models) and a release build.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

import make_bench_models

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = pathlib.Path(os.environ.get("FOLIO_PEERS") or ROOT / "build/peers")
FOLIO = pathlib.Path(os.environ.get("FOLIO_BIN") or ROOT / "build/release/bin/folio")
DEFAULT_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
# By name in the table: the shape and type to generate, or None for the default model.
MODELS = {
    "SmolLM2-135M Q4_1": None,
    "Qwen3-0.6B Q8_0": ("qwen3-0.6b", "Q8_0"),
    "Qwen3-0.6B Q4_0": ("qwen3-0.6b", "Q4_0"),
    "Qwen3-30B-A3B Q4_0, 10 layers": ("qwen3-30b-a3b-10l", "Q4_0"),
}
# What the project has set itself, as shares of llama.cpp's speed.
GOALS = {"prefill": 0.8, "decode": 1.0}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3, help="measurements in each round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--generate", default="64,128", help="lengths of decode, separated by commas")
    parser.add_argument("--together", type=int, default=0, help="also decode of so many sequences at once")
    parser.add_argument("--models", default=os.environ.get("FOLIO_MODEL_DIR"), help="folder of the default model")
    parser.add_argument("--only", help="one model, by the beginning of its name")
    parser.add_argument("--out", help="write the table to this file too")
    parser.add_argument("--llama-only", action="store_true", help="measure llama.cpp alone")
    return parser.parse_args()


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"compare.py: {command[0]} failed: {done.stderr.strip().splitlines()[-1:]}")
    return done.stdout


class Shapes:
    """The tests: prefill of one length, decode of several; each engine's tokens a second by test name."""

    def __init__(self, options):
        self.options = options
        self.decodes = [int(n) for n in options.generate.split(",")]
        self.together = f"decode {self.decodes[0]}, {options.together} at once" if options.together else None
        self.names = [f"prefill {options.prompt}"] + [f"decode {n}" for n in self.decodes]
        self.names += [self.together] if self.together else []

    def llama(self, model, flash):
        figures = {}
        for i, generate in enumerate(self.decodes):
            prompt = self.options.prompt if i == 0 else 0
            result = json.loads(output_of(
                [PEERS / "llama_bench", model, "--prompt", prompt, "--generate", generate, "--flash", flash,
                 "--threads", self.options.threads, "--repeat", self.options.repeat]))
            if prompt:
                figures[self.names[0]] = statistics.median(result["prefill"])
            figures[f"decode {generate}"] = statistics.median(result["decode"])
        if self.together:
            result = json.loads(output_of(
                [PEERS / "llama_bench", model, "--prompt", 0, "--generate", self.decodes[0], "--flash", flash,
                 "--sequences", self.options.together, "--threads", self.options.threads, "--repeat",
                 self.options.repeat]))
            figures[self.together] = statistics.median(result["decode"])
        return figures

    def folio(self, model):
        figures = {}
        for i, generate in enumerate(self.decodes):
            result = json.loads(output_of(
                [FOLIO, "bench", model, "--prompt", self.options.prompt, "--generate", generate, "--threads",
                 self.options.threads, "--repeat", self.options.repeat, "--json"]))
            for row in result["results"]:
                if row["test"] == "decode":
                    figures[f"decode {generate}"] = row["tokens_per_s"]["median"]
                elif row["test"] == "prefill" and i == 0:
                    figures[self.names[0]] = row["tokens_per_s"]["median"]
        if self.together:
            result = json.loads(output_of(
                [FOLIO, "bench", model, "--prompt", 0, "--generate", self.decodes[0], "--batch", self.options.together,
                 "--threads", self.options.threads, "--repeat", self.options.repeat, "--json"]))
            figures[self.together] = next(row["tokens_per_s"]["median"] for row in result["results"]
                                          if row["test"] == "decode")
        return figures


def measure(shapes, model, rounds, llama_only):
    """[{engine: {test: tokens/s}}], one dict a round."""
    engines = [("llama", lambda: shapes.llama(model, 0)), ("llama flash", lambda: shapes.llama(model, 1))]
    if not llama_only:
        engines.append(("folio", lambda: shapes.folio(model)))
    results = []
    for number in range(rounds):
        turn = number % len(engines)
        results.append({name: run() for name, run in engines[turn:] + engines[:turn]})
    return results


def rows_of(name, results, tests):
    for test in tests:
        medians = {engine: statistics.median(r[engine][test] for r in results) for engine in results[0]}
        best = max((engine for engine in medians if engine != "folio"), key=medians.get)
        row = {"model": name, "test": test, "peer": best, "peer_speed": medians[best]}
        if "folio" in medians:
            row["folio_speed"] = medians["folio"]
            row["ratio"] = statistics.median(r["folio"][test] / r[best][test] for r in results)
        yield row


def table(rows, options):
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                if line.startswith("model name")), platform.machine())
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    lines = [f"{datetime.date.today().isoformat()}, {cpu}, {options.threads} threads, commit {commit}, "
             f"{options.rounds} rounds in turns; tokens a second (medians)", "",
             "| model | test | llama.cpp | Folio | Folio / llama.cpp | goal |", "|---|---|---|---|---|---|"]
    for row in rows:
        peer = f"{row['peer_speed']:.1f}" + (" (flash)" if row["peer"] == "llama flash" else "")
        own = f"{row['folio_speed']:.1f} | {row['ratio']:.2f}" if "ratio" in row else "– | –"
        lines.append(f"| {row['model']} | {row['test']} | {peer} | {own} | {GOALS[row['test'].split()[0]]} |")
    return "\n".join(lines) + "\n"


def main():
    options = parse_options()
    if not (PEERS / "llama_bench").exists():
        sys.exit("compare.py: llama.cpp is not built: run bench/peers/build_llama_cpp.sh")
    shapes, rows = Shapes(options), []
    for name, made in MODELS.items():
        if options.only and not name.startswith(options.only):
            continue
        if made:
            model = make_bench_models.ensure(*made, PEERS / "models")
        else:
            model = pathlib.Path(options.models or ".") / DEFAULT_MODEL
            if not model.exists():
                sys.exit(f"compare.py: {model} is missing: give its folder with --models")
        rows += rows_of(name, measure(shapes, model, options.rounds, options.llama_only), shapes.names)
        text = table(rows, options)
        if options.out:
            pathlib.Path(options.out).write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
