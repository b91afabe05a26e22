"""`folio lab positions`: the numbers of the text on positional encoding, and of the loaded models."""

import math
import sys
from pathlib import Path

import gguf
import numpy as np
import pytest
from cli_checks import refused

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))
import make_tiny_models


def steps(folio, *args, **options):
    outcome = folio("lab", "positions", *args, "--json", **options)
    assert outcome.code == 0 and outcome.err == "", outcome.err
    return {step["id"]: step for step in outcome.json()["steps"]}


@pytest.fixture(scope="module")
def positions(folio, smollm2):
    return steps(folio, "--model", smollm2, "--dim", "100")


def check_order(step):
    first, second = step["tokens"]
    assert sorted(first) == sorted(second) and first != second and first[-1] == second[-1]
    encodings = {row["encoding"]: row for row in step["encodings"]}
    assert list(encodings) == ["none", "sinusoidal", "rotary", "alibi"]
    assert encodings["none"]["relative"] < 1e-4
    for name in ("sinusoidal", "rotary", "alibi"):
        assert encodings[name]["relative"] > 100 * max(encodings["none"]["relative"], 1e-6), name
    forward = {(row["layers"], row["positions"]): row for row in step["forward"]}
    assert forward[1, False]["relative"] < 1e-4 and forward[1, False]["same_next"]
    assert forward[1, True]["relative"] > 100 * max(forward[1, False]["relative"], 1e-6)
    return forward


def test_q1_without_positions_both_sentences_are_the_same(folio, positions, smollm2):
    step = positions["Q1"]
    forward = check_order(step)
    assert set(forward) == {(1, False), (1, True), (30, False), (30, True)}
    assert forward[30, False]["relative"] > 1e-3  # the causal mask lets order through
    ids = folio("tokenize", smollm2, "--text", " Alice hits Bob. Who's hurt?", "--json").json()["ids"]
    assert step["tokens"][0] == ids and step["last_token"] == "?"


def test_q1_holds_with_windows_norms_and_a_bos_token(folio, gemma3):
    forward = check_order(steps(folio, "--model", gemma3)["Q1"])
    assert set(forward) == {(1, False), (1, True), (18, False), (18, True)}


def test_q2_and_q3_fractions_and_bits(positions):
    assert [(row["length"], row["value"]) for row in positions["Q2"]["fractions"]] == [(64, 0.375), (1000, 0.024)]
    bits = {row["position"]: row for row in positions["Q3"]["positions"]}
    assert bits[24]["bits"] == "011000" and bits[24]["flipped"] == 4
    assert bits[23]["bits"] == "010111" and bits[23]["flipped"] == 1
    assert positions["Q3"]["most_flipped"] == {"position": 32, "flipped": 6}


def test_q4_waves(positions):
    step = positions["Q4"]
    assert [pair["of_pi"] for pair in step["pairs"]] == pytest.approx([2, 20, 200, 2000])
    for row in step["values"]:
        for i in range(4):
            angle = row["position"] / 10000 ** (2 * i / 8)
            assert row["pe"][2 * i] == pytest.approx(math.sin(angle), abs=1e-12)
            assert row["pe"][2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-12)
    assert {row["position"] for row in step["values"]} >= {0, 23, 24}
    by_position = {row["position"]: np.array(row["pe"]) for row in step["values"]}
    assert step["largest_step_23_to_24"] == pytest.approx(np.abs(by_position[24] - by_position[23]).max())


def test_q5_longest_wavelength_of_any_dimension(folio, positions):
    step = positions["Q5"]
    assert round(step["limit"]) == 62832
    longest = {row["dim"]: row["wavelength"] for row in step["longest"]}
    assert list(longest) == [8, 64, 100, 512, 4096]
    for dim, wavelength in longest.items():
        assert wavelength == pytest.approx(2 * math.pi * 10000 ** ((dim - 2) / dim), rel=1e-12)
    assert longest[4096] > 0.99 * step["limit"] > longest[512]
    refused(folio("lab", "positions", "--dim", "7"), 2, "--dim", "7")
    refused(folio("lab", "positions", "--dim", "0"), 2, "--dim", "0")
    refused(folio("lab", "paged", "--dim", "8"), 2, "--dim", "paged")


