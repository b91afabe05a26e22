"""The worked examples: their numbers are the texts', and the engine's own."""

import math
import xml.etree.ElementTree

import pytest
from cli_checks import refused

LABS = ["paged", "kv-size", "prompt-cache", "kv-cache", "attention", "positions", "moe"]


def steps(folio, name, *args, **options):
    outcome = folio("lab", name, *args, "--json", **options)
    assert outcome.code == 0 and outcome.err == "", outcome.err
    document = outcome.json()
    assert document["lab"] == name
    return {step["id"]: step for step in document["steps"]}


@pytest.fixture(scope="module")
def paged(folio):
    return steps(folio, "paged")


@pytest.fixture(scope="module")
def prompt_cache(folio, smollm2):
    return steps(folio, "prompt-cache", "--model", smollm2)


def ref_counts(step):
    return [block["ref_cnt"] for block in step["blocks"]]


def blocks_found(step):
    return [look_up["block"] for look_up in step["look_ups"]]


def test_labs_are_listed(folio):
    listed = folio("lab", "--list", "--json").json()["labs"]
    assert [lab["name"] for lab in listed] == LABS and all(lab["about"] for lab in listed)
    text = folio("lab", "--list").out
    assert [line.split()[0] for line in text.splitlines()] == LABS


def test_wrong_usage_names_what_there_is(folio):
    refused(folio("lab"), 2, "NAME", *LABS)
    refused(folio("lab", "no-such"), 2, "no-such", *LABS)
    refused(folio("lab", "kv-size", "--kv-type", "q3"), 2, "--kv-type", "q3")
    refused(folio("lab", "kv-size", "--tokens", "0"), 2, "--tokens", "0")
    refused(folio("lab", "paged", "--tokens", "5"), 2, "--tokens", "paged")
    refused(folio("lab", "kv-cache", "--tokens", "100"), 2, "--tokens", "100")
    refused(folio("lab", "paged", "--tile", "5"), 2, "--tile", "paged")
    refused(folio("lab", "attention", "--tokens", "15"), 2, "--tokens", "15", "2048")
    refused(folio("lab", "attention", "--head-dim", "48"), 2, "--head-dim", "48", "32")
    refused(folio("lab", "attention", "--tile", "512", "--fast-memory", "16KiB"), 2, "--fast-memory", "16384")
    refused(folio("lab", "attention", "--fast-memory", "100"), 2, "--fast-memory", "100")
    refused(folio("lab", "kv-size", "--model", "nowhere.gguf"), 3, "nowhere.gguf")
    refused(folio("lab", "attention", "--measure"), 2, "--measure", "attention")
    refused(folio("lab", "paged", "--type", "Q4_0"), 2, "--type", "paged")
    refused(folio("lab", "moe", "--tokens", "5"), 2, "--tokens", "moe")
    refused(folio("lab", "moe", "--type", "Q2_K"), 2, "--type", "Q2_K", "MXFP4")
    refused(folio("lab", "moe", "--hidden", "100"), 2, "--hidden", "100", "32")
    refused(folio("lab", "moe", "--expert-ffn", "72"), 2, "--expert-ffn", "72", "32")


def test_p1_the_first_request_misses(paged):
    step = paged["P1"]
    assert blocks_found(step) == [None, None, None] and step["hits"] == []
    assert [look_up["hash"] for look_up in step["look_ups"]] == ["0xABCD", "0xABGH", "0xABKL"]
    assert step["new_blocks"] == step["block_tables"]["0"] == [0, 1, 2]
    assert step["compute"] == ["ABCD", "EFGH", "IJKL"] and ref_counts(step) == [1, 1, 1, 0]
    assert step["map"] == {"0xABCD": 0, "0xABGH": 1, "0xABKL": 2} and step["free_queue"] == [3]


