"""`folio plan`: its answers about files, folders, configurations and the hub, and that the engine keeps to them."""

import json
import re
import subprocess
import sys

import folder_writer
import pytest
from cli_checks import refused
from pull_server import File, Server
from raw_gguf import ARRAY, F32, I32, STRING, U16, U32, RawGguf, Tensor, tiny_model

import make_tiny_models

MIB = 1 << 20
# The fields that a plan of Qwen3-8B depends on (the model's published config.json).
QWEN3_8B = {
    "model_type": "qwen3", "hidden_size": 4096, "intermediate_size": 12288, "head_dim": 128, "num_hidden_layers": 36,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 151936, "max_position_embeddings": 40960,
    "tie_word_embeddings": False, "torch_dtype": "bfloat16"}


@pytest.fixture
def config(tmp_path):
    """Writes a config.json and gives its path."""

    def write(fields):
        path = tmp_path / "config.json"
        path.write_text(fields if isinstance(fields, str) else json.dumps(fields), encoding="utf-8")
        return path

    return write


@pytest.fixture
def plan(folio):
    """plan(model, *options) is the JSON document that the command prints."""

    def run(*args, env=None):
        outcome = folio("plan", *args, "--json", env=env)
        assert outcome.code == 0, outcome.err
        assert outcome.err == ""
        return outcome.json()

    return run


@pytest.fixture
def hub():
    server = Server()
    yield server
    server.close()


def hub_environment(server):
    return {"HF_ENDPOINT": server.url, "HF_TOKEN": "", "no_proxy": "*"}


def test_the_texts_own_example(plan, config):
    answer = plan(config(QWEN3_8B), "--context", 100_000, "--memory", "64GiB")
    assert answer["kv_bytes_per_token"] == 147_456
    assert answer["kv_bytes"] == 14_745_600_000
    assert answer["num_blocks"] == 6250
    assert answer["weights_bytes"] == 2 * 8_190_735_360
    assert answer["total_bytes"] == sum(answer["parts"].values())
    assert answer["model"]["parameters"] == 8_190_735_360
    assert answer["max_users"] == 3
    assert answer["max_context"] == 40_960  # what it was trained for


def test_the_explanation_has_the_texts_steps(folio, plan, config):
    path = config(QWEN3_8B)
    steps = plan(path, "--context", 100_000, "--explain")["explain"]
    # 2 n d, times h = 32, times L = 36, with h_kv = 8 in the place of h, in blocks.
    one = 2 * 100_000 * 128 * 2
    assert [step["bytes"] for step in steps] == [one, 32 * one, 36 * 32 * one, 36 * 8 * one, 14_745_600_000]
    text = folio("plan", path, "--context", 100_000, "--explain").out
    assert "2 x 100,000 x 128 x 8 x 36 x 2 bytes = 14,745,600,000 bytes = 13.73 GiB" in text


def test_the_text_tells_what_the_document_does(folio, plan, config):
    path = config(QWEN3_8B)
    answer = plan(path, "--context", 1001, "--users", 4, "--memory", "64GiB")
    text = folio("plan", path, "--context", 1001, "--users", 4, "--memory", "64GiB").out
    assert "147,456 bytes a token" in text and "7 slots of its last block are empty" in text
    assert f"At most {answer['max_users']:,} users" in text and "it fits" in text
    assert "or 40,960 tokens, the model's longest context, for 4 users" in text
    short = folio("plan", path, "--context", 1001, "--users", 4, "--memory", "20GiB").out
    assert "longest context" not in short
    assert "█" in text or "#" in text


def run_memory(folio, model, *args):
    outcome = folio("run", model, "--prompt", "x", "--max-tokens", 1, "--temperature", 0, "--show-cache", "--json", *args)
    assert outcome.code == 0, outcome.err
    return outcome.json()


