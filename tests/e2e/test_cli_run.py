"""run, tokenize, logits, perplexity, bench and verify on real models."""

import math
import os
import subprocess

import numpy as np
import pytest
from cli_checks import refused

GREEDY = ["--temperature", "0"]
QUESTION = ["--chat", "--prompt", "What is the capital of France?"]


def run(folio, model, *args, **options):
    outcome = folio("run", model, *args, "--json", **options)
    assert outcome.code == 0, outcome.err
    return outcome.json()


def test_run_answers(folio, smollm2):
    answer = run(folio, smollm2, *QUESTION, *GREEDY, "--max-tokens", "40")
    assert "Paris" in answer["text"]
    assert answer["model"] == str(smollm2) and answer["prompt_tokens"] > 5 and answer["cached_tokens"] == 0
    assert answer["completion_tokens"] == len(answer["tokens"]) <= 40
    assert answer["finish_reason"] in ("stop", "length")
    assert all(answer["timings"][key] >= 0 for key in ("load_s", "prefill_s", "decode_s"))


def test_plain_output_is_the_text_of_the_json(folio, smollm2):
    answer = run(folio, smollm2, *QUESTION, *GREEDY, "--max-tokens", "20")
    plain = folio("run", smollm2, *QUESTION, *GREEDY, "--max-tokens", "20")
    assert plain.code == 0 and plain.err == "" and plain.out == answer["text"]


def test_stdin_is_a_prompt_byte_for_byte(folio, smollm2):
    text = "Hello\n  wörld\n"
    given = run(folio, smollm2, "--prompt", text, *GREEDY, "--max-tokens", "4")
    for args in (["-"], ["--prompt", "-"]):
        piped = folio("run", smollm2, *args, *GREEDY, "--max-tokens", "4", "--json", stdin=text).json()
        assert (piped["tokens"], piped["prompt_tokens"]) == (given["tokens"], given["prompt_tokens"])
    env = {"FOLIO_MODEL": str(smollm2)}
    piped = folio("run", "-", *GREEDY, "--max-tokens", "4", "--json", stdin=text, env=env).json()
    assert piped["tokens"] == given["tokens"]


def test_max_tokens_is_exact(folio, smollm2):
    answer = run(folio, smollm2, "--prompt", "Once upon a time", *GREEDY, "--max-tokens", "7")
    assert answer["completion_tokens"] == 7 and answer["finish_reason"] == "length"


def test_the_context_ends_a_reply(folio, smollm2):
    answer = run(folio, smollm2, "--prompt", "1 2 3 4 5 6 7 8", *GREEDY, "--context", "32", "--stop", "no such stop")
    assert answer["prompt_tokens"] + answer["completion_tokens"] <= 33
    assert answer["finish_reason"] in ("length", "stop")
    refused(folio("run", smollm2, "--prompt", "word " * 100, "--context", "32"), 2, "32", "--context")


def test_greedy_and_seeds_repeat(folio, smollm2):
    prompt = ["--prompt", "The sea is", "--max-tokens", "24"]
    assert run(folio, smollm2, *prompt, *GREEDY)["tokens"] == run(folio, smollm2, *prompt, *GREEDY, "--seed", "5")["tokens"]
    hot = [*prompt, "--temperature", "1.5"]
    first = run(folio, smollm2, *hot, "--seed", "1")
    assert first["seed"] == 1
    assert first["tokens"] == run(folio, smollm2, *hot, "--seed", "1")["tokens"]
    assert first["tokens"] != run(folio, smollm2, *hot, "--seed", "2")["tokens"]
    assert run(folio, smollm2, *hot)["tokens"] == run(folio, smollm2, *hot)["tokens"], "run repeats by default"


def test_a_stop_string_is_never_shown(folio, smollm2):
    whole = run(folio, smollm2, *QUESTION, *GREEDY, "--max-tokens", "30")["text"]
    middle = len(whole) // 2
    for stop in (whole[middle : middle + 3], whole[middle : middle + 9]):  # inside a token and across some
        answer = run(folio, smollm2, *QUESTION, *GREEDY, "--max-tokens", "30", "--stop", "never", "--stop", stop)
        assert answer["text"] == whole[: whole.index(stop)] and answer["finish_reason"] == "stop"
        plain = folio("run", smollm2, *QUESTION, *GREEDY, "--max-tokens", "30", "--stop", stop)
        assert plain.out == answer["text"]


def test_top_k_one_is_greedy(folio, smollm2):
    prompt = ["--prompt", "The sea is", "--max-tokens", "12"]
    assert run(folio, smollm2, *prompt, "--top-k", "1", "--temperature", "1")["tokens"] == run(folio, smollm2, *prompt, *GREEDY)["tokens"]