@pytest.mark.parametrize("which", ["smollm2", "gemma3"])
def test_q6_hands_are_the_files_own(folio, which, request):
    path = request.getfixturevalue(which)
    fields = {name: field.contents() for name, field in gguf.GGUFReader(path).fields.items()}
    arch = fields["general.architecture"]
    step = steps(folio, "--model", path)["Q6"]
    context = fields[f"{arch}.context_length"]
    assert step["context_length"] == context
    bases = [fields[f"{arch}.rope.freq_base"]] + ([10000.0] if arch == "gemma3" else [])
    assert [rope["base"] for rope in step["ropes"]] == bases
    for rope in step["ropes"]:
        dim = rope["rotary_dim"]
        assert rope["scaling"] == "none" and rope["attention_factor"] == 1 and len(rope["hands"]) == dim // 2
        for i, hand in enumerate(rope["hands"]):
            omega = rope["base"] ** (-2 * i / dim)
            assert hand["radians_per_position"] == pytest.approx(omega, rel=1e-12)
            assert hand["wavelength"] == pytest.approx(2 * math.pi / omega, rel=1e-12)
            assert hand["turns"] == pytest.approx(context * omega / (2 * math.pi), rel=1e-12)
        assert rope["hands_around"] == sum(hand["turns"] >= 1 for hand in rope["hands"])
        scores = rope["scores"]
        assert scores["24_20"] == pytest.approx(scores["1024_1020"], abs=1e-4)
        assert abs(scores["1024_1019"] - scores["1024_1020"]) > 0.01


@pytest.mark.parametrize("name,scaling,factor", [
    ("qwen3-yarn", "yarn", 0.1 * math.log(4) + 1),
    ("llama-longrope", "longrope", math.sqrt(1 + math.log(8) / math.log(256))),
    ("llama-linear", "linear", 1.0), ("olmoe", "none", 1.0)])
def test_stretched_hands_and_models_with_experts(folio, tmp_path, name, scaling, factor):
    path = tmp_path / make_tiny_models.file_name(name)
    make_tiny_models.write_model(name, path)
    shown = steps(folio, "--model", path)
    check_order(shown["Q1"])
    rope = shown["Q6"]["ropes"][0]
    assert rope["scaling"] == scaling and rope["attention_factor"] == pytest.approx(factor, rel=1e-6)
    plain = [rope["base"] ** (-2 * i / rope["rotary_dim"]) for i in range(rope["rotary_dim"] // 2)]
    slowed = [omega / hand["radians_per_position"] for omega, hand in zip(plain, rope["hands"])]
    slowest = {"yarn": 4.0, "longrope": 8.0, "linear": 4.0, "none": 1.0}[scaling]
    assert slowed[0] == pytest.approx(4.0 if scaling == "linear" else 1.0) and slowed[-1] == pytest.approx(slowest)


def test_text_has_the_same_steps(folio, smollm2):
    outcome = folio("lab", "positions", "--model", smollm2)
    assert outcome.code == 0 and outcome.err == "" and max(map(len, outcome.out.splitlines())) <= 110
    assert [line.split()[0] for line in outcome.out.splitlines() if line[:1] not in ("", " ")] == [
        "Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
    for word in ("rotary, the model's own", "24 of 64: 0.375", "24 of 1,000: 0.024", "011000", "6.28", "6283.19",
                 "2000", "62831.9", "base 100000", "trained for"):
        assert word in outcome.out, word


def test_only_two_steps_need_a_model(folio, tmp_path):
    without = steps(folio, env={"FOLIO_HOME": str(tmp_path), "FOLIO_MODEL": ""})
    assert list(without) == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]
    for name in ("Q1", "Q6"):
        assert without[name]["missing_model"] and len(without[name]["text"]) == 1
    assert without["Q2"]["fractions"][0]["value"] == 0.375
    refused(folio("lab", "positions", "--model", "nowhere.gguf"), 3, "nowhere.gguf")