@pytest.mark.parametrize("name", make_tiny_models.MODELS)
def test_predicted_is_what_the_engine_allocates(name, folio, plan, tiny_models):
    model = tiny_models(name)
    for kv_type, block_size in (("bf16", 16), ("f16", 32), ("f32", 48), ("q8_0", 16)):
        options = ("--context", 90, "--threads", 1, "--kv-type", kv_type, "--block-size", block_size)
        answer = plan(model, *options)
        assert answer["model"]["runs"], answer["model"]["runs_not"]
        run = run_memory(folio, model, *options, "--memory", "512MiB")
        told = run["pool"]["memory"]
        for part in ("weights_bytes", "kv_bytes", "workspace_bytes", "program_bytes"):
            assert answer["parts"][part] == told[part], (part, kv_type, block_size)
        # A server's engine keeps more of recent prompts than a single run.
        assert answer["parts"]["kv_index_bytes"] - told["kv_index_bytes"] == 15 * MIB
        assert run["pool"]["predicted_memory"]["predicted"] == run["pool"]["predicted_memory"]["actual"]
        assert run["pool"]["predicted_memory"]["actual"]["kv_bytes"] == answer["kv_bytes"]


def test_the_real_models_as_well(folio, plan, smollm2, gemma3):
    for model, per_token in ((smollm2, 30 * 2 * 3 * 64 * 2), (gemma3, 18 * 2 * 256 * 2)):
        answer = plan(model, "--context", 1000, "--threads", 1)
        assert answer["kv_bytes_per_token"] == per_token
        run = run_memory(folio, model, "--context", 1000, "--threads", 1)
        assert run["pool"]["predicted_memory"]["actual"] == {"kv_bytes": answer["kv_bytes"], "weights_bytes": answer["weights_bytes"]}
        assert run["pool"]["memory"]["workspace_bytes"] == answer["parts"]["workspace_bytes"]


def test_run_and_serve_tell_predicted_and_allocated_memory_at_their_start(folio, serve, smollm2):
    told = r"predicted KV cache (\S+ \S+) and weights (\S+ \S+), allocated (\S+ \S+) and (\S+ \S+)"
    asked = folio("run", smollm2, "--prompt", "x", "--max-tokens", 1, "--show-cache")
    numbers = re.search("^memory: " + told + "$", asked.err, re.MULTILINE).groups()
    assert numbers[:2] == numbers[2:]
    assert folio("run", smollm2, "--prompt", "x", "--max-tokens", 1).err == ""
    server = serve(smollm2, "--context", 256)
    numbers = server.wait_for_line("^serving .*" + told + "$").groups()
    assert numbers[:2] == numbers[2:]


def test_users_and_a_shared_prefix(plan, config):
    path = config(QWEN3_8B)
    alone = plan(path, "--context", 1000, "--users", 10)
    shared = plan(path, "--context", 1000, "--users", 10, "--shared-prefix", 800)
    assert alone["num_blocks"] == 10 * 63
    assert shared["num_blocks"] == 50 + 10 * 13
    assert shared["kv"]["groups"][0]["shared_blocks"] == 50


def split_file(whole, count):
    """The files of a model split by tensors: all keys are in the first."""
    parts = []
    for number in range(count):
        part = RawGguf(pairs=list(whole.pairs) if number == 0 else [], tensors=whole.tensors[number::count])
        part.set("split.no", U16, number)
        part.set("split.count", U16, count)
        part.set("split.tensors.count", I32, len(whole.tensors))
        parts.append(part.build())
    return {f"tiny-{number:05}-of-{count:05}.gguf": body for number, body in enumerate(parts, 1)}