def test_p2_the_second_shares_two_blocks(paged):
    step = paged["P2"]
    assert blocks_found(step) == [0, 1, None] and step["hits"] == [0, 1] and step["new_blocks"] == [3]
    assert step["block_tables"] == {"0": [0, 1, 2], "1": [0, 1, 3]} and ref_counts(step) == [2, 2, 1, 1]
    assert step["compute"] == ["XYZ"] and step["look_ups"][2]["hash"] is None
    assert step["blocks"][3] == {"id": 3, "holds": "XYZ", "ref_cnt": 1, "hash": None, "sha256": None}


def test_p3_and_p4_finished_requests_leave_their_entries(paged):
    step = paged["P3"]
    assert ref_counts(step) == [1, 1, 0, 1] and step["free_queue"] == [2] and step["events"] == ["freed 2"]
    assert step["map"] == paged["P2"]["map"]
    step = paged["P4"]
    assert ref_counts(step) == [0, 0, 0, 0] and sorted(step["free_queue"]) == [0, 1, 2, 3]
    assert step["map"] == {"0xABCD": 0, "0xABGH": 1, "0xABKL": 2}


def test_p5_hits_leave_the_queue_and_eviction_is_reuse(paged):
    step = paged["P5"]
    assert step["hits"] == [0, 1] and step["block_tables"]["2"] == [0, 1, 3, 2] and step["compute"] == ["PPPP", "QQQQ"]
    assert step["queue_after_hits"] == [3, 2] and "0xABKL" in step["map_after_hits"]
    assert step["map"] == {"0xABCD": 0, "0xABGH": 1, "0xABPP": 3, "0xABQQ": 2}
    events = step["events"]
    assert events[:2] == ["hit 0", "hit 1"]
    assert events.index("evicted 2") + 1 == events.index("block_allocated 2") and "evicted 3" not in events
    assert ref_counts(step) == [1, 1, 1, 1] and step["free_queue"] == []
    hashes = {block["hash"]: block["sha256"] for block in step["blocks"]}
    assert hashes["0xABCD"] == paged["P1"]["blocks"][0]["sha256"]


def test_p6_shows_the_drawings_order_and_the_engines(paged):
    step = paged["P6"]
    assert step["drawing"] == {"order": [3, 2, 0, 1], "hands_out": [3, 2]}
    assert step["tail_only"] == {"order": [2, 3, 1, 0], "hands_out": [2, 3]}
    assert step["engine"] == {"order": paged["P4"]["free_queue"], "hands_out": paged["P5"]["new_blocks"]}
    assert step["engine"]["order"] == [3, 2, 1, 0]
    assert step["six_blocks"]["hands_out"] == [3, 4] and step["six_blocks"]["map"]["0xABKL"] == 2
    assert "no hash" in " ".join(step["text"])


def test_the_pool_is_whole_after_every_step(paged):
    assert [paged[step]["integrity"] for step in ("P1", "P2", "P3", "P4", "P5")] == [""] * 5


def test_p7_wastes_less_than_a_block_per_request(paged):
    step = paged["P7"]
    count, tokens, slots = step["requests_paged"], step["tokens"], step["slots"]
    assert 0 <= slots - tokens == round(step["wasted_mean"] * count) < count * step["block_size"]
    assert step["wasted_most"] < step["block_size"]
    assert slots <= step["pool_blocks"] * step["block_size"] == step["requests_reserving"] * step["reserved_per_request"]
    assert count > 4 * step["requests_reserving"] and step["used_share_paged"] > 0.98 > 0.5 > step["used_share_reserving"]
    gaps = step["fragmentation"]
    assert gaps["fits"] and gaps["free_after"] == 0 and gaps["runs"] > 1 and gaps["free_blocks"] > 0


def test_p8_one_blocks_tensor(folio, paged, smollm2):
    step = paged["P8"]
    assert step["shape"] == [2, 16, 8, 128] and step["numbers_per_layer"] == 2 * 16 * 8 * 128
    assert step["bytes_per_layer"] == 2 * step["numbers_per_layer"]
    assert step["block_bytes"] == 36 * step["bytes_per_layer"] and step["layers_of_group"] == 36
    assert step["layer_offsets"] == [layer * step["bytes_per_layer"] for layer in range(36)]
    step = steps(folio, "paged", "--model", smollm2, "--kv-type", "f32")["P8"]
    assert step["shape"] == [2, 16, 3, 64] and step["block_bytes"] == 30 * 4 * 2 * 16 * 3 * 64