def test_penalties_change_a_loop(folio, smollm2):
    prompt = ["--prompt", "a a a a a a a a a a a a a a a a", *GREEDY, "--max-tokens", "16"]
    plain = run(folio, smollm2, *prompt)["tokens"]
    assert len(set(run(folio, smollm2, *prompt, "--presence-penalty", "2", "--frequency-penalty", "2")["tokens"])) > len(set(plain))
    assert run(folio, smollm2, *prompt, "--repeat-penalty", "1.5")["tokens"] != plain


def test_logprobs_are_of_the_models_distribution(folio, smollm2):
    answer = run(folio, smollm2, "--prompt", "The sea is", *GREEDY, "--max-tokens", "3", "--logprobs", "2")
    assert len(answer["logprobs"]) == 3
    for entry, token in zip(answer["logprobs"], answer["tokens"]):
        assert entry["token"] == token == entry["top"][0]["token"]
        assert entry["logprob"] == entry["top"][0]["logprob"] <= 0
        assert entry["top"][1]["logprob"] <= entry["top"][0]["logprob"] and len(entry["top"]) == 2
    assert run(folio, smollm2, "--prompt", "x", *GREEDY, "--max-tokens", "1", "--logprobs", "0")["logprobs"][0]["top"] == []


def test_spellings_of_control_tokens_stay_text_unless_asked(folio, smollm2):
    def count(*args):
        return run(folio, smollm2, *args, *GREEDY, "--max-tokens", "1")["prompt_tokens"]

    assert count("--prompt", "<|im_end|>") > count("--prompt", "<|im_end|>", "--special")
    assert count("--chat", "--prompt", "<|im_end|>") > count("--chat", "--prompt", "x") + 2


def test_a_system_message_counts(folio, smollm2):
    plain = run(folio, smollm2, *QUESTION, *GREEDY, "--max-tokens", "1")
    directed = run(folio, smollm2, *QUESTION, "--system", "You are a pirate who answers in rhyme, always, at length, and with joy, "
                   "whatever the question may be, and never, ever, without a parrot.", *GREEDY, "--max-tokens", "1")
    assert directed["prompt_tokens"] != plain["prompt_tokens"]


def test_tokenize_gives_ids_and_pieces(folio, smollm2):
    answer = folio("tokenize", smollm2, "--text", "Hello world", "--json").json()
    assert list(answer) == ["ids", "pieces"] and len(answer["ids"]) == len(answer["pieces"])
    assert answer["pieces"] == ["Hello", "Ġworld"]
    lines = folio("tokenize", smollm2, "--text", "Hello world").out.splitlines()
    assert lines == [f"{token}\t{piece}" for token, piece in zip(answer["ids"], answer["pieces"])]
    assert folio("tokenize", smollm2, "--text", "<|im_end|>", "--special", "--json").json()["ids"] == [2]
    assert len(folio("tokenize", smollm2, "--text", "<|im_end|>", "--json").json()["ids"]) > 1
    assert folio("tokenize", smollm2, "--text", "", "--json").json()["ids"] == []


@pytest.mark.parametrize("text", [b"a\n", b"\n\n a \r\n\t", b"x\0y", "é👩‍👩‍👧日本\n".encode(), b""])
def test_tokenize_takes_stdin_byte_for_byte(folio, smollm2, text):
    ids = folio("tokenize", smollm2, "--text", "-", "--json", stdin=text, text=False)
    assert ids.code == 0
    dash = folio("tokenize", smollm2, "-", "--json", stdin=text, text=False)
    assert ids.out == dash.out
    if b"\0" not in text:
        option = folio("tokenize", smollm2, "--text", text.decode(), "--json", text=False, stdin=b"")
        assert option.out == ids.out


def test_bytes_that_are_no_utf8_are_refused(folio, smollm2):
    outcome = folio("tokenize", smollm2, "--text", "-", stdin=b"ab\xff", text=False)
    assert outcome.code in (2, 3) and outcome.out == b"" and outcome.err.count(b"\n") == 1 and b"2" in outcome.err


def test_logits_are_float32_rows(folio, smollm2, tmp_path):
    out = tmp_path / "l.npy"
    done = folio("logits", smollm2, "--tokens", "1,2,3,4", "--out", out, "--json")
    assert done.code == 0 and done.json()["positions"] == 4
    values = np.load(out)
    assert values.dtype == np.float32 and values.shape == (4, 49152) and np.isfinite(values).all()
    piped = tmp_path / "p.npy"
    assert folio("logits", smollm2, "--tokens", "-", "--out", piped, stdin="1,2,3,4\n").code == 0
    assert np.array_equal(values, np.load(piped))
    refused(folio("logits", smollm2, "--tokens", "1,49152", "--out", out), 2, "49152")
    assert np.array_equal(values, np.load(out))  # a refusal leaves what was there
    refused(folio("logits", smollm2, "--tokens", "1", "--out", tmp_path / "no" / "x.npy"), 1, "x.npy")