def test_a_split_file_is_what_the_whole_is(folio, plan, hub, tmp_path):
    (tmp_path / "whole.gguf").write_bytes(tiny_model().build())
    whole = plan(tmp_path / "whole.gguf", "--context", 90)
    files = split_file(tiny_model(), 3)
    for name, body in files.items():
        (tmp_path / name).write_bytes(body)
    first, second, _ = (tmp_path / name for name in files)
    answer = plan(first, "--context", 90)
    hub.add_repo("org/split", files)
    remote = plan("hf:org/split", "--context", 90, env=hub_environment(hub))
    for one in (answer, remote):
        assert one["model"].pop("source") != whole["model"].get("source")
        assert one == {**whole, "model": {key: value for key, value in whole["model"].items() if key != "source"},
                       "memory_bytes": one["memory_bytes"], "max_users": one["max_users"]}
    refused(folio("plan", second), 3, str(second), "first")
    second.unlink()
    refused(folio("plan", first), 3, str(second))
    second.write_bytes(files[first.name])
    refused(folio("plan", first), 3, str(second), "split.no")


def test_a_folder_is_what_the_whole_is(plan, tiny_models, tmp_path):
    whole = plan(tiny_models("llama3"), "--context", 90)
    folder = tmp_path / "folder"
    folder_writer.write_folder("llama3", folder, parts=2)
    answer = plan(folder, "--context", 90)
    for field in ("kv_bytes", "kv_bytes_per_token", "num_blocks"):
        assert answer[field] == whole[field], field
    assert answer["weights_bytes"] > 0 and not answer["estimated"]["weights"]


def test_well_known_models_by_name(folio, plan):
    assert plan("qwen3-8b", "--context", 100_000)["kv_bytes"] == 14_745_600_000
    answer = plan("LFM2-1.2B", "--context", 32_768, "--kv-type", "f16")
    assert answer["kv_bytes"] == 384 * MIB and answer["parts"]["state_bytes"] == 163_840
    assert not answer["model"]["runs"]
    mixtral = plan("Mixtral-8x7B")["model"]
    assert (mixtral["experts_per_token"], mixtral["experts"]) == (2, 8)
    assert mixtral["parameters"] == 46_702_792_704 and round(mixtral["active_parameters"] / 1e9, 1) == 12.9
    for name, top, experts in (("DeepSeek-V4-Pro", 6, 384), ("Kimi-K3", 16, 896)):
        model = plan(name)
        assert (model["model"]["experts_per_token"], model["model"]["experts"]) == (top, experts)
        assert model["kv_bytes"] is None and model["unknown"]
    refused(folio("plan", "no-such-model"), 3, "no-such-model", "Qwen3-8B")


def test_what_is_known_by_name_is_listed(folio, config):
    known = folio("plan", "--list", "--json").json()
    assert {"Qwen3-8B", "Kimi-K3"} < set(known["models"])
    assert {"gemma3n_text", "deepseek_v3", "falcon_h1"} < set(known["model_types"])
    assert {"llama", "qwen3next", "gpt-oss"} < set(known["gguf_architectures"])
    text = folio("plan", "--list").out
    for names in known.values():
        assert len(names) == len(set(names)) and all(name in text for name in names)
    refused(folio("plan", "--list", "Qwen3-8B"), 2, "MODEL", "--list")
    refused(folio("plan", "--list", "--users", 3), 2, "--users", "--list")
    refused(folio("plan", config({"model_type": "telepathy"})), 3, "model_type", '"telepathy"', "folio plan --list")


