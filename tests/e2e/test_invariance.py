"""A request's numbers depend on its tokens alone: not on threads, the instruction set or how its prompt is cut.

Everything here is compared for equality of bits. The numerics are pinned, since `auto` may choose
by instruction set.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from engine_logits import GOLDEN, logits

import float64_model
import make_tiny_models
import random_weights

THREADS = (1, 2)
CHUNKS = (1, 7, 16, 64, None)  # None: the whole prompt at once


def _available_isas():
    with open("/proc/cpuinfo", encoding="ascii") as info:
        flags = set(next(line for line in info if line.startswith("flags")).split())
    needed = {"scalar": {"fma"}, "avx2": {"avx2", "fma", "f16c"},
              "avx512": {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"}}
    return [isa for isa, flag in needed.items() if flag <= flags]


ISAS = _available_isas()


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to compute a request."""

    threads: int = 1
    isa: str = "avx2"
    chunk: int = None
    numerics: str = "int16"

    def options(self, prompt_tokens):
        return ["--threads", self.threads, "--numerics", self.numerics, "--max-batch-tokens",
                self.chunk or max(prompt_tokens, 16)]


# The first way's result is the one that all others must have: each differs from it in one thing, the last in all.
ONE_AT_A_TIME = [Way(), Way(threads=2), *[Way(isa=isa) for isa in ISAS if isa != "avx2"],
                 *[Way(chunk=chunk) for chunk in CHUNKS if chunk], Way(threads=2, isa=ISAS[-1], chunk=7)]
ALL_WAYS = [Way(threads, isa, chunk) for threads, isa, chunk in itertools.product(THREADS, ISAS, CHUNKS)]


def same_bits(a, b):
    return a.shape == b.shape and np.array_equal(a.view(np.uint32), b.view(np.uint32))


def check_logits(folio, model, tokens, folder, ways, *options):
    def compute(way):
        return logits(folio, model, tokens, folder / "logits.npy", *way.options(len(tokens)), *options, isa=way.isa)

    expected = compute(ways[0])
    for way in ways[1:]:
        assert same_bits(compute(way), expected), f"{model.name}, {len(tokens)} tokens: {way} differs from {ways[0]}"


# ---- Logits of the tiny models: every architecture and tensor type --------------------------------------------------
# Lengths around the sizes of tiles, blocks, windows, chunks and attention's parts (512).
TINY_LENGTHS = (1, 2, 7, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 97, 128, 150, 200, 300, 530)
TINY_NAMES = list(make_tiny_models.MODELS)
# Every length and every model at least once.
TINY_PROMPTS = [(TINY_LENGTHS[i % len(TINY_LENGTHS)], TINY_NAMES[i % len(TINY_NAMES)])
                for i in range(max(len(TINY_LENGTHS), len(TINY_NAMES)))]
TINY_VOCAB = 384


def _tokens(name, count, vocab):
    return (random_weights.random_words(7, name, count) % np.uint64(vocab)).astype(int).tolist()


@pytest.mark.parametrize("length,name", TINY_PROMPTS)
def test_tiny_models_logits_are_the_same_bits_every_way(folio, length, name, tiny_models, tmp_path):
    check_logits(folio, tiny_models(name), _tokens(f"prompt {length}", length, TINY_VOCAB), tmp_path, ONE_AT_A_TIME)


@pytest.mark.parametrize("numerics,kv_type", [("int8", "bf16"), ("int16", "f32"), ("int8", "q8_0"), ("int16", "f16")])
def test_other_numerics_and_cache_types_are_as_invariant(folio, numerics, kv_type, tiny_models, tmp_path):
    ways = [dataclasses.replace(way, numerics=numerics) for way in ONE_AT_A_TIME]
    check_logits(folio, tiny_models("llama-all-types"), _tokens("types", 70, TINY_VOCAB), tmp_path, ways, "--kv-type",
                 kv_type)


# ---- Logits of the default model ------------------------------------------------------------------------------------
@pytest.mark.parametrize("segment,length", [(0, 100), (3, 40)])
def test_default_models_logits_are_the_same_bits_every_way(folio, segment, length, smollm2, tmp_path):
    tokens = np.load(GOLDEN / "smollm2-135m-instruct-q4_1.npz")["tokens"][segment][:length]
    # The scalar reference is slow: it has the short prompts below.
    check_logits(folio, smollm2, tokens, tmp_path, [way for way in ONE_AT_A_TIME if way.isa != "scalar"])