def test_greedy_takes_the_best_logit(folio, smollm2, tmp_path):
    ids = folio("tokenize", smollm2, "--text", "The capital of France is", "--json").json()["ids"]
    out = tmp_path / "l.npy"
    assert folio("logits", smollm2, "--tokens", ",".join(map(str, ids)), "--out", out).code == 0
    answer = run(folio, smollm2, "--prompt", "The capital of France is", *GREEDY, "--max-tokens", "1")
    assert answer["prompt_tokens"] == len(ids)
    assert answer["tokens"] == [int(np.load(out)[-1].argmax())]


def test_perplexity_agrees_with_the_logits(folio, smollm2, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The sun rises in the east and sets in the west. " * 12)
    answer = folio("perplexity", smollm2, "--file", text, "--context", "32", "--json")
    assert answer.code == 0, answer.err
    answer = answer.json()
    ids = folio("tokenize", smollm2, "--text", text.read_text(), "--json").json()["ids"]
    windows = len(ids) // 32
    assert answer["windows"] == windows and answer["scored_tokens"] == 16 * windows
    nll = []
    for i in range(windows):
        window = ids[32 * i : 32 * i + 32]
        out = tmp_path / "l.npy"
        assert folio("logits", smollm2, "--tokens", ",".join(map(str, window)), "--out", out).code == 0
        logits = np.load(out).astype(np.float64)
        log_p = logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True)) - logits.max(-1, keepdims=True)
        nll += [-log_p[t - 1, window[t]] for t in range(16, 32)]
    assert math.isclose(answer["mean_nll"], float(np.mean(nll)), rel_tol=1e-5)
    assert math.isclose(answer["perplexity"], math.exp(answer["mean_nll"]), rel_tol=1e-9)
    assert "perplexity" in folio("perplexity", smollm2, "--file", text, "--context", "32").out
    refused(folio("perplexity", smollm2, "--file", text, "--context", "4096"), 3, "text.txt", "4096")
    refused(folio("perplexity", smollm2, "--file", tmp_path / "none.txt"), 3, "none.txt")


def test_bench_has_the_contracts_fields(folio, smollm2):
    outcome = folio("bench", smollm2, "--prompt", "32", "--depth", "16", "--generate", "4", "--repeat", "3", "--threads", "1", "--json")
    assert outcome.code == 0, outcome.err
    answer = outcome.json()
    assert answer["machine"]["cpu"] and answer["model"] == str(smollm2)
    assert [result["test"] for result in answer["results"]] == ["prefill", "decode"]
    for result in answer["results"]:
        assert set(result) == {"test", "prompt", "depth", "generate", "batch", "threads", "isa", "tokens_per_s",
                               "bytes_per_token", "operations_per_token", "share_of_limit"}
        speed = result["tokens_per_s"]
        assert 0 < speed["min"] <= speed["median"] <= speed["max"]
        assert (result["depth"], result["batch"], result["threads"]) == (16, 1, 1) and result["share_of_limit"] is None
    assert answer["results"][0]["prompt"] == 32 and answer["results"][1]["generate"] == 4
    assert answer["results"][1]["bytes_per_token"] > 50_000_000  # a pass reads all the weights
    assert "decode" in folio("bench", smollm2, "--prompt", "0", "--generate", "2", "--repeat", "1").out


def test_verify_finds_every_path_equal(folio, smollm2):
    outcome = folio("verify", smollm2, "--json", timeout=300)
    assert outcome.code == 0, outcome.err + outcome.out
    answer = outcome.json()
    assert answer["ok"] is True and all(check["ok"] for check in answer["checks"])
    names = " ".join(f"{check['name']} {check['detail']}" for check in answer["checks"])
    for word in ("product Q4_1", "attention bf16", "attention f32", "chunks of 7", "threads 2 = 1", "hit = miss"):
        assert word in names


def test_a_reader_that_leaves_ends_the_run(folio, smollm2):
    script = '"$0" run "$1" --prompt Once --max-tokens 2000 --temperature 0 | head -c 3 >/dev/null; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(["bash", "-c", script, folio.binary, str(smollm2)], capture_output=True, text=True, timeout=120,
                          check=False, env=os.environ)
    assert done.stdout.strip() == "1" and done.stderr == ""