def test_traffic_speed_and_a_hosted_caches_price(folio, plan, config):
    answer = plan("Mixtral-8x7B", "--context", 1000, "--batch", 4, "--bandwidth", 100, "--compute", 1000)["traffic"]
    # 8 (1 - (1 - 2/8)^4)
    assert answer["batch"]["expected_distinct_experts"] == pytest.approx(8 * (1 - 0.75**4))
    assert answer["one"]["expected_distinct_experts"] == pytest.approx(2)
    read = answer["one"]["weight_bytes"] + answer["one"]["kv_bytes"]
    assert answer["one"]["bytes_per_token"] == pytest.approx(read)
    assert answer["one"]["kv_bytes"] == 1000 * 131_072
    assert answer["one"]["tokens_per_s_at_most"] == pytest.approx(100e9 / read)
    # All weights but the embedding, and 2 of 8 experts: 12.9 billion less 131 million, 2 bytes each.
    assert answer["one"]["weight_bytes"] == pytest.approx(2 * (12.879e9 - 0.131e9), rel=1e-3)
    price = ("--requests", 100, "--shared-prefix", 800, "--context", 1000, "--price", 3)
    hosted = plan(config(QWEN3_8B), *price)["hosted"]
    assert hosted["input_tokens_with_cache"] == pytest.approx(800 * 1.25 + 99 * 800 * 0.1 + 100 * 200)
    assert hosted["price_without_cache"] == pytest.approx(100 * 1000 * 3 / 1e6)
    text = folio("plan", config(QWEN3_8B), *price).out
    assert "charged for 28,920 tokens of input where 100,000 came in (28.9 %): 1 write, 99 reads" in text
    assert "0.09 in the place of 0.30, at 3.00 a million" in text
    late = plan(config(QWEN3_8B), *price, "--interval", 301)["hosted"]
    assert (late["writes"], late["reads"]) == (100, 0)
    refused(folio("plan", "Qwen3-8B", "--requests", 3, "--write-factor", -1), 2, "--write-factor")


def test_a_measured_machine_has_a_limit(plan):
    answer = plan("SmolLM2-135M", "--context", 100, "--measure", "--threads", 1)["traffic"]
    assert answer["machine"]["bytes_per_s"] > 1e8 and answer["one"]["tokens_per_s_at_most"] > 0


def test_models_side_by_side(folio, plan):
    names = ("Qwen3-8B", "gpt-oss-20b", "DeepSeek-V3")
    answer = plan("--compare", *names, "--context", 1000)
    assert [one["model"]["name"] for one in answer["models"]] == list(names)
    assert [one["kv_bytes_per_token"] for one in answer["models"]] == [147_456, 49_152, 70_272]
    text = folio("plan", "--compare", *names, "--context", 1000).out
    assert all(name in text for name in names) and "671.0 B" in text
    refused(folio("plan", *names), 2, "--compare")


def test_of_models_side_by_side_those_that_are_known_are_planned(folio):
    names = ("Kimi-K3", "Qwen3-8B", "DeepSeek-V4-Pro")
    outcome = folio("plan", "--compare", *names, "--memory", "64GiB")
    assert outcome.code == 3 and "Kimi-K3 (built in): layers: only its experts are known here" in outcome.err
    rows = {line.split()[0]: line.split() for line in outcome.out.splitlines()[1:4]}
    assert list(rows) == list(names)
    assert rows["Kimi-K3"][1:] == ["-"] * 8
    assert " ".join(rows["DeepSeek-V4-Pro"][1:5]) == "1.6 T 49.0 B" and rows["DeepSeek-V4-Pro"][5:] == ["-"] * 6
    assert "147,456" in rows["Qwen3-8B"]
    assert "Kimi-K3: only its experts are known here; 16 of 896 experts a token" in outcome.out
    models = folio("plan", "--compare", *names, "--json").json()["models"]
    assert [model["kv_bytes"] is None for model in models] == [True, False, True]
    assert (models[0]["model"]["experts_per_token"], models[0]["model"]["experts"]) == (16, 896)


def test_models_side_by_side_keep_their_own_contexts_and_speeds(folio, config):
    short = config({**QWEN3_8B, "max_position_embeddings": 1000})
    text = folio("plan", "--compare", short, "Qwen3-8B", "--users", 2, "--memory", "64GiB", "--bandwidth", 80).out
    rows = [line.split() for line in text.splitlines()]
    assert ("1,000" in rows[1], "8,192" in rows[2]) == (True, True)
    assert "2 a step, reading 80.0 GB/s" in text
    # 8.19 billion parameters less the embedding, 2 bytes each, and two sequences' keys and values.
    read = 2 * (8_190_735_360 - 151_936 * 4096) + 2 * 8192 * 147_456
    assert float(rows[2][-1]) == pytest.approx(2 * 80e9 / read, abs=0.06)
    long = folio("plan", "--compare", short, "Qwen3-8B", "--context", 2000, "--memory", "64GiB").out
    assert "2,000 tokens are more than the 1,000 that the model was made for" in long


