"""Routing made visible: `run --show-experts` tells where each token went."""

import json

import numpy as np
import pytest
from cli_checks import refused
from engine_logits import GOLDEN  # noqa: F401  (finds the golden modules)

import float64_families

FAMILIES = ("mixtral", "qwen2moe", "qwen3moe", "olmoe", "granitemoe", "gpt-oss")


def run(folio, path, *args):
    outcome = folio("run", path, "--show-experts", "--temperature", "0", "--json", *args)
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_token_went_to_the_experts_of_the_float64_pass(name, folio, tiny_models):
    document = run(folio, tiny_models(name), "--prompt", "Experts are chosen for each token.", "--max-tokens", "9",
                   "--kv-type", "f32")  # fmt: skip
    reference = float64_families.open_model(tiny_models(name))
    prompt = json.loads(folio("tokenize", tiny_models(name), "--json", "--text", "Experts are chosen for each token.").out)
    ids = prompt["ids"]
    if document["prompt_tokens"] > len(ids):
        ids = [int(reference.fields["tokenizer.ggml.bos_token_id"]), *ids]
    tokens = ids + document["tokens"]
    if document["finish_reason"] == "length":
        tokens.pop()  # the last token drawn is not computed; of a reply that stopped, it is the end token
    logits = reference.router_logits(tokens)  # [layers, tokens, experts]
    routed = document["routed_experts"]
    assert len(routed) == len(tokens)
    top_k = len(routed[0][0])
    for layer, of_layer in enumerate(logits):
        order = np.argsort(-of_layer, axis=1, kind="stable")[:, :top_k]
        assert [token[layer] for token in routed] == order.tolist()


def test_the_load_adds_up(folio, tiny_models):
    document = run(folio, tiny_models("qwen3moe"), "--prompt", "one two three", "--max-tokens", "5")
    routed = document["routed_experts"]
    for load in document["expert_load"]:
        chosen = [expert for token in routed for expert in token[load["layer"]]]
        assert load["tokens"] == len(routed)
        assert load["chosen"] == np.bincount(chosen, minlength=12).tolist()
        assert load["dropped_tokens"] == 0
        fractions = np.array(load["chosen"]) / len(chosen)
        assert sum(load["mean_scores"]) == pytest.approx(1)
        assert load["balance_loss"] == pytest.approx(12 * float(fractions @ load["mean_scores"]))
        used = fractions[fractions > 0]
        assert load["entropy"] == pytest.approx(float(-(used * np.log(used)).sum() / np.log(12)))


def test_tokens_from_the_cache_are_told_apart(folio, tiny_models):
    text = "The same words at the beginning of both prompts, many enough to fill a few blocks. "
    replies = run(folio, tiny_models("mixtral"), "--prompt", text + "One.", "--prompt", text + "Two.", "--max-tokens", "3")["replies"]
    second = replies[1]["routed_experts"]
    cached = replies[1]["cached_tokens"]
    assert cached >= 16
    assert second[:cached] == [None] * cached
    assert all(second[cached:])
    assert all(replies[0]["routed_experts"])


def test_the_map_has_a_row_a_token_and_no_colours_in_a_pipe(folio, tiny_models):
    outcome = folio("run", tiny_models("olmoe"), "--show-experts", "--prompt", "abc", "--max-tokens", "4")
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("experts:"))
    end = next(i for i, line in enumerate(lines) if line.startswith("load:"))
    usage = run(folio, tiny_models("olmoe"), "--prompt", "abc", "--max-tokens", "4")
    assert end - start - 1 == usage["prompt_tokens"] + 3
    assert "\x1b" not in outcome.err
    assert len(lines[end:]) == 2 + 3  # a heading and the model's three layers


def test_a_model_without_experts_says_so(folio, tiny_models):
    refused(folio("run", tiny_models("llama3"), "--show-experts", "--prompt", "a"), 2, "--show-experts", "no experts")
