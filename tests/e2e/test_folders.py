"""Models as Hugging Face keeps them, in folders: values, tokens and replies are those of the same models in GGUF."""

import json
import os
import struct

import numpy as np
import pytest
from engine_logits import GOLDEN, logits

import fidelity
import folder_writer
import make_tiny_models
import tiny_references

# As in test_tiny_models.py.
LIMIT = 2e-3
# Weights are the same bits in both; only sums over rows that GGUF has in another order are rounded otherwise.
LIMIT_BETWEEN_FORMATS = 1e-4
TEXTS = ("the old ferry is late", " two  spaces,\n\ttabs; naïve – 你好 🙂", "1234567 don't", "")


@pytest.fixture(scope="module")
def golden():
    return np.load(tiny_references.PATH)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Writes a model as a folder when a test first asks for it, and gives its path. Its weights are in two files."""
    home = tmp_path_factory.mktemp("folders")

    def path(name):
        folder = home / name
        if not folder.exists():
            folder_writer.write_folder(name, folder, parts=2)
        return folder

    return path


@pytest.mark.parametrize("name", folder_writer.names())
def test_log_probabilities_equal_those_of_transformers(folio, name, folders, tiny_models, golden, tmp_path):
    tokens, out = golden["tokens"], tmp_path / "logits.npy"
    ours = fidelity.log_softmax(logits(folio, folders(name), tokens, out, "--kv-type", "f32")[golden["positions"]])
    difference = tiny_references.difference(golden, name, ours)
    of_gguf = logits(folio, tiny_models(name), tokens, out, "--kv-type", "f32")[golden["positions"]]
    between = np.abs(ours - fidelity.log_softmax(of_gguf)).max() / np.ptp(ours)
    print(f"{name}: largest difference {difference:.1e} of the spread, from GGUF {between:.1e}")
    assert difference <= LIMIT
    assert between <= LIMIT_BETWEEN_FORMATS


@pytest.mark.parametrize("name", ["llama2", "llama3", "qwen2", "gemma3"])
def test_tokens_are_those_of_the_gguf_file(folio, name, folders, tiny_models):
    """One model for each of the tiny tokenizers."""
    for text in TEXTS:
        expected = folio("tokenize", tiny_models(name), "--text", text, "--json").json()
        assert folio("tokenize", folders(name), "--text", text, "--json").json()["ids"] == expected["ids"], text


def greedy_replies():
    return json.loads((GOLDEN / "tiny_greedy.json").read_text(encoding="utf-8"))


def reply(folio, model, prompt):
    done = folio("run", model, "--prompt", prompt, "--json", "--temperature", 0, "--max-tokens", 64, "--context", 256,
                 "--kv-type", "f32")
    assert done.code == 0, done.err
    return done.json()["tokens"]


@pytest.mark.parametrize("name", make_tiny_models.MODELS)
def test_greedy_replies_are_those_of_transformers(folio, name, folders, tiny_models):
    expected = greedy_replies()[name]
    assert len(expected["reply"]) == 64
    assert reply(folio, tiny_models(name), expected["prompt"]) == expected["reply"]
    if name in folder_writer.names():
        assert reply(folio, folders(name), expected["prompt"]) == expected["reply"]


def test_half_precision_weights_are_read(folio, folders, tiny_models, golden, tmp_path):
    """The matrices as BF16 and F16, the tensors at odd addresses."""
    arrays = folder_writer.weights("qwen3")
    values = {}
    for dtype in ("BF16", "F16"):
        folder = tmp_path / dtype
        folder_writer.write_folder("qwen3", folder)
        # A tensor of one byte, which the reader passes over, puts all others at odd addresses.
        header = {"model.layers.0.self_attn.rotary_emb.inv_freq": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}
        data = b"\0"
        for tensor, array in arrays.items():
            raw = (array.astype("<f2") if dtype == "F16" else (array.view("<u4") >> 16).astype("<u2")).tobytes()
            offsets = [len(data), len(data) + len(raw)]
            header[tensor] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
            data += raw
        text = json.dumps(header).encode()
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
        values[dtype] = logits(folio, folder, golden["tokens"][:40], tmp_path / "logits.npy", "--kv-type", "f32")
    whole = logits(folio, folders("qwen3"), golden["tokens"][:40], tmp_path / "logits.npy", "--kv-type", "f32")
    spread = whole.max() - whole.min()
    assert 0 < np.abs(values["F16"] - whole).max() < 0.01 * spread
    assert 0 < np.abs(values["BF16"] - whole).max() < 0.1 * spread


def test_mistrals_window_hides_what_is_further_back(folio, folders, golden, tmp_path):
    window, folder = 24, tmp_path / "mistral"
    folder_writer.write_folder("llama2", folder)
    config = folder_writer.config("llama2")
    config.update(model_type="mistral", architectures=["MistralForCausalLM"], sliding_window=window)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokens, out = golden["tokens"][:60], tmp_path / "logits.npy"
    seen = logits(folio, folder, tokens, out, "--kv-type", "f32")
    whole = logits(folio, folders("llama2"), tokens, out, "--kv-type", "f32")
    assert np.array_equal(seen[:window], whole[:window])
    assert np.abs(seen[window] - whole[window]).max() > 1e-3
    # Of one layer a window's own tokens alone decide.
    config.update(num_hidden_layers=1)
    weights = {name: value for name, value in folder_writer.weights("llama2").items() if "layers.1" not in name
               and "layers.2" not in name}
    folder_writer.write_safetensors(folder / "model.safetensors", weights)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    seen = logits(folio, folder, tokens, out, "--kv-type", "f32")
    others = np.concatenate([(tokens[:8] + 1) % 384, tokens[8:]])
    changed = logits(folio, folder, others, out, "--kv-type", "f32")
    assert np.array_equal(seen[8 + window - 1:], changed[8 + window - 1:])
    assert not np.array_equal(seen[8 + window - 2], changed[8 + window - 2])


def test_a_folder_is_shown_benched_and_talked_to(folio, folders):
    folder = folders("llama3")
    shown = folio("show", folder, "--json").json()
    assert shown["architecture"] == "llama" and shown["format"] == "folder" and len(shown["files"]) == 2
    assert shown["tokenizer"]["tokens"] == 384 and shown["tokenizer"]["add_bos"] is True
    assert shown["chat_template_bytes"] > 0 and shown["config"]["layers"] == 3
    assert "Hugging Face folder" in folio("show", folder).out
    done = folio("bench", folder, "--prompt", 16, "--generate", 4, "--repeat", 1, "--json")
    assert done.code == 0, done.err
    done = folio("chat", folder, "--max-tokens", 4, "--temperature", 0, "--context", 128, stdin="hello\n")
    assert done.code == 0, done.err


def damaged(folders, tmp_path, change):
    """A copy of a folder with one file changed."""
    source, folder = folders("mixtral"), tmp_path / "model"
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    change(folder)
    return folder


def _set(field, value):
    def change(folder):
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        config[field] = value
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")

    return change


def _truncate(name, size):
    def change(folder):
        path = folder / name
        path.write_bytes(path.read_bytes()[:size])

    return change


def _remove(name):
    return lambda folder: (folder / name).unlink()


def _tokenizer(field, value):
    def change(folder):
        path = folder / "tokenizer.json"
        tokenizer = json.loads(path.read_text(encoding="utf-8"))
        tokenizer[field] = value
        path.write_text(json.dumps(tokenizer), encoding="utf-8")

    return change


def _grow(name, size):
    """To so many bytes, of which a file system stores few."""
    return lambda folder: os.truncate(folder / name, size)


def _link_to_nowhere(name):
    def change(folder):
        (folder / name).unlink()
        (folder / name).symlink_to("nowhere")

    return change


def adds_token(token):
    sequence, special = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [special, sequence], "pair": [special, sequence, sequence],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [token], "tokens": ["<s>"]}}}


LONGER = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
PART = "model-00001-of-00002.safetensors"
BAD = {
    "no-config": (_remove("config.json"), ("config.json",)),
    "no-tokenizer": (_remove("tokenizer.json"), ("tokenizer.json",)),
    "no-part": (_remove(PART), (PART,)),
    "no-weights": (_remove("model.safetensors.index.json"), ("model.safetensors",)),
    "part-cut-off": (_truncate(PART, 30_000), (PART, "tensor ")),
    "header-cut-off": (_truncate(PART, 100), (PART, "header length")),
    "empty-part": (_truncate(PART, 0), (PART, "header length")),
    "config-cut-off": (_truncate("config.json", 40), ("config.json",)),
    "tokenizer-cut-off": (_truncate("tokenizer.json", 40), ("tokenizer.json",)),
    "index-cut-off": (_truncate("model.safetensors.index.json", 40), ("index.json", "weight_map")),
    "unknown-family": (_set("model_type", "mamba"), ("config.json", "model_type", '"mamba"', "known", "mixtral")),
    "experts": (_set("num_local_experts", 9), ("model.layers.0.block_sparse_moe.gate.weight", "[64, 9]")),
    "hidden": (_set("hidden_size", 96), ("model.embed_tokens.weight", "96")),
    "head-dim": (_set("head_dim", 33), ("config.json: head_dim", "33")),
    "heads-not-divisible": (_set("num_key_value_heads", 3), ("config.json: num_key_value_heads", "3")),
    "layers": (_set("num_hidden_layers", 2), ("model.layers.2.", "num_hidden_layers 2")),
    "huge-layers": (_set("num_hidden_layers", 2**40), ("num_hidden_layers", str(2**40))),
    "quantised": (_set("quantization_config", {"quant_method": "fp8"}), ("config.json", "quantization_config")),
    "added-token": (_tokenizer("post_processor", adds_token(384)), ("tokenizer.json", "post_processor", "384")),
    "far-added-token": (_tokenizer("post_processor", adds_token(2**32 - 1)), ("tokenizer.json", "post_processor", str(2**32 - 1))),
    "longer-and-longer": (_tokenizer("normalizer", {"type": "Sequence", "normalizers": [LONGER] * 9}),
                          ("tokenizer.json", "normalizer")),
    "huge-tokenizer": (_grow("tokenizer.json", 2**34), ("tokenizer.json: size", str(2**34))),
    "huge-config": (_grow("config.json", 2**34), ("config.json: size", str(2**34))),
    "link-to-nowhere": (_link_to_nowhere("tokenizer_config.json"), ("tokenizer_config.json",)),
    "end-token": (_set("eos_token_id", 10**9), ("eos_token_id", str(10**9))),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_folders_are_refused_in_one_line(folio, case, folders, tmp_path):
    change, named = BAD[case]
    done = folio("run", damaged(folders, tmp_path, change), "--prompt", "a", "--max-tokens", 1, timeout=20)
    assert done.code == 3, done.err
    assert done.out == "" and len(done.err.strip().splitlines()) == 1, done.err
    for part in named:
        assert part in done.err, done.err