BAD_CONFIGS = {
    "model_type": ({"model_type": "telepathy"}, "model_type"),
    "missing": ({"num_hidden_layers": None}, "num_hidden_layers"),
    "float": ({"num_attention_heads": 32.5}, "num_attention_heads"),
    "negative": ({"num_key_value_heads": -8}, "num_key_value_heads"),
    "huge": ({"hidden_size": 10**18}, "hidden_size"),
    "contradiction": ({"num_key_value_heads": 5}, "num_key_value_heads"),
    "word": ({"vocab_size": "many"}, "vocab_size"),
}


@pytest.mark.parametrize("name", BAD_CONFIGS)
def test_bad_configurations_are_refused_by_their_field(name, folio, config):
    fields, field = BAD_CONFIGS[name]
    path = config({**QWEN3_8B, **fields})
    refused(folio("plan", path), 3, str(path), field)


def test_text_that_is_no_configuration(folio, config, tmp_path):
    for text in ("", "null", "[]", "{", '{"a": ' * 100_000, "\0", '{"model_type": NaN}', '{"model_type": "llama"'):
        refused(folio("plan", config(text)), 3, "config.json")
    large = tmp_path / "large.json"
    large.write_bytes(b'{"a": "' + b"x" * (100 * MIB) + b'"}')
    outcome = peak_memory(folio, large)
    assert outcome["code"] == 3 and "size" in outcome["err"] and outcome["peak"] < 100 * MIB
    refused(folio("plan", tmp_path / "nothing"), 3, "nothing")
    refused(folio("plan", tmp_path), 3, "config.json")


def test_questions_past_what_can_be_counted(folio):
    refused(folio("plan", "Qwen3-8B", "--context", 1 << 40, "--users", 1 << 40), 2, "64 bits")
    refused(folio("plan", "Qwen3-8B", "--kv-type", "q3"), 2, "--kv-type", "q3")
    refused(folio("plan", "Qwen3-8B", "--block-size", 24), 2, "--block-size")
    refused(folio("plan", "Qwen3-8B", "--context", 10, "--shared-prefix", 11), 2, "--shared-prefix")
    answer = folio("plan", "Qwen3-8B", "--context", (1 << 31) - 1, "--json")
    assert answer.code == 0 and answer.json()["kv_bytes"] == 147_456 << 31


def peak_memory(folio, path):
    """Runs `plan` and measures its peak of memory in a process of its own."""
    script = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024\n"
        "print(json.dumps({'code': done.returncode, 'out': done.stdout, 'err': done.stderr, 'peak': peak}))\n")
    command = [sys.executable, "-c", script, folio.binary, "plan", path, "--json"]
    return json.loads(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)


@pytest.fixture
def large_gguf(tmp_path):
    """A file of 60 GB that is a hole but for its header: llama's keys, 256,000 tokens and merges, 15 tensors of 4 GB."""
    gguf = RawGguf()
    gguf.set("general.architecture", STRING, "llama")
    for key, value in (("block_count", 80), ("embedding_length", 8192), ("feed_forward_length", 28672),
                       ("context_length", 131072), ("attention.head_count", 64), ("attention.head_count_kv", 8)):
        gguf.set("llama." + key, U32, value)
    gguf.set("llama.attention.layer_norm_rms_epsilon", F32, 1e-5)
    gguf.set("tokenizer.ggml.tokens", (ARRAY, STRING), [f"token{i}" for i in range(256_000)])
    gguf.set("tokenizer.ggml.merges", (ARRAY, STRING), [f"to ken{i}" for i in range(256_000)])
    sizes = [4 << 30] * 15
    names = ["token_embd.weight", "output.weight", *(f"blk.{i}.ffn_up.weight" for i in range(13))]
    gguf.tensors = [Tensor(name, [8192, 131072], 0, b"", offset=sum(sizes[:i])) for i, name in enumerate(names)]
    path = tmp_path / "large.gguf"
    header = gguf.build()
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + sum(sizes) + 64)
    return path