def test_k1_is_the_calculators_number(folio):
    step = steps(folio, "kv-size")["K1"]
    assert step["kv_bytes"] == 14_745_600_000 == 2 * 100_000 * 128 * 8 * 36 * 2
    assert round(step["gib"], 2) == 13.73
    assert "14,745,600,000 bytes = 13.73 GiB" in " ".join(step["text"])


def test_k2_factor_by_factor(folio, smollm2):
    step = steps(folio, "kv-size")["K2"]
    n, d, h, layers, h_kv = 100_000, 128, 32, 36, 8
    assert [factor["bytes"] for factor in step["factors"]] == [
        2 * n * d * 2, 2 * n * d * h * 2, 2 * n * d * h * layers * 2, 2 * n * d * h_kv * layers * 2]
    cases = {case["formula"]: case["bytes"] for case in step["special_cases"]}
    assert cases["MHA"] == step["factors"][2]["bytes"] and cases["GQA"] == step["factors"][3]["bytes"]
    assert cases["MHA"] == 4 * cases["GQA"] == 32 * cases["MQA"]
    facts = folio("show", smollm2, "--json").json()
    for kv_type in ("bf16", "q8_0"):
        step = steps(folio, "kv-size", "--model", smollm2, "--tokens", "1000", "--kv-type", kv_type)["K2"]
        assert step["factors"][-1]["bytes"] == 1000 * facts["kv_bytes_per_token_by_type"][kv_type]


def test_k3_whole_blocks(folio, gemma3):
    step = steps(folio, "kv-size")["K3"]
    even, odd = step["figures"]
    assert (even["num_blocks"], even["empty_slots"]) == (6250, 0) and even["kv_bytes"] == even["formula_bytes"] == 14_745_600_000
    assert (odd["num_blocks"], odd["empty_slots"]) == (6251, 15)
    assert odd["kv_bytes"] - even["kv_bytes"] == step["block_bytes"] == 16 * step["kv_bytes_per_token"]
    # Layers with a window hold what it sees: 3 of 18 layers see everything.
    step = steps(folio, "kv-size", "--model", gemma3)["K3"]
    windows = [group["window"] for group in step["groups"]]
    assert windows.count(0) == 1 and windows.count(512) == 5
    assert step["figures"][0]["kv_bytes"] < 0.2 * step["figures"][0]["formula_bytes"]


