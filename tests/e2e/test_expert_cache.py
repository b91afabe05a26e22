"""Models whose experts don't all fit into `--memory`: the same bits, within the budget, refused with numbers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_checks import refused
from engine_logits import logits

BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

import make_bench_models  # noqa: E402

FAMILIES = ("mixtral", "mixtral-q4_k", "qwen2moe", "qwen3moe", "olmoe-mixed", "gpt-oss", "gpt-oss-mxfp4")
TOKENS = [3 + 7 * i % 90 for i in range(40)]
CONTEXT = ("--context", "64")
MIB = 1 << 20


def least_memory(folio, model, *args):
    """The smallest budget that the command says would do, and the numbers of experts in its message."""
    outcome = folio(*args, model, "--memory", "1MiB", *CONTEXT)
    refused(outcome, 1, "--memory", "a cache of the least number of experts")
    slots, experts = map(int, re.search(r"number of experts, (\d+) of (\d+)", outcome.err).groups())
    return int(re.search(r": (\d+) together", outcome.err)[1]), slots, experts


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_are_those_of_the_model_wholly_in_memory(name, folio, tiny_models, tmp_path):
    model = tiny_models(name)
    out = tmp_path / "logits.npy"
    expected = logits(folio, model, TOKENS, out, *CONTEXT)
    for threads, rows in (("1", "512"), ("2", "512"), ("2", "5")):
        options = (*CONTEXT, "--threads", threads, "--max-batch-tokens", rows)
        probe = folio("logits", model, "--tokens", "1", "--out", out, "--memory", "1MiB", *options)
        least = re.search(r": (\d+) together", probe.err)[1]
        cached = logits(folio, model, TOKENS, out, "--memory", least, *options)
        assert np.array_equal(cached.view(np.uint32), expected.view(np.uint32)), (threads, rows)


def test_the_plan_and_the_counts_are_told(folio, tiny_models):
    model = tiny_models("qwen3moe")
    run = ("run", "--prompt", "Experts are chosen for each token.", "--temperature", "0", "--max-tokens", "9")
    least, slots, experts = least_memory(folio, model, *run)
    whole = folio(*run, model, *CONTEXT, "--json").json()
    assert "expert_cache" not in whole
    assert folio(*run, model, *CONTEXT, "--memory", str(least - 1)).code == 1
    document = folio(*run, model, *CONTEXT, "--memory", str(least), "--json", "--show-cache").json()
    assert document["tokens"] == whole["tokens"]
    cache = document["expert_cache"]
    assert (cache["experts"], cache["slots"], cache["resident"]) == (experts, slots, slots)
    assert cache["hits"] >= 0 and cache["misses"] > slots and cache["bytes_read"] > 0 and cache["wait_seconds"] >= 0
    memory = document["pool"]["memory"]
    assert memory["experts_bytes"] > 0
    assert memory["total_bytes"] == least == sum(memory.values()) - memory["budget_bytes"] - memory["total_bytes"]
    told = folio(*run, model, *CONTEXT, "--memory", str(least), "--show-cache", "--show-experts").err
    assert f"{slots} of {experts} in memory" in told
    assert f"expert cache: {slots} of {experts} in memory" in told


def test_a_model_without_experts_is_refused_as_before(folio, tiny_models):
    outcome = folio("run", tiny_models("llama3"), "--prompt", "x", "--memory", "1MiB")
    refused(outcome, 1, "--memory", "weights need")
    assert "experts" not in outcome.err


def test_a_model_of_twice_the_memory_answers_within_it(folio, tmp_path):
    """The largest resident set, pages of the file included, is what the kernel counts."""
    model = make_bench_models.ensure("moe-64", "Q4_0", tmp_path)
    budget = os.path.getsize(model) // 2
    command = [folio.binary, "run", model, "--memory", str(budget), "--context", "1024", "--prompt",
               "The old ferry left the harbour. " * 8, "--max-tokens", "16", "--temperature", "0", "--json", "--show-cache"]  # fmt: skip
    # Measured from a small process: the peak of this one, from before it became the command, would count too.
    measure = "import json, memory, sys; print(json.dumps(memory.peak_resident_bytes(sys.argv[2:], open(sys.argv[1], 'w'))))"
    out = tmp_path / "out.json"
    measured = subprocess.run([sys.executable, "-c", measure, out, *command], cwd=BENCH, capture_output=True, text=True,
                              check=True)  # fmt: skip
    peak, code = json.loads(measured.stdout)
    assert code == 0, measured.stderr
    document = json.loads(out.read_text())
    plan = document["pool"]["memory"]["total_bytes"]
    cache = document["expert_cache"]
    assert plan <= budget
    assert document["completion_tokens"] > 0
    assert 0 < cache["slots"] < cache["experts"] == 6 * 64
    assert cache["resident"] == cache["slots"]
    assert peak <= plan + max(plan // 50, 64 * MIB)
    os.unlink(model)
