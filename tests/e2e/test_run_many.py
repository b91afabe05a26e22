"""run with several prompts, and what --show-cache prints."""

import os
import subprocess

import pytest
from cli_checks import refused

GREEDY = ["--temperature", "0", "--max-tokens", "12"]
# The same system message in front of each: whole blocks that the prompts share.
SYSTEM = ["--chat", "--system", "You are a helpful assistant who answers every question in one short and honest sentence, and who never guesses."]
QUESTIONS = ["What is the capital of France?", "What is the capital of Italy?", "Name a colour."]


def prompts(*texts):
    return [word for text in texts for word in ("--prompt", text)]


def test_each_reply_is_the_one_it_gets_alone(folio, smollm2):
    together = folio("run", smollm2, *SYSTEM, *prompts(*QUESTIONS), *GREEDY, "--json")
    assert together.code == 0 and together.err == "" and together.out.count("\n") == 1
    document = together.json()
    assert document["model"] == str(smollm2) and len(document["replies"]) == 3 and "pool" not in document
    for question, reply in zip(QUESTIONS, document["replies"]):
        alone = folio("run", smollm2, *SYSTEM, *prompts(question), *GREEDY, "--json").json()
        assert set(alone) < set(reply) and alone.keys().isdisjoint({"usage", "cache", "pool", "replies"})
        assert (reply["tokens"], reply["text"], reply["finish_reason"]) == (alone["tokens"], alone["text"], alone["finish_reason"])
        assert alone["cached_tokens"] == 0


def test_what_one_computes_the_others_find(folio, smollm2):
    first, second, third = folio("run", smollm2, *SYSTEM, *prompts(QUESTIONS[0], QUESTIONS[1], QUESTIONS[0]), *GREEDY,
                                 "--json").json()["replies"]
    assert first["cache"]["cause"] == "first_seen" and first["cache"]["nearest"] is None and first["cached_tokens"] == 0
    cache = second["cache"]
    assert cache["cause"] == "differs" and cache["nearest"] == 1
    assert cache["part"] == cache["nearest_part"] == "messages[1] user"
    assert 16 <= second["cached_tokens"] == cache["cached_tokens"] == cache["matched_tokens"] // 16 * 16
    assert cache["position"] == cache["matched_tokens"] < second["prompt_tokens"]
    assert cache["token"] != cache["nearest_token"]
    assert third["cached_tokens"] >= (third["prompt_tokens"] - 1) // 16 * 16 and third["cache"]["nearest"] == 1
    for reply in (first, second, third):
        usage = reply["usage"]
        assert usage["cached_tokens"] == reply["cached_tokens"]
        refused = usage["drafted_tokens"] - usage["accepted_tokens"]
        assert usage["computed_tokens"] == (usage["prompt_tokens"] - usage["cached_tokens"]
                                            + usage["generated_tokens"] - 1 + refused)


def test_without_the_prefix_cache_nothing_is_found(folio, smollm2):
    replies = folio("run", smollm2, *prompts("The sea is blue", "The sea is blue"), *GREEDY, "--no-prefix-cache",
                    "--json").json()["replies"]
    assert [reply["cache"]["cause"] for reply in replies] == ["off", "off"]
    assert [reply["cached_tokens"] for reply in replies] == [0, 0] and replies[0]["tokens"] == replies[1]["tokens"]


def test_text_stands_under_headers_in_order(folio, smollm2):
    texts = ["The sea is", "Once upon\na time", "x" * 100]
    outcome = folio("run", smollm2, *prompts(*texts), *GREEDY)
    assert outcome.code == 0 and outcome.err == ""
    alone = [folio("run", smollm2, *prompts(text), *GREEDY).out for text in texts]
    headers = ["==> 1 of 3: The sea is <==\n", "==> 2 of 3: Once upon a time <==\n", "==> 3 of 3: " + "x" * 57 + "... <==\n"]
    ended = [reply if reply.endswith("\n") else reply + "\n" for reply in alone]
    assert outcome.out == "\n".join(header + reply for header, reply in zip(headers, ended))


def test_more_prompts_than_run_together(folio, smollm2):
    texts = [f"Number {i} is" for i in range(5)]
    few = folio("run", smollm2, *prompts(*texts), *GREEDY, "--max-requests", "2", "--json").json()
    many = folio("run", smollm2, *prompts(*texts), *GREEDY, "--json").json()
    assert [reply["tokens"] for reply in few["replies"]] == [reply["tokens"] for reply in many["replies"]]


def test_a_prompt_that_is_refused_ends_the_run_before_it_began(folio, smollm2):
    long = "word " * 100
    refused(folio("run", smollm2, *prompts("Once", long, "Twice"), *GREEDY, "--context", "32"), 2, "prompt 2", "32", "--context")
    refused(folio("run", smollm2, *prompts("Once", ""), *GREEDY), 2, "prompt 2", "empty")
    refused(folio("run", smollm2, *prompts("Once", long), *GREEDY, "--context", "32", "--json"), 2, "prompt 2")


