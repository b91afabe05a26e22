"""Folio's ids equal Hugging Face's: two models' vocabularies and seventeen other families', 3,000 lines each, both
with special tokens parsed and as text; the cases that llama.cpp ships; and the exact round trip back to text."""
import json

import pytest
from llama_sources import llama_cpp_folder  # noqa: F401 (fixture)
from reference_tokenizer import build, encode_all, read_metadata
from text_driver import ask, encode
from tokenizer_lines import lines

LINES = 3000
FAMILIES = ["aquila", "baichuan", "command-r", "deepseek-coder", "deepseek-llm", "falcon", "gemma-4", "gpt-2", "gpt-neox", "llama-bpe",
            "llama-spm", "mpt", "phi-3", "qwen2", "qwen35", "refact", "starcoder"]
LARGE = ("command-r", "gemma-4")  # seconds to build in Python, so for the long tier
WITH_CASES = [family for family in FAMILIES if family not in ("aquila", "baichuan", "gpt-neox")]


def bytes_to_unicode():
    """GPT-2's table of the characters that stand for bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def first_difference(model, texts, special, tokenizer):
    ours = encode(model, texts, special)
    theirs = encode_all(tokenizer, texts, special)
    differ = [(text, a, b) for text, a, b in zip(texts, ours, theirs) if a != b]
    assert not differ, f"{len(differ)} of {len(texts)} lines differ, special={special}; the first: {differ[0]!r}"


def compare(model, folder):
    source = (folder / "src/llama-vocab.cpp").read_text(encoding="utf-8")
    tokenizer = build(read_metadata(model), source)
    texts = lines(LINES)
    assert len(texts) >= 3000
    first_difference(model, texts, False, tokenizer)
    first_difference(model, [t for t in texts if "<" in t or "[" in t], True, tokenizer)


def test_smollm2_ids_equal_hugging_faces(smollm2, llama_cpp_folder):  # noqa: F811
    compare(smollm2, llama_cpp_folder)


def test_gemma3_ids_equal_hugging_faces(gemma3, llama_cpp_folder):  # noqa: F811
    compare(gemma3, llama_cpp_folder)


@pytest.mark.parametrize("family", [pytest.param(f, marks=pytest.mark.long) if f in LARGE else f for f in FAMILIES])
def test_family_ids_equal_hugging_faces(family, llama_cpp_folder):  # noqa: F811
    compare(llama_cpp_folder / f"models/ggml-vocab-{family}.gguf", llama_cpp_folder)


@pytest.mark.parametrize("family", WITH_CASES)
def test_cases_of_llama_cpp(family, llama_cpp_folder):  # noqa: F811
    model = llama_cpp_folder / f"models/ggml-vocab-{family}.gguf"
    with open(f"{model}.inp", encoding="utf-8", newline="") as file:
        texts = file.read().split("\n__ggml_vocab_test__\n")
    if texts[-1] == "":
        texts.pop()
    with open(f"{model}.out", encoding="utf-8") as file:
        expected = [[int(i) for i in line.split()] for line in file.read().splitlines()]
    expected += [[]] * (len(texts) - len(expected))
    assert len(texts) >= 46
    differ = [(t, a, b) for t, a, b in zip(texts, encode(model, texts), expected) if a != b]
    assert not differ, differ


@pytest.mark.parametrize("name", ["smollm2", "gemma3"])
def test_tokens_go_back_to_the_very_text(name, request):
    model = request.getfixturevalue(name)
    known = set(read_metadata(model)["tokenizer.ggml.tokens"])
    # SmolLM2's vocabulary lacks some bytes that text never has, Gemma's spells a space as U+2581.
    lost = {byte for byte, character in bytes_to_unicode().items() if name == "smollm2" and character not in known}
    assert len(lost) < 64 and not any(chr(byte).isalnum() for byte in lost if byte < 128)
    texts = lines(LINES)
    replies = ask("tokenizer", model, [{"ids": ids} for ids in encode(model, texts)])
    for text, reply in zip(texts, replies):
        expected = bytes(byte for byte in text.encode() if byte not in lost)
        if name == "gemma3":
            expected = expected.decode().replace("\u2581", " ").encode()
        assert bytes.fromhex(reply["hex"]) == expected
        assert "".join(reply["streamed"]) == expected.decode(errors="replace")


@pytest.mark.parametrize("name", ["smollm2", pytest.param("gemma3", marks=pytest.mark.long)])
def test_tokenizer_json_gives_the_ids_of_the_gguf(name, request, tmp_path, llama_cpp_folder):  # noqa: F811
    model = request.getfixturevalue(name)
    path = tmp_path / "tokenizer.json"
    build(read_metadata(model)).save(str(path))
    texts = lines(600)
    assert encode(path, texts) == encode(model, texts)
    assert encode(path, texts, special=True) == encode(model, texts, special=True)


@pytest.mark.parametrize("bad, offset", [(b"\xff", 0), (b"ab\xc0\xaf", 2), (b"\xed\xa0\x80", 0), (b"ok \xf0\x9f\x98", 3), (b"\xf4\x90\x80\x80", 0)])
def test_invalid_utf8_is_refused_with_its_offset(smollm2, bad, offset):
    reply, = ask("tokenizer", smollm2, [{"hex": bad.hex()}])
    assert reply["kind"] == 3
    assert f"byte {offset}" in reply["error"] and "UTF-8" in reply["error"]


def test_command_gives_the_ids_of_the_library(folio, smollm2):
    text = "\n".join(lines(200))
    outcome = folio("tokenize", smollm2, "--text", "-", "--json", stdin=text.encode(), text=False)
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["ids"] == encode(smollm2, [text])[0]


@pytest.mark.parametrize("name, seconds", [("smollm2", 0.5), ("gemma3", 1.0)])
def test_construction_is_quick(name, seconds, request):
    model = request.getfixturevalue(name)
    fastest = min(ask("tokenizer", model, [{"describe": True}])[0]["seconds"] for _ in range(5))
    assert fastest < seconds
