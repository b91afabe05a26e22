"""bench --serving: what is counted holds on tiny models of both kinds of attention, and on the default one. No test
looks at a time."""

import dataclasses
import sys
from pathlib import Path

import pytest
from cli_checks import refused

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import make_tiny_models


@pytest.fixture(scope="module", params=["llama3", "gemma3"])
def tiny_model(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("serving") / make_tiny_models.file_name(request.param)
    make_tiny_models.write_model(request.param, path)
    return path


def serving(folio, model, scenario, *args):
    outcome = folio("bench", model, "--serving", "--scenario", scenario, *args, "--json")
    assert outcome.code == 0, outcome.err
    document = outcome.json()
    assert document["model"] == str(model) and document[scenario]["holds"]
    return document[scenario]


def test_a_shared_prefix_is_computed_once(folio, tiny_model):
    result = serving(folio, tiny_model, "shared", "--requests", 12, "--prefix", 640)
    assert result["prompt_tokens"] == 12 * 690
    # Each request computes its own tail and nothing of the prefix, which fills its blocks.
    assert result["prefilled_tokens"] == 640 + 12 * 50
    assert result["cached_tokens"] == 11 * 640


def test_without_the_cache_every_prompt_is_computed_and_the_command_says_so(folio, tiny_model):
    outcome = folio("bench", tiny_model, "--serving", "--scenario", "shared", "--requests", 4, "--prefix", 320,
                    "--no-prefix-cache", "--json")
    assert outcome.code == 1 and outcome.err.count("\n") == 1 and "shared" in outcome.err
    result = outcome.json()["shared"]
    assert not result["holds"] and result["prefilled_tokens"] == 4 * 370 and result["cached_tokens"] == 0


def test_every_turn_finds_all_full_blocks_of_the_turns_before(folio, tiny_model):
    result = serving(folio, tiny_model, "agent", "--turns", 6)
    long, short = result["prefix_tokens"]
    assert result["scaled_to_context"] and long == result["context"] - 6 * 60 and short == long // 4
    assert [turn["turn"] for turn in result["turns"]] == [1 + i // 2 for i in range(12)]
    for turn in result["turns"]:
        before = turn["prefix_tokens"] + (turn["turn"] - 1) * 60
        # All but the question and the reply's last token, which nobody computed.
        possible = 0 if turn["turn"] == 1 else (before - 41) // 16 * 16
        assert turn["prompt_tokens"] == before and turn["possible_tokens"] == possible
        assert turn["cached_tokens"] == possible


def test_an_agents_long_prompts_are_found_turn_after_turn(folio, tmp_path, monkeypatch):
    """28,000 and 7,000 tokens, as a coding agent and its helper send them, in turns."""
    monkeypatch.setitem(make_tiny_models.MODELS, "long",
                        dataclasses.replace(make_tiny_models.MODELS["qwen2"], context=32768))
    path = tmp_path / "long.gguf"
    make_tiny_models.write_model("long", path)
    result = serving(folio, path, "agent")
    assert result["prefix_tokens"] == [28000, 7000] and not result["scaled_to_context"]
    assert len(result["turns"]) == 20
    for turn in result["turns"][2:]:
        assert turn["cached_tokens"] == turn["possible_tokens"] > 6900


def test_many_requests_stay_within_the_plan(folio, tiny_model):
    result = serving(folio, tiny_model, "many")
    assert result["requests"] == 64 and result["blocks_left"] == 0
    if "gemma3" not in tiny_model.name:  # whose windows let go of blocks faster than replies take them
        assert result["preemptions"] > 0
    assert result["integrity"] == "" and result["memory"]["total_bytes"] <= result["memory"]["budget_bytes"]
    assert 0 < result["peak_resident_bytes"] <= result["peak_at_most"]
    # Prompts share nothing: each token but a reply's last is computed, some of them again after a preemption.
    assert result["computed_tokens"] >= result["prompt_tokens"] + result["generated_tokens"] - 64


def test_drafts_are_accepted_where_text_repeats(folio, tiny_model):
    result = serving(folio, tiny_model, "drafts")
    edit, fresh = result["edit"], result["fresh"]
    # How long drafts are is measured: on a model this small a row may cost too much for any.
    assert 0 <= edit["accepted_tokens"] <= edit["drafted_tokens"] and edit["accepted_tokens"] <= 240
    assert fresh["accepted_tokens"] == 0


def test_costs_are_told_for_full_steps(folio, tiny_model):
    result = serving(folio, tiny_model, "costs", "--requests", 8)
    assert result["requests"] == 8 and result["steps"] >= 40 and result["long_prompt_tokens"] == 100_000
    for name in ("forward_s", "schedule_s", "draw_s", "long_prompt_hash_s", "long_prompt_match_s"):
        assert result[name] > 0, name


def test_the_default_model_shares_and_turns(folio, smollm2):
    result = serving(folio, smollm2, "shared", "--requests", 4, "--prefix", 160)
    assert result["prefilled_tokens"] == 160 + 4 * 50
    result = serving(folio, smollm2, "agent", "--prefix", 200, "--turns", 3)
    assert result["prefix_tokens"] == [200, 50] and not result["scaled_to_context"]


def test_a_scenario_that_is_none_is_refused(folio, smollm2):
    refused(folio("bench", smollm2, "--serving", "--scenario", "nothing"), 2, "--scenario", "nothing")


def test_people_get_the_figures_as_text(folio, tiny_model):
    outcome = folio("bench", tiny_model, "--serving", "--scenario", "shared", "--prefix", 160)
    assert outcome.code == 0 and "shared" in outcome.out and f"{160 + 16 * 50} of {16 * 210}" in outcome.out
