"""What scripts rely on: exit codes, one-line errors, --json purity, the same option names everywhere."""

import json
import os
import subprocess

import pytest
from cli_checks import refused

COMMANDS = ["chat", "run", "batch", "serve", "connect", "pull", "models", "show", "tokenize", "logits", "perplexity", "bench", "lab",
            "plan", "verify"]
ENGINE = ["--threads", "--memory", "--context", "--block-size", "--kv-type", "--numerics", "--max-batch-tokens",
          "--max-requests", "--no-prefix-cache"]
SAMPLING = ["--temperature", "--top-k", "--top-p", "--min-p", "--seed", "--max-tokens", "--stop", "--repeat-penalty",
            "--presence-penalty", "--frequency-penalty"]


def test_help_and_version_are_answers_not_errors(folio):
    for args in (["--help"], ["--version"], *[[command, "--help"] for command in COMMANDS]):
        outcome = folio(*args)
        assert outcome.code == 0 and outcome.err == "" and outcome.out, args


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_listed(folio, command):
    assert f"  {command} " in folio("--help").out


@pytest.mark.parametrize("command", ["chat", "run", "batch", "logits", "perplexity", "bench", "verify"])
def test_engine_options_have_one_name_everywhere(folio, command):
    text = folio(command, "--help").out
    assert [name for name in ENGINE if name not in text] == []


@pytest.mark.parametrize("command", ["chat", "run"])
def test_sampling_options_have_the_apis_names(folio, command):
    text = folio(command, "--help").out
    assert [name for name in SAMPLING if name not in text] == []


@pytest.mark.parametrize("args,words", [
    ([], ["folio --help"]),
    (["sing"], ["sing"]),
    (["run", "--no-such-option"], ["run", "--no-such-option"]),
    (["run"], ["run", "--prompt"]),
    (["run", "--prompt"], ["--prompt"]),
    (["run", "a.gguf", "-", "more"], ["more"]),
    (["run", "a.gguf", "more"], ["more"]),
    (["run", "--prompt", "x", "-"], ["--prompt", "stdin"]),
    (["run", "--prompt", "x", "--top-k", "abc"], ["--top-k", "abc"]),
    (["run", "--prompt", "x", "--top-k", "-1"], ["--top-k", "-1"]),
    (["run", "--prompt", "x", "--top-p", "1.5"], ["--top-p", "1.5"]),
    (["run", "--prompt", "x", "--top-p", "0"], ["--top-p"]),
    (["run", "--prompt", "x", "--min-p", "2"], ["--min-p", "2"]),
    (["run", "--prompt", "x", "--temperature", "-0.1"], ["--temperature", "-0.1"]),
    (["run", "--prompt", "x", "--temperature", "nan"], ["--temperature", "nan"]),
    (["run", "--prompt", "x", "--seed", "-1"], ["--seed", "-1"]),
    (["run", "--prompt", "x", "--max-tokens", "0"], ["--max-tokens", "0"]),
    (["run", "--prompt", "x", "--stop", ""], ["--stop", "empty"]),
    (["run", "--prompt", "x", "--repeat-penalty", "0"], ["--repeat-penalty"]),
    (["run", "--prompt", "x", "--presence-penalty", "5"], ["--presence-penalty", "5"]),
    (["run", "--prompt", "x", "--frequency-penalty", "-5"], ["--frequency-penalty", "-5"]),
    (["run", "--prompt", "x", "--logprobs", "3"], ["--logprobs", "--json"]),
    (["run", "--prompt", "x", "--system", "y"], ["--system", "--chat"]),
    (["run", "--prompt", "x", "--chat", "--special"], ["--special", "--chat"]),
    (["run", "--prompt", "x", "--threads", "0"], ["--threads", "0"]),
    (["run", "--prompt", "x", "--memory", "lots"], ["--memory", "lots"]),
    (["run", "--prompt", "x", "--context", "-5"], ["--context", "-5"]),
    (["run", "--prompt", "x", "--block-size", "20"], ["--block-size", "20"]),
    (["run", "--prompt", "x", "--kv-type", "q3"], ["--kv-type", "q3"]),
    (["run", "--prompt", "x", "--numerics", "int9"], ["--numerics", "int9"]),
    (["run", "--prompt", "x", "--numerics", "int8,int16"], ["--numerics", "int8,int16"]),
    (["run", "--prompt", "x", "--max-batch-tokens", "0"], ["--max-batch-tokens", "0"]),
    (["batch"], ["IN"]),
    (["batch", "in.jsonl"], ["--out"]),
    (["tokenize"], ["tokenize", "--text"]),
    (["logits", "--out", "x.npy"], ["--tokens"]),
    (["logits", "--tokens", "1"], ["--out"]),
    (["logits", "--tokens", "1,b", "--out", "x.npy"], ["--tokens", "1,b"]),
    (["perplexity"], ["--file"]),
    (["bench", "--prompt", "0", "--generate", "0"], ["--prompt", "--generate"]),
    (["bench", "--repeat", "0"], ["--repeat", "0"]),
    (["pull"], ["SOURCE"]),
    (["models", "rm"], ["NAME"]),
])
def test_wrong_usage_is_exit_2_and_one_line_that_names_it(folio, tmp_path, args, words):
    refused(folio(*args, env={"FOLIO_HOME": str(tmp_path)}), 2, *words)


