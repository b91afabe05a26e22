"""Hugging Face tokenizers built from a GGUF file's metadata: the reference that Folio's ids are compared with.

It shares nothing with Folio: another reader (the gguf package), and each family's pre-tokenizer put together from the
components that the family's own tokenizer.json uses, where Folio has one list of regular expressions.
"""
import functools
import re

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


@functools.lru_cache(maxsize=3)
def read_metadata(path):
    reader = gguf.GGUFReader(path)
    return {name: field.contents() for name, field in reader.fields.items() if name.startswith("tokenizer.")}


def cut_merge(merge):
    at = merge.index(" ", 1)
    return merge[:at], merge[at + 1:]


def merges_from_scores(tokens, scores, usable):
    """As transformers derives them from a SentencePiece model (convert_slow_tokenizer, generate_merges)."""
    ids = {token: i for i, token in enumerate(tokens) if usable[i]}
    merges = []
    for token, i in ids.items():
        cuts = [(token[:at], token[at:], scores[i]) for at in range(1, len(token)) if token[:at] in ids and token[at:] in ids]
        merges += sorted(cuts, key=lambda cut: (ids[cut[0]], ids[cut[1]]))
    merges.sort(key=lambda cut: (cut[2], len(cut[0]), len(cut[1])), reverse=True)
    return [(left, right) for left, right, _ in merges]


def split(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


CONTRACTIONS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"


def gpt4_like(letters, digits, others):
    return split(rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{digits}| ?{others}+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def pre_tokenizer_parts(pre, llama_vocab_source):
    digits_alone = pre_tokenizers.Digits(individual_digits=True)
    if pre in ("gpt-2", "mpt"):
        return [byte_level(True)]
    if pre in ("smollm", "starcoder", "refact", "command-r"):
        return [digits_alone, byte_level(True)]
    if pre == "llama-bpe":
        return [gpt4_like(r"\p{L}", r"\p{N}{1,3}", r"[^\s\p{L}\p{N}]"), byte_level(False)]
    if pre == "qwen2":
        return [gpt4_like(r"\p{L}", r"\p{N}", r"[^\s\p{L}\p{N}]"), byte_level(False)]
    if pre == "qwen35":
        return [gpt4_like(r"[\p{L}\p{M}]", r"\p{N}", r"[^\s\p{L}\p{M}\p{N}]"), byte_level(False)]
    if pre == "falcon":
        return [pre_tokenizers.Punctuation("contiguous"), byte_level(True), pre_tokenizers.Digits(individual_digits=False),
                split("[0-9][0-9][0-9]")]
    if pre == "default":
        return [split(r"[\p{P}\$\+<=>\^~\|]+"), split(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"),
                split(r"\p{N}+"), split("[0-9][0-9][0-9]"), byte_level(False)]
    if pre in ("deepseek-llm", "deepseek-coder"):
        # The long lists of characters are read from llama.cpp's source instead of being repeated here.
        case = pre.upper().replace("-", "_")
        block = re.search(rf"PRE_TYPE_{case}:\s*regex_exprs = \{{(.*?)\}};", llama_vocab_source, re.S).group(1)
        patterns = [m.encode().replace(b"\\\\", b"\\").replace(b"\\r", b"\r").replace(b"\\n", b"\n").decode()
                    if "\\\\" not in m else m.replace("\\\\", "\\") for m in re.findall(r'^\s*"(.*)",?$', block, re.M)]
        return [*map(split, patterns), byte_level(False)]
    raise ValueError(f"no reference for {pre}")


def looks_like_control(token):
    return any(bracket in token for bracket in ("<|", "|>", "<\uff5c", "\uff5c>"))


def build(metadata, llama_vocab_source=""):
    """A tokenizers.Tokenizer with the added tokens in place."""
    tokens = metadata["tokenizer.ggml.tokens"]
    types = metadata.get("tokenizer.ggml.token_type") or [NORMAL] * len(tokens)
    model = metadata["tokenizer.ggml.model"]
    ends = {metadata.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos", "eot")}
    special = [t in (UNKNOWN, CONTROL) or (t == USER_DEFINED and (looks_like_control(token) or i in ends))
               for i, (token, t) in enumerate(zip(tokens, types))]
    vocab = {token: i for i, token in reversed(list(enumerate(tokens)))}
    if model == "gpt2":
        pre = metadata.get("tokenizer.ggml.pre", "default")
        tokenizer = Tokenizer(models.BPE(vocab, [cut_merge(m) for m in metadata["tokenizer.ggml.merges"]], fuse_unk=True,
                                         ignore_merges=pre == "llama-bpe"))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(pre_tokenizer_parts(pre, llama_vocab_source))
        if pre == "qwen2":
            tokenizer.normalizer = normalizers.NFC()
    else:
        if model == "gemma4":
            merges = [cut_merge(m) for m in metadata["tokenizer.ggml.merges"]]
        else:
            usable = [not s and t != BYTE for s, t in zip(special, types)]
            merges = merges_from_scores(tokens, metadata["tokenizer.ggml.scores"], usable)
        unknown = tokens[metadata.get("tokenizer.ggml.unknown_token_id", 0)]
        tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True))
        steps = [normalizers.Replace(" ", "\u2581")]
        if model == "llama" and metadata.get("tokenizer.ggml.add_space_prefix", True):
            steps.insert(0, normalizers.Prepend("\u2581"))
        tokenizer.normalizer = normalizers.Sequence(steps)
        if model == "gemma4":
            tokenizer.pre_tokenizer = split(r"\n+")
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token, s in zip(tokens, special) if s])
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token, t, s in zip(tokens, types, special) if t == USER_DEFINED and not s])
    assert tokenizer.get_vocab_size() == len(set(tokens))
    return tokenizer


def encode_all(tokenizer, lines, parse_special):
    tokenizer.encode_special_tokens = not parse_special
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]