def test_of_a_file_of_60_gb_only_the_header_is_read(folio, large_gguf):
    assert large_gguf.stat().st_size > 60 * 10**9
    outcome = peak_memory(folio, large_gguf)
    # Tensors are missing: the engine would not run it, and the plan says so.
    assert outcome["code"] == 0, outcome["err"]
    answer = json.loads(outcome["out"])
    assert answer["kv_bytes_per_token"] == 80 * 2 * 8 * 128 * 2
    assert answer["weights_bytes"] == 15 * (4 << 30)
    assert outcome["peak"] < 50 * MIB, outcome["peak"]


def test_a_gguf_file_on_the_hub_is_read_by_its_header(plan, hub, tiny_models):
    path = tiny_models("llama3")
    body = path.read_bytes() + bytes(4 * MIB)
    hub.add_repo("org/tiny-GGUF", {"tiny-Q8_0.gguf": File(body)})
    answer = plan("hf:org/tiny-GGUF", "--context", 90, env=hub_environment(hub))
    assert answer["kv_bytes"] == plan(path, "--context", 90)["kv_bytes"]
    ranges = [request["headers"].get("Range") for request in hub.requests if request["path"].endswith(".gguf")]
    assert ranges == [f"bytes=0-{MIB - 1}"]


def test_another_repository_is_read_by_its_configuration(plan, hub):
    hub.add_repo("org/qwen", {"config.json": json.dumps(QWEN3_8B).encode(), "model.safetensors": b"never read"})
    answer = plan("hf:org/qwen", "--context", 100_000, env=hub_environment(hub))
    assert answer["kv_bytes"] == 14_745_600_000 and answer["model"]["name"] == "qwen"
    assert [path.rsplit("/", 1)[1] for path in hub.paths()] == ["qwen", "config.json"]


def test_a_hub_that_fails_is_an_error_in_a_line(folio, hub):
    env = hub_environment(hub)
    refused(folio("plan", "hf:org/none", env=env), 1, "404")
    hub.add_repo("org/odd", {"config.json": b"<html>"})
    refused(folio("plan", "hf:org/odd", env=env), 3, "config.json")
    hub.add_repo("org/whole", {"large.gguf": File(b"GGUF" + bytes(2 * MIB), ranges=False)})
    refused(folio("plan", "hf:org/whole", env=env), 1, "no parts of files")


def test_a_size_of_the_weights_that_is_given_is_what_a_step_reads(plan, config):
    options = ("--context", 1000, "--memory", "64GiB", "--bandwidth", 80)
    whole = plan(config(QWEN3_8B), *options)
    half = plan(config(QWEN3_8B), *options, "--weights-bytes", f"{whole['weights_bytes'] // 2 // MIB}MiB")
    assert half["traffic"]["one"]["weight_bytes"] == pytest.approx(whole["traffic"]["one"]["weight_bytes"] / 2, rel=1e-3)


def test_what_a_step_reads_is_what_the_engine_keeps(plan, gemma3):
    answer = plan(gemma3, "--context", 1000)
    # The embedding is the output: every weight is read.
    assert answer["traffic"]["one"]["weight_bytes"] == pytest.approx(answer["weights_bytes"], rel=1e-6)


def test_blocks_of_a_kind_of_layers_are_those_of_all_its_groups(folio, plan, gemma3):
    kv = plan(gemma3, "--context", 2000)["kv"]
    windowed = sum(group["blocks_per_sequence"] for group in kv["groups"] if group["window"])
    rows = {line.split()[0]: line.split() for line in folio("plan", gemma3, "--context", 2000).out.splitlines() if line.strip()}
    assert rows["window"][-1] == f"{windowed:,}" and rows["all"][-1] == "125"
    assert windowed + 125 == kv["blocks_per_sequence"]