def test_default_models_logits_are_the_scalar_references(folio, smollm2, tmp_path):
    tokens = np.load(GOLDEN / "smollm2-135m-instruct-q4_1.npz")["tokens"][0][:12]
    check_logits(folio, smollm2, tokens, tmp_path, [Way(isa=isa) for isa in ISAS])


# ---- Greedy output --------------------------------------------------------------------------------------------------
PROMPTS = (
    "The capital of France is", "Once upon a time, in a small village by the sea,", "def fibonacci(n):\n",
    "Die Hauptstadt von Österreich ist", "List three colours:", "1, 1, 2, 3, 5, 8,", "The opposite of hot is",
    "Water boils at", "The cat sat on the", "To make tea, you need", "SELECT name FROM", "#include <stdio.h>\nint main",
    "Roses are red, violets are", "My favourite season is autumn because", "Q: What is 2 + 2?\nA:", "The moon orbits",
    "In the year 1969,", "你好", "🙂🙃🙂", "She opened the old wooden box and found",
)
GREEDY_TOKENS = 12


def greedy(folio, model, prompt, way, tokens=GREEDY_TOKENS):
    done = folio("run", model, "--prompt", prompt, "--json", "--temperature", 0, "--max-tokens", tokens,
                 *way.options(256), env={"FOLIO_ISA": way.isa})
    assert done.code == 0, done.err
    result = done.json()
    assert 1 <= len(result["tokens"]) <= tokens
    return result["tokens"]


@pytest.mark.parametrize("index", range(len(PROMPTS)))
def test_greedy_output_is_the_same_every_way(folio, index, smollm2):
    """Each prompt in its own two ways beside the first; together the prompts go through all but the scalar ones."""
    ways = [way for way in ALL_WAYS if way.isa != "scalar"]
    chosen = [ways[(3 * index) % len(ways)], ways[(3 * index + 8) % len(ways)]]
    expected = greedy(folio, smollm2, PROMPTS[index], Way())
    for way in chosen:
        assert greedy(folio, smollm2, PROMPTS[index], way) == expected, f"{way} differs from {Way()}"


def test_greedy_output_is_the_scalar_references(folio, smollm2):
    expected = greedy(folio, smollm2, PROMPTS[0], Way(), tokens=4)
    assert greedy(folio, smollm2, PROMPTS[0], Way(isa="scalar"), tokens=4) == expected


@pytest.mark.parametrize("name", ["llama3", "qwen3", "gemma3"])
def test_decoding_and_prefill_of_the_same_tokens_agree(folio, name, tiny_models, tmp_path):
    """Every generated token is the best one of the logits that prefill gives for the tokens before it."""
    model = tiny_models(name)
    fields, _ = float64_model.open_file(model)
    # `run` starts a prompt with the model's BOS token, `tokenize` gives the text's own tokens.
    start = [fields["tokenizer.ggml.bos_token_id"]] if fields["tokenizer.ggml.add_bos_token"] else []
    ids = start + folio("tokenize", model, "--text", "the old ferry", "--json").json()["ids"]
    done = folio("run", model, "--prompt", "the old ferry", "--json", "--temperature", 0, "--max-tokens", 40,
                 *Way().options(64), env={"FOLIO_ISA": "avx2"})
    assert done.code == 0, done.err
    result = done.json()
    generated = result["tokens"]
    assert result["prompt_tokens"] == len(ids)
    values = logits(folio, model, ids + generated, tmp_path / "logits.npy", *Way().options(64), isa="avx2")
    best = values.argmax(axis=-1)[len(ids) - 1:len(ids) - 1 + len(generated)]
    assert best.tolist() == generated


# ---- The long tier: every combination, for every prompt -------------------------------------------------------------
@pytest.mark.long
@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_output_is_the_same_in_every_combination(folio, prompt, smollm2):
    expected = greedy(folio, smollm2, prompt, ALL_WAYS[0], tokens=8)
    for way in ALL_WAYS[1:]:
        assert greedy(folio, smollm2, prompt, way, tokens=8) == expected, f"{way} differs from {ALL_WAYS[0]}"


@pytest.mark.long
@pytest.mark.parametrize("prompt", PROMPTS)
def test_logits_are_the_same_bits_in_every_combination(folio, prompt, smollm2, tmp_path):
    tokens = folio("tokenize", smollm2, "--text", prompt, "--json").json()["ids"]
    check_logits(folio, smollm2, tokens, tmp_path, ALL_WAYS)
