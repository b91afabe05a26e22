"""bench: what is printed adds up. No test looks at a speed."""


def bench(folio, model, *args):
    outcome = folio("bench", model, "--prompt", 16, "--generate", 4, "--repeat", 1, *args)
    assert outcome.code == 0, outcome.err
    return outcome


def test_shares_of_the_limit_are_told_where_limits_were_measured(folio, smollm2):
    document = bench(folio, smollm2, "--limits", "--json").json()
    limits = document["machine"]["limits"]
    assert set(limits) == {"dram_bytes_per_s", "fma_flop_per_s", "dot16_op_per_s"} and min(limits.values()) > 0
    prefill, decode = document["results"]
    shares = {"prefill": prefill["tokens_per_s"]["median"] * prefill["operations_per_token"] / limits["dot16_op_per_s"],
              "decode": decode["tokens_per_s"]["median"] * decode["bytes_per_token"] / limits["dram_bytes_per_s"]}
    for result in (prefill, decode):
        assert abs(result["share_of_limit"] / shares[result["test"]] - 1) < 1e-9
    # 30 layers of 576 x (576 + 2 x 192 + 576 + 3 x 1536) weights, a multiplication and an addition each
    assert prefill["operations_per_token"] == 2 * 30 * 576 * (576 + 2 * 192 + 576 + 3 * 1536)
    # a generated token meets the vocabulary's 49,152 rows too
    assert decode["operations_per_token"] == prefill["operations_per_token"] + 2 * 576 * 49152
    assert "OF LIMIT" in bench(folio, smollm2, "--limits").out


def test_without_limits_there_are_no_shares(folio, smollm2):
    document = bench(folio, smollm2, "--json").json()
    assert "limits" not in document["machine"]
    assert [result["share_of_limit"] for result in document["results"]] == [None, None]
    assert "OF LIMIT" not in bench(folio, smollm2).out


def test_a_batch_is_decoded_together(folio, smollm2):
    alone, together = (bench(folio, smollm2, "--batch", batch, "--depth", 20, "--json").json()["results"][1] for batch in (1, 40))
    assert (alone["batch"], together["batch"]) == (1, 40)
    # The weights are read once for all; keys and values by each for itself.
    kv = 30 * 2 * 3 * 64 * 2 * (20 + 4 / 2)
    assert together["bytes_per_token"] == (alone["bytes_per_token"] - kv) / 40 + kv
    assert together["tokens_per_s"]["median"] > 0