def test_a_context_past_the_models_is_told(folio, config):
    long = folio("plan", config(QWEN3_8B), "--context", 40_961, "--memory", "64GiB")
    assert "40,961 tokens are more than the 40,960 that the model was made for" in long.out
    fitting = folio("plan", config(QWEN3_8B), "--context", 40_960, "--memory", "64GiB")
    assert "made for" not in fitting.out


def test_options_that_would_be_left_aside_are_refused(folio, config):
    model = config(QWEN3_8B)
    for options, named in (
            (("--price", 5), "--price: needs --requests"), (("--interval", 5), "--interval: needs --requests"),
            (("--compare", "--explain"), "--explain: explains one model"),
            (("--weights", "Q4_K_M"), "--weights: 'Q4_K_M' is no type of weights that Folio knows; of a mixture"),
            (("--ttl", 5), "--ttl: needs --requests"), (("--read-factor", 0.1), "--read-factor: needs --requests"),
            (("--write-factor", 2), "--write-factor: needs --requests"),
            (("--requests", 5, "--ttl", 5), "--ttl: needs --shared-prefix"),
            (("--compare", "--requests", 5), "--requests: costs the same with every model"),
            (("--weights", "q8_0", "--weights-bytes", "1GiB"), "--weights: or --weights-bytes"),
            (("--bandwidth", 0), "--bandwidth: is not above 0"), (("--bandwidth", -1), "--bandwidth: is not above 0"),
            (("--bandwidth", 1, "--compute", 0), "--compute: is not above 0"),
            (("--compute", 5), "--compute: needs --bandwidth"),
            (("--measure", "--bandwidth", 5, "--compute", 5), "--measure: has nothing to measure")):
        refused(folio("plan", model, *options), 2, named)


def test_what_is_not_the_engines_is_told(folio, plan, tiny_models):
    model = tiny_models("llama3")
    for kv_type, has in (("q8_0", True), ("q4_0", False), ("q8_0,bf16", False), ("bf16,bf16", True)):
        options = ("--context", 90, "--kv-type", kv_type)
        assert plan(model, *options)["estimated"]["workspace"] is not has
        assert (f"does not store keys and values as {kv_type}" in folio("plan", model, *options).out) is not has


def test_parameters_of_a_token_are_told_with_and_without_the_embedding(folio, plan, config):
    # gpt-oss's card counts 3.6 B, the output but not the embedding; both are 201,088 x 2880.
    model = plan("gpt-oss-20b")["model"]
    assert model["active_parameters"] - model["active_parameters_without_lookups"] == 201_088 * 2880
    assert round(model["active_parameters_without_lookups"] / 1e9, 1) == 3.6
    assert "(4 of 32 experts; 3.6 B without the embedding)" in folio("plan", "gpt-oss-20b").out
    layers = {"model_type": "gemma3n_text", "hidden_size": 2048, "head_dim": 256, "num_hidden_layers": 35, "num_attention_heads": 8,
              "num_key_value_heads": 2, "sliding_window": 512, "num_kv_shared_layers": 15, "intermediate_size": [16384] * 35,
              "vocab_size": 262_400, "max_position_embeddings": 32768}
    assert "6.9 B parameters, 4.5 B of them for a token (of the layers' own embeddings" in folio("plan", config(layers)).out
    tied = plan("LFM2-1.2B")["model"]
    assert tied["active_parameters"] == tied["active_parameters_without_lookups"]


def test_a_configuration_without_a_name_has_its_folders(plan, tmp_path):
    for folder in ("small", "large"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(json.dumps(QWEN3_8B), encoding="utf-8")
    answers = plan(tmp_path / "small", tmp_path / "large" / "config.json", "--compare", "--memory", "64GiB")
    assert [answer["model"]["name"] for answer in answers["models"]] == ["small", "large"]