def test_a_model_that_is_nowhere_is_exit_3(folio, tmp_path):
    env = {"FOLIO_HOME": str(tmp_path), "FOLIO_MODEL": ""}
    refused(folio("show", "nowhere.gguf", env=env), 3, "nowhere.gguf", "folio models")
    refused(folio("show", env=env), 3, "default model", "./run", "folio pull")
    refused(folio("show", tmp_path, env=env), 3, "folder")
    refused(folio("run", "--prompt", "x", env={**env, "FOLIO_MODEL": "nothing"}), 3, "nothing")


def test_a_file_that_is_no_model_is_exit_3(folio, tmp_path):
    (tmp_path / "text.gguf").write_text("hello")
    for args in (["show"], ["run", "--prompt", "x"], ["tokenize", "--text", "x"], ["bench"], ["verify"]):
        outcome = folio(args[0], tmp_path / "text.gguf", *args[1:])
        refused(outcome, 3, "text.gguf")


def test_untrusted_names_cannot_write_to_the_terminal(folio):
    outcome = folio("show", "no\x1b[31m\nsuch.gguf")
    assert outcome.code == 3 and "\x1b" not in outcome.err and outcome.err.count("\n") == 1


def test_the_environment_names_model_and_store(folio, smollm2, tmp_path):
    assert folio("show", "--json", env={"FOLIO_MODEL": str(smollm2)}).json()["path"] == str(smollm2)
    models = tmp_path / "models" / "org" / "repo"
    models.mkdir(parents=True)
    (models / "little.gguf").symlink_to(smollm2)
    env = {"FOLIO_HOME": str(tmp_path), "FOLIO_MODEL": ""}
    for name in ("little", "little.gguf", "repo/little", "org/repo/little"):
        assert folio("show", name, "--json", env=env).json()["path"] == str(models / "little.gguf")
    (tmp_path / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf").symlink_to(smollm2)
    assert folio("show", "--json", env=env).code == 0
    data_home = {"FOLIO_HOME": "", "XDG_DATA_HOME": str(tmp_path / "data"), "FOLIO_MODEL": ""}
    assert str(tmp_path / "data" / "folio" / "models") in folio("models", env=data_home).out


def test_models_prints_what_it_is(folio, smollm2, tmp_path):
    models = tmp_path / "models"
    models.mkdir()
    (models / "little.gguf").symlink_to(smollm2)
    (models / "broken.gguf").write_bytes(b"GGUF")
    env = {"FOLIO_HOME": str(tmp_path)}
    listed = {entry["name"]: entry for entry in folio("models", "--json", env=env).json()["models"]}
    assert listed["little"]["architecture"] == "llama" and listed["little"]["bytes"] == smollm2.stat().st_size
    assert listed["little"]["kv_bytes_per_token"] == 2 * 2 * 30 * 3 * 64
    assert "broken.gguf" in listed["broken"]["error"]
    table = folio("models", env=env)
    assert table.code == 0 and "little" in table.out and "llama" in table.out


def test_show_tells_what_a_file_is(folio, smollm2, gemma3):
    facts = folio("show", smollm2, "--json").json()
    assert facts["architecture"] == "llama" and facts["tensors"] == 272 and facts["gguf_version"] == 3
    assert facts["tokenizer"]["tokens"] == 49152 and facts["chat_template_bytes"] > 0
    assert facts["config"]["layers"] == 30 and facts["config"]["kv_heads"] == 3
    assert facts["kv_bytes_per_token"] == 23040
    assert facts["kv_bytes_per_token_by_type"]["f32"] == 46080
    assert sum(kind["tensors"] for kind in facts["types"].values()) == 272
    assert "tensor_list" not in facts
    facts = folio("show", gemma3, "--json", "--tensors").json()
    assert facts["config"]["window"] == 512 and facts["config"]["window_layers"] == 15
    assert len(facts["tensor_list"]) == facts["tensors"]
    text = folio("show", smollm2).out
    assert "llama" in text and "49152" in text and "\x1b" not in text


def test_closed_stdout_is_no_crash(folio, smollm2):
    """Nobody reads: the command ends, quietly and not with success; a stdout that is closed is said."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([folio.binary, "show", "--tensors", smollm2], stdout=write, stderr=subprocess.PIPE, text=True,
                          timeout=60, check=False)
    os.close(write)
    assert done.returncode == 1 and done.stderr == ""
    done = subprocess.run(["bash", "-c", 'exec "$@" >&-', "-", folio.binary, "show", smollm2], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr.startswith("folio: error: stdout: write:")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([folio.binary, "show", smollm2], stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False)
    assert done.returncode == 1 and "No space left" in done.stderr and done.stderr.count("\n") == 1
    for args in (["--help"], ["--version"], ["run", "--help"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run([folio.binary, *args], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                                  check=False)
        assert done.returncode == 1 and "No space left" in done.stderr and done.stderr.count("\n") == 1, args


@pytest.mark.parametrize("args", [
    ["models"], ["show"], ["tokenize", "--text", "hi"], ["run", "--prompt", "hi", "--max-tokens", "2"],
    ["bench", "--prompt", "8", "--generate", "2", "--repeat", "1"]])
def test_json_is_one_document_and_nothing_else(folio, smollm2, tmp_path, args):
    model = [] if args[0] == "models" else [smollm2]
    outcome = folio(args[0], *model, *args[1:], "--json", env={"FOLIO_HOME": str(tmp_path)})
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out.endswith("\n") and outcome.out.count("\n") == 1
    assert isinstance(json.loads(outcome.out), dict)


def test_a_forced_isa_is_checked_and_reported(folio, smollm2):
    args = ["run", smollm2, "--prompt", "hi", "--max-tokens", "1", "--json"]
    assert folio(*args, env={"FOLIO_ISA": "scalar"}).json()["isa"] == "scalar"
    refused(folio(*args, env={"FOLIO_ISA": "mmx"}), 2, "FOLIO_ISA", "mmx")


def test_memory_that_is_too_little_is_refused_with_numbers(folio, smollm2):
    refused(folio("run", smollm2, "--prompt", "x", "--memory", "1MiB"), 1, "--memory", "1048576")
    refused(folio("run", smollm2, "--prompt", "x", "--context", "999999"), 2, "--context", "999999")


@pytest.mark.parametrize("kib,threads", [(120_000, 1), (200_000, 1), (200_000, 64), (250_000, 1000)])
def test_too_little_address_space_is_an_error_and_no_crash(folio, smollm2, kib, threads):
    args = ["run", smollm2, "--prompt", "x", "--max-tokens", "1", "--threads", threads]
    done = subprocess.run(["bash", "-c", f'ulimit -v {kib}; exec "$@"', "-", folio.binary, *map(str, args)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr.startswith("folio: error: "), (done.returncode, done.stderr)
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_context_that_nobody_asked_for_shrinks_into_the_address_space(folio, smollm2):
    done = subprocess.run(["bash", "-c", 'ulimit -v 450000; exec "$@"', "-", folio.binary, "run", smollm2, "--prompt",
                           "x", "--max-tokens", "1", "--threads", "1"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr)


def test_threads_that_the_system_refuses_are_counted(folio, smollm2):
    done = subprocess.run(["bash", "-c", 'ulimit -v 1500000; exec "$@"', "-", folio.binary, "run", smollm2, "--prompt",
                           "x", "--context", "64", "--threads", "1000"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and done.stderr.startswith("folio: error: threads: the system starts only "), done.stderr
    assert "of 1000" in done.stderr and done.stderr.count("\n") == 1