def test_stdin_can_be_one_of_them(folio, smollm2):
    mixed = folio("run", smollm2, "--prompt", "The sea is", "--prompt", "-", *GREEDY, "--json", stdin="The sun is").json()
    given = folio("run", smollm2, *prompts("The sea is", "The sun is"), *GREEDY, "--json").json()
    assert [r["tokens"] for r in mixed["replies"]] == [r["tokens"] for r in given["replies"]]
    refused(folio("run", smollm2, *prompts("-", "-"), stdin="x"), 2, "--prompt", "stdin", "once")
    refused(folio("tokenize", smollm2, "--text", "a", "--text", "b"), 2, "--text")


def test_a_reader_that_leaves_ends_all_of_them(folio, smollm2):
    script = '"$0" run "$1" --prompt Once --prompt Twice --max-tokens 2000 --temperature 0 | head -c 3 >/dev/null; echo "${PIPESTATUS[0]}"'
    done = subprocess.run(["bash", "-c", script, folio.binary, str(smollm2)], capture_output=True, text=True, timeout=120,
                          check=False, env=os.environ)
    assert done.stdout.strip() == "1" and done.stderr == ""


def test_show_cache_keeps_the_replies_on_stdout(folio, smollm2):
    plain = folio("run", smollm2, *SYSTEM, *prompts(*QUESTIONS), *GREEDY)
    shown = folio("run", smollm2, *SYSTEM, *prompts(*QUESTIONS), *GREEDY, "--show-cache")
    assert shown.code == 0 and shown.out == plain.out and plain.err == ""
    for words in ("memory plan", "weights", "KV cache", "KV index", "workspace", "program", "total", "budget", "pool: ",
                  "prompt 2: ", "is not the one that prompt 1 has there (messages[1] user)", "fill no block"):
        assert words in shown.err, shown.err


@pytest.mark.parametrize("model", ["smollm2", "gemma3"])
def test_show_cache_adds_up(folio, request, model):
    path = request.getfixturevalue(model)
    texts = [f"{SYSTEM[2]} {question}" for question in QUESTIONS]
    document = folio("run", path, *prompts(*texts), *GREEDY, "--show-cache", "--json").json()
    assert document["replies"][1]["cached_tokens"] > 0
    pool = document["pool"]
    memory = pool["memory"]
    assert memory["total_bytes"] == sum(memory[part + "_bytes"] for part in ("weights", "kv", "kv_index", "workspace", "program"))
    assert memory["total_bytes"] <= memory["budget_bytes"] and pool["integrity"] == ""
    blocks = pool["blocks"]
    assert blocks["used"] + blocks["cached"] + blocks["free"] == blocks["total"] and blocks["used"] == 0
    assert memory["kv_bytes"] == blocks["total"] * pool["block_bytes"]
    assert blocks["cached"] == len(pool["cached_blocks"]) > 0
    # Every full block of every request is in the cache, in every group; the shared ones are the same blocks.
    group_of = {block["id"]: block["group"] for block in pool["cached_blocks"]}
    for reply, chains in zip(document["replies"], pool["chains"]):
        computed = reply["prompt_tokens"] + reply["completion_tokens"] - 1
        assert len(chains) == pool["groups"]
        for group, chain in enumerate(chains):
            assert len(chain) == computed // pool["block_size"]
            assert all(group_of[block] == group for block in chain)
        shared = reply["cached_tokens"] // pool["block_size"]
        for group, chain in enumerate(chains):
            assert chain[:shared] == pool["chains"][0][group][:shared]
    assert {block for chains in pool["chains"] for chain in chains for block in chain} == set(group_of)


def test_show_cache_of_one_prompt(folio, smollm2):
    answer = folio("run", smollm2, *prompts("The sea is"), *GREEDY, "--show-cache", "--json").json()
    assert answer["completion_tokens"] == 12 and answer["cache"]["cause"] == "first_seen" and answer["usage"]["generated_tokens"] == 12
    assert answer["pool"]["blocks"]["total"] == answer["pool"]["context"] // 16
    assert "replies" not in answer


def test_drafts_change_the_time_of_a_reply_and_nothing_else(folio, smollm2):
    prompt = "Say this twice: the cat sat on the mat, the dog sat on the log, and the frog sat on the bog."
    for options in (["--temperature", 0], ["--temperature", 0.7, "--seed", 5]):
        plain, drafted = (folio("run", smollm2, "--chat", "--prompt", prompt, "--max-tokens", 80, "--show-cache", "--json",
                                "--max-draft-tokens", most, *options).json() for most in (0, 15))
        assert plain["text"] == drafted["text"] and plain["tokens"] == drafted["tokens"]
        assert plain["usage"]["drafted_tokens"] == 0
        assert drafted["usage"]["accepted_tokens"] <= drafted["usage"]["drafted_tokens"]