def test_c1_work_grows_with_n_against_n_squared(folio, smollm2):
    step = steps(folio, "kv-cache", "--model", smollm2, "--tokens", "256")["C1"]
    assert [cost["tokens"] for cost in step["steps"]] == [64, 128, 256]
    for cost in step["steps"]:
        n = cost["tokens"]
        assert (cost["with_cache"]["rows"], cost["with_cache"]["scores"]) == (1, n + 1)
        assert (cost["without_cache"]["rows"], cost["without_cache"]["scores"]) == (n + 1, (n + 1) * (n + 2) // 2)
        assert cost["logits_compared"] == 2 * 49152 and cost["logits_different"] == 0
        assert cost["without_cache"]["seconds"] > 0 and cost["with_cache"]["seconds"] > 0
    growth = step["growth"]
    assert 0.95 < growth["scores_with_cache"] < 1.05 and 1.95 < growth["scores_without_cache"] < 2.05
    refused(folio("lab", "kv-cache", "--model", smollm2, "--tokens", "100000"), 2, "--tokens", "100000", "8192")


def test_c2_a_hit_skips_prefill_and_changes_no_bit(prompt_cache):
    step = prompt_cache["C2"]
    first, second, cold = step["first"], step["second"], step["second_without_cache"]
    assert first["cached_tokens"] == cold["cached_tokens"] == 0 and second["cached_tokens"] == 192
    assert step["shared_tokens"] // step["block_size"] * step["block_size"] == 192
    assert second["tokens"] == cold["tokens"] and len(second["tokens"]) == second["generated_tokens"] == 8
    for reply in (first, second, cold):
        assert reply["computed_tokens"] == reply["prompt_tokens"] - reply["cached_tokens"] + reply["generated_tokens"] - 1
    assert step["hit_against_miss"] == {"compared": 8 * 49152, "different": 0}
    assert step["first_against_second"]["different"] > 8 * 40000  # the comparison can fail
    assert second["prefill_s"] > 0 and cold["prefill_s"] > 0


def test_c3_a_mark_keeps_the_prefix_and_yields_to_need(prompt_cache):
    step = prompt_cache["C3"]
    assert step["marked_blocks"] == 12 and step["blocks_marked_without"] == 0
    assert step["without_mark"]["cached_tokens"] == 0 and step["without_mark"]["cause"] == "evicted"
    assert step["with_mark"]["cached_tokens"] == 192
    assert step["after_large_prompt"]["cached_tokens"] < 192


def test_c4_whole_blocks(prompt_cache):
    rows = prompt_cache["C4"]["rows"]
    for row in rows[:-1]:
        assert row["cached_tokens"] == row["shared_tokens"] // 16 * 16
    assert {row["cached_tokens"] for row in rows[:-1]} == {0, 16, 32, 48, 64}
    assert rows[-1]["shared_tokens"] == rows[-1]["prompt_tokens"] == 80 and rows[-1]["cached_tokens"] == 79


def test_misses_are_explained(prompt_cache):
    cases = prompt_cache["why"]["cases"]
    assert [case["cause"] for case in cases] == [
        "first_seen", "block_end", "differs", "goes_on", "first_seen", "differs", "evicted", "first_seen"]
    other_question, next_turn, next_day, evicted = cases[2], cases[3], cases[5], cases[6]
    assert (other_question["position"], other_question["part"], other_question["offset_in_part"]) == (200, "user", 0)
    assert other_question["cached_tokens"] == 192 and other_question["nearest"] == cases[1]["request"]
    assert next_turn["cached_tokens"] >= 208 and next_turn["part"] == "reply"
    assert next_day["part"] == next_day["nearest_part"] == "date" and next_day["cached_tokens"] == 0
    assert evicted["matched_tokens"] >= 200 and evicted["cached_tokens"] == 0
    assert all(case["why"].count("\n") == 0 for case in cases)


@pytest.fixture(scope="module")
def attention(folio):
    return steps(folio, "attention")


def by_rung(rows):
    return {row["rung"]: row for row in rows}


def test_f1_f2_sizes_and_overflow(attention):
    assert (attention["F1"]["matrix_bytes"], attention["F1"]["table_bytes"]) == (32 << 20, 32 << 30)
    step = attention["F2"]
    assert [(case["x"], case["fp16"] is None) for case in step["exp"]] == [(11, False), (12, True)]
    assert step["exp"][1]["exact"] > step["largest_fp16"] == 65504
    rungs = by_rung(step["rungs"])
    for unsafe in ("three-pass", "fused, unsafe"):
        assert rungs[unsafe]["overflows"] > 0 and rungs[unsafe]["rows_lost"] > 0
    for safe in ("safe three-pass", "one pass"):
        assert rungs[safe]["overflows"] == rungs[safe]["rows_lost"] == 0 < rungs[safe]["largest_difference"] < 0.02


def test_f3_the_ladder(folio, attention):
    rungs = attention["F3"]["rungs"]
    assert [rung["rung"] for rung in rungs] == ["three-pass", "safe three-pass", "online two-pass", "one pass", "tiled"]
    assert [rung["passes"] for rung in rungs] == [3, 3, 2, 1, 1]
    assert all(0 < rung["largest_difference"] < 2e-3 and rung["overflows"] == 0 for rung in rungs)
    n, d = 512, 64
    assert [rung["table_bytes"] for rung in rungs] == [8 * n * n, 8 * n * n, 0, 0, 0]
    assert rungs[4]["bytes_moved"] < rungs[3]["bytes_moved"] / 50
    small = steps(folio, "attention", "--tokens", "100", "--head-dim", "32", "--tile", "8", "--seed", "7")["F3"]
    assert (small["tokens"], small["head_dim"], small["tile"]) == (100, 32, 8)
    tiles = -(-100 // 8)
    assert small["rungs"][4]["bytes_moved"] == 2 * (2 * 100 * 32 + 2 * tiles * 100 * 32)
    assert small["rungs"][4]["fast_bytes_used"] < small["fast_bytes"]


def test_f4_recurrences_are_their_sums(attention):
    step = attention["F4"]
    d = o = 0.0
    m = -math.inf
    for row in step["steps"]:
        m_old, d_old, m = m, d, max(m, row["x"])
        d = d_old * math.exp(m_old - m) + math.exp(row["x"] - m)
        o = o * d_old * math.exp(m_old - m) / d + math.exp(row["x"] - m) / d * row["v"]
        assert row["d"] == pytest.approx(d, rel=1e-13) == pytest.approx(row["d_as_sum"], rel=1e-13)
        assert row["o"] == pytest.approx(o, rel=1e-12) == pytest.approx(row["o_as_sum"], rel=1e-12)
    weights = [math.exp(row["x"] - m) for row in step["steps"]]
    wanted = sum(w * row["v"] for w, row in zip(weights, step["steps"])) / sum(weights)
    assert step["o_of_softmax"] == pytest.approx(wanted, rel=1e-12) == pytest.approx(o, rel=1e-12)
    assert step["largest_difference"] < 1e-14


def test_f5_traffic_falls_with_fast_memory_and_reproduces_the_paper(attention):
    step = attention["F5"]
    for rung in ("online two-pass", "one pass"):
        moved = [by_rung(tier["rungs"])[rung]["bytes_moved"] for tier in step["tiers"]]
        assert len(moved) == 3 and moved == sorted(moved, reverse=True) and moved[0] > 4 * moved[-1]
    for tier in step["tiers"]:
        assert all(rung["fast_bytes_used"] <= tier["fast_bytes"] for rung in tier["rungs"])
    bare, standard, flash = step["paper"]["counted"]
    assert (standard["paper_gb"], flash["paper_gb"]) == (40.3, 4.4)
    assert standard["gb"] == pytest.approx(40.3, rel=0.01) and flash["gb"] == pytest.approx(4.4, rel=0.08)
    assert bare["gb"] < 0.7 * standard["gb"] and 8 < step["paper"]["ratio"] < 10
    assert all(row["forward_gb"] < row["gb"] and row["largest_difference"] < 5e-3 for row in (bare, standard, flash))
    assert all(row["gb"] == pytest.approx(row["head_bytes"] * 1024 / 1e9) for row in (bare, standard, flash))


def test_f6_operations_do_not_fall(attention):
    rungs = by_rung(attention["F6"]["rungs"])
    assert rungs["one pass"]["operations"] >= rungs["three-pass"]["operations"]
    assert all(3.9 < rung["times"] < 4.1 for rung in rungs.values())
    assert attention["F6"]["training_products"]["times"] == pytest.approx(7 / 6)


def test_f7_tiers(attention):
    tiers = attention["F7"]["tiers"]
    given = [(tier["bytes"], tier["bytes_per_second"]) for tier in tiers if not tier["measured"]]
    assert given[0] == (20e6, 19e12) and given[1] == (40e9, 1.5e12) and given[2][1] == 12.8e9
    measured = [tier["bytes_per_second"] for tier in tiers if tier["measured"]]
    assert measured and all(1e8 < speed < 1e13 for speed in measured)
    rungs = attention["F3"]["rungs"]
    for tier in tiers:
        assert tier["first_rung_seconds"] == pytest.approx(rungs[0]["bytes_moved"] / tier["bytes_per_second"])
        assert tier["last_rung_seconds"] == pytest.approx(rungs[4]["bytes_moved"] / tier["bytes_per_second"])


@pytest.mark.parametrize("isa", ["scalar", None])
def test_the_engines_kernel_moves_what_the_ladder_counts(folio, isa):
    options = {"env": {"FOLIO_ISA": isa}} if isa else {}
    step = steps(folio, "attention", **options)["kernel"]
    assert step["isa"] == (isa or step["isa"])
    f16, bf16 = step["runs"]
    assert f16["largest_difference"] < 1e-5 < bf16["largest_difference"] < 0.02
    for run in step["runs"]:
        little, enough = run["traffic"]
        assert little["kv_bytes"] == step["counted_kv_bytes"] == 8 * enough["kv_bytes"] == 8 * 2 * 512 * 64 * 2
        assert run["seconds"] > 0 and run["rows_lost"] == 0


@pytest.fixture(scope="module")
def moe(folio):
    return steps(folio, "moe")


SEED_PROBABILITIES = [0.45, 0.19, 0.05, 0.31]


def test_e8_the_router_is_one_linear_layer_then_softmax(moe):
    step = moe["E8"]
    matrix, x = step["router"], step["x"]
    assert (len(matrix), len(matrix[0])) == (step["hidden"], step["experts"]) == (3, 4)
    logits = [sum(x[row] * matrix[row][expert] for row in range(3)) for expert in range(4)]
    assert step["logits"] == pytest.approx(logits, abs=1e-5)
    total = sum(math.exp(logit) for logit in logits)
    assert step["probabilities"] == pytest.approx([math.exp(logit) / total for logit in logits], abs=1e-6)
    assert step["probabilities"] == pytest.approx(SEED_PROBABILITIES, abs=1e-4)
    assert step["parameters"] == 12


def weighted(step):
    """The chosen experts' outputs, times their weights, summed."""
    return [sum(each["weight"] * output[i] for each, output in zip(step["chosen"], step["expert_outputs"]))
            for i in range(3)]


def test_e1_e2_the_chosen_and_their_weights(moe):
    one, two = moe["E1"], moe["E2"]
    assert [each["expert"] for each in one["chosen"]] == [1]
    assert one["chosen"][0]["weight"] == pytest.approx(0.45, abs=1e-4)
    assert [each["expert"] for each in two["chosen"]] == [1, 4]
    weights = [each["weight"] for each in two["chosen"]]
    assert [round(weight, 2) for weight in weights] == [0.59, 0.41] and sum(weights) == pytest.approx(1, abs=1e-6)
    assert two["sum_of_chosen"] == pytest.approx(0.76, abs=1e-4)
    assert [each["expert"] for each in two["softmax_of_chosen"]] == [1, 4]
    assert [each["weight"] for each in two["softmax_of_chosen"]] == pytest.approx(weights, abs=1e-6)
    for step in (one, two):
        assert step["probabilities"] == pytest.approx(SEED_PROBABILITIES, abs=1e-4)
        assert step["output"] == pytest.approx(weighted(step), abs=1e-5) and max(map(abs, step["output"])) > 0.01
        assert step["largest_difference"] < 1e-5
    assert one["expert_outputs"][0] == two["expert_outputs"][0] != two["expert_outputs"][1]


def test_e3_dispatch_and_combine(moe):
    step = moe["E3"]
    assert {pile["expert"]: pile["tokens"] for pile in step["piles"]} == {1: [2, 5], 2: [1, 4, 6], 3: [], 4: [3]}
    assert step["slot_of_token"] == [2, 0, 5, 3, 1, 4]
    for token in step["tokens"]:
        assert token["chosen"][0]["weight"] == max(token["probabilities"])
        assert sum(token["probabilities"]) == pytest.approx(1, abs=1e-6)
    assert round(max(step["tokens"][0]["probabilities"]), 2) == 0.62
    assert round(max(step["tokens"][1]["probabilities"]), 2) == 0.70
    assert step["alone"] == {"compared": 18, "different": 0}
    assert step["next_token"]["different"] == 18  # the comparison can fail
    assert len({tuple(token["output"]) for token in step["tokens"]}) == 6


def test_a_capacity_factor_drops_what_comes_late(moe):
    step = moe["capacity"]
    for row in step["factors"]:
        assert row["capacity"] == math.ceil(row["factor"] * 6 / 4)
        taken = {expert: pile[:row["capacity"]] for expert, pile in ((1, [2, 5]), (2, [1, 4, 6]), (3, []), (4, [3]))}
        dropped = sorted(set(range(1, 7)) - {token for pile in taken.values() for token in pile})
        assert row["dropped"] == dropped and row["dropped_count"] == len(dropped)
        assert row["empty_places"] == 4 * row["capacity"] - (6 - len(dropped))
    assert [row["dropped"] for row in step["factors"]] == [[6], [6], [], []]
    token = step["token_6"]
    assert token["among_others"] == token["x"] != token["alone"] and token["different"] == 3
    output = moe["E3"]["tokens"][5]["output"]
    assert token["alone"] == pytest.approx([x + y for x, y in zip(token["x"], output)], abs=1e-6)


def test_e4_e5_the_balancing_loss(moe):
    uneven, even = moe["E4"], moe["E5"]
    assert uneven["f"] == [1, 0, 0, 0] and uneven["p"][0] == pytest.approx(0.5825, abs=1e-6)
    assert uneven["loss"] == pytest.approx(2.33, abs=1e-5)
    assert uneven["weighted_loss"] == pytest.approx(0.0233, abs=1e-7)
    assert even["f"] == [0.25] * 4 and even["p"] == pytest.approx([0.25] * 4, abs=1e-6)
    assert even["loss"] == pytest.approx(1, abs=1e-6) and even["weighted_loss"] == pytest.approx(0.01, abs=1e-8)
    for step in (uneven, even):
        means = [sum(row[expert] for row in step["probabilities"]) / 4 for expert in range(4)]
        assert step["p"] == pytest.approx(means, abs=1e-6) and sum(step["p"]) == pytest.approx(1, abs=1e-6)
        assert step["loss"] == pytest.approx(4 * sum(f * p for f, p in zip(step["f"], step["p"])), rel=1e-12)


def test_e6_counts_what_a_token_reads(folio, moe):
    step = moe["E6"]
    assert [point["experts"] for point in step["points"]] == [8, 16, 64, 128, 384, 896]
    h, f = step["hidden"], step["expert_ffn"]
    for point in step["points"]:
        experts = point["experts"]
        assert point["parameters"] == experts * (3 * h * f + h)
        assert point["active_parameters"] == 8 * 3 * h * f + experts * h
        assert point["router_bytes"] == max(experts, 16) * h * 2
        assert point["bytes_per_token"] == point["router_bytes"] + 8 * 3 * h * f * 18 // 32
        assert point["seconds_one_layer"] is point["seconds_layers_in_turn"] is None
    assert step["growth"]["parameters"] == pytest.approx(112) and 1 < step["growth"]["bytes_per_token"] < 1.5
    large = steps(folio, "moe", "--hidden", "64", "--expert-ffn", "128", "--type", "Q8_0")["E6"]
    assert (large["hidden"], large["expert_ffn"], large["type"]) == (64, 128, "Q8_0")
    assert large["points"][-1]["bytes_per_token"] == 896 * 64 * 2 + 8 * 3 * 64 * 128 * 34 // 32


def test_e6_measured_and_drawn(folio, tmp_path):
    file = tmp_path / "growth.svg"
    step = steps(folio, "moe", "--hidden", "64", "--expert-ffn", "32", "--svg", str(file))["E6"]
    for point in step["points"]:
        assert 0 < point["seconds_one_layer"] < 1 and 0 < point["seconds_layers_in_turn"] < 1
    cache = step["last_level_cache_bytes"]
    if cache is not None:
        assert [point["fits_last_level_cache"] for point in step["points"]] == [
            point["bytes"] <= cache for point in step["points"]]
    root = xml.etree.ElementTree.parse(file).getroot()
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert names[0] == "svg" and names.count("polyline") == 4
    assert names.count("circle") == names.count("polyline") // 2 * 7  # a mark a point, and the legend's
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    for label in ("896 experts", "time of a token, us", "bytes read for a token, MB"):
        assert label in words
    assert any(word.startswith("parameters of the layer, in millions") for word in words)
    for line in (element for element in root.iter() if element.tag.endswith("polyline")):
        heights = [float(pair.partition(",")[2]) for pair in line.get("points").split()]
        assert len(heights) == 6 and all(0 < y < float(root.get("viewBox").split()[3]) for y in heights)
    refused(folio("lab", "moe", "--hidden", "64", "--expert-ffn", "32", "--svg", str(tmp_path / "no" / "x.svg")), 1,
            "x.svg", "No such file")


def test_e7_an_expert_that_is_ahead_takes_all_unless_balance_costs(moe):
    step = moe["E7"]
    without, with_loss = step["runs"]
    assert without["alpha"] == 0 < with_loss["alpha"]
    for run in step["runs"]:
        for point in run["points"]:
            assert sum(point["f"]) == pytest.approx(1) and len(point["f"]) == 4
    assert without["points"][0] == with_loss["points"][0] and max(without["points"][0]["f"]) < 0.5
    assert max(max(point["f"]) for point in without["points"]) > 0.99
    first, last = without["points"][-1], with_loss["points"][-1]
    assert first["loss"] > 2 and last["loss"] < 1.1 and last["task_loss"] < 0.6 * first["task_loss"]
    for seed in step["seeds"]:
        assert seed["busiest_with"] < seed["busiest_without"] and seed["task_loss_with"] < seed["task_loss_without"]


def test_e9_shapes_to_know(moe):
    models = {model["name"]: model for model in moe["E9"]["models"]}
    assert {name: (model["experts_per_token"], model["experts"]) for name, model in models.items()} == {
        "Mixtral-8x7B": (2, 8), "Qwen3-30B-A3B": (8, 128), "DeepSeek-V4-Pro": (6, 384), "Kimi-K3": (16, 896)}
    for model in models.values():
        assert model["expert_share"] == pytest.approx(model["experts_per_token"] / model["experts"])
    assert (models["Mixtral-8x7B"]["parameters"], models["Mixtral-8x7B"]["active_parameters"]) == (
        46_702_792_704, 12_879_925_248)
    assert (models["Qwen3-30B-A3B"]["parameters"], models["Qwen3-30B-A3B"]["active_parameters"]) == (
        30_532_122_624, 3_353_032_704)
    assert models["DeepSeek-V4-Pro"]["parameters"] is models["Kimi-K3"]["parameters"] is None


@pytest.mark.parametrize("name,words", [
    ("paged", ["P1  time 0", "free queue: 3 2 1 0", "hands out 2 3", "[2, 16, 8, 128]"]),
    ("kv-size", ["14,745,600,000 bytes = 13.73 GiB", "MQA", "6,251"]),
    ("attention", ["32.00 GiB", "65504 = e^11.09", "online two-pass", "40.3", "A100 HBM"]),
    ("moe", ["expert 1:  0.45 x", "expert 4:  0.41 x", "0.45 / 0.76 = 0.59", "0.31 / 0.76 = 0.41",
             "expert 3:  (none), 0 x 3", "0.5825", "= 2.33; times alpha = 0.01: 0.0233",
             "= 1.00; times alpha = 0.01: 0.01", "46,702,792,704", "1.6 %", "1.8 %"])])
def test_text_has_the_same_steps(folio, name, words):
    outcome = folio("lab", name)
    assert outcome.code == 0 and outcome.err == "" and max(map(len, outcome.out.splitlines())) <= 110
    heads = [line.split()[0] for line in outcome.out.splitlines() if line[:1] not in ("", " ")]
    assert heads == list(steps(folio, name))
    for word in words:
        assert word in outcome.out
