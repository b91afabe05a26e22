"""Small tokenizers for the tiny models, in GGUF's metadata keys: byte-level BPE as Llama 3 and Qwen
have it, and SentencePiece-style BPE with byte fallback as Llama 2 and Gemma have it.
"""

import dataclasses

import gguf_writer

# GGUF's token types.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PAIRS = ("th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi "
          "ri ro ic ne ea ra ce li ch ll be ma si om ur").split()
_WORDS = ("the", "and", "ing", "ion", "ent", "for", "her", "tion", "ere")
_SPM_SPACE = "\u2581"

_CHATML = ("{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
           "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
_LLAMA3 = ("{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
           "{{ message['content'] | trim }}<|eot_id|>{% endfor %}"
           "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}")
_LLAMA2 = ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' %} "
           "{{ message['content'] }} {{ eos_token }}{% else %}[INST] {{ message['content'] }} [/INST]{% endif %}"
           "{% endfor %}")
_GEMMA = ("{{ bos_token }}{% for message in messages %}<start_of_turn>"
          "{{ 'model' if message['role'] == 'assistant' else message['role'] }}\n{{ message['content'] | trim }}"
          "<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}")


def _byte_characters():
    """The printable character that byte-level BPE writes for each byte: 256 of them, printable bytes first."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    other = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(other))]


def _merged_pieces(space, room):
    """At most `room` pieces of two or more characters, each with the two pieces that it is merged from."""
    pieces = [(space + letter, (space, letter)) for letter in _LETTERS]
    pieces += [(pair, (pair[0], pair[1])) for pair in _PAIRS]
    known = {piece for piece, _ in pieces}
    for word in _WORDS:
        # A word is merged from the front, so each of its prefixes becomes a piece.
        for end in range(2, len(word) + 1):
            if word[:end] not in known:
                known.add(word[:end])
                pieces.append((word[:end], (word[:end - 1], word[end - 1])))
    return pieces[:room]


def _fill(tokens, vocab):
    return [f"[unused{i}]" for i in range(vocab - len(tokens))]


@dataclasses.dataclass(frozen=True)
class Tokenizer:
    """A tokenizer's tables, whatever file they are written to."""

    model: str  # GGUF's name of the family: "gpt2" (byte level) or "llama" (SentencePiece)
    pre: str
    tokens: list
    types: list
    ids: dict  # what GGUF calls them -> ids
    add_bos: bool
    template: str
    merges: list = None  # pairs, of byte-level tokenizers
    scores: list = None  # of SentencePiece's
    space_prefix: bool = False


def _byte_level(vocab, pre, specials, bos, eos, add_bos, template):
    tokens = _byte_characters()
    merged = _merged_pieces(chr(0x120), vocab - len(tokens) - len(specials))
    tokens += [piece for piece, _ in merged]
    types = [NORMAL] * len(tokens)
    fill = _fill(tokens + specials, vocab)
    tokens += fill + specials
    types += [UNUSED] * len(fill) + [CONTROL] * len(specials)
    ids = {"bos": tokens.index(bos), "eos": tokens.index(eos), "padding": tokens.index(specials[0])}
    return Tokenizer("gpt2", pre, tokens, types, ids, add_bos, template, merges=[pair for _, pair in merged])


def _sentence_piece(vocab, specials, unknown, turns, template, ids, space_prefix):
    """`specials` come first, then `turns` (markers of a chat's turns), 256 bytes, merged pieces, single characters."""
    tokens = specials + turns + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [CONTROL] * (len(specials) + len(turns)) + [BYTE] * 256
    types[specials.index(unknown)] = UNKNOWN
    scores = [0.0] * len(tokens)
    characters = [_SPM_SPACE, *_LETTERS, *".,!?'"]
    merged = _merged_pieces(_SPM_SPACE, vocab - len(tokens) - len(characters))
    pieces = [piece for piece, _ in merged] + characters
    # A piece's score is minus its rank: the best pair is merged first.
    scores += [-float(rank) for rank in range(len(pieces))]
    tokens += pieces
    types += [NORMAL] * len(pieces)
    fill = _fill(tokens, vocab)
    scores += [-1000.0] * len(fill)
    types += [UNUSED] * len(fill)
    tokens += fill
    ids = {key: tokens.index(token) for key, token in ids.items()}
    return Tokenizer("llama", "default", tokens, types, ids, True, template, scores=scores, space_prefix=space_prefix)


def tables(name, vocab):
    """The tokenizer of this name with `vocab` tokens."""
    if name == "llama3_bpe":
        specials = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
        return _byte_level(vocab, "llama-bpe", specials, "<|begin_of_text|>", "<|eot_id|>", True, _LLAMA3)
    if name == "qwen_bpe":
        specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
        return _byte_level(vocab, "qwen2", specials, "<|endoftext|>", "<|im_end|>", False, _CHATML)
    if name == "llama_spm":
        return _sentence_piece(vocab, ["<unk>", "<s>", "</s>"], "<unk>", [], _LLAMA2,
                               {"bos": "<s>", "eos": "</s>", "unknown": "<unk>"}, True)
    if name == "gemma_spm":
        return _sentence_piece(vocab, ["<pad>", "<eos>", "<bos>", "<unk>"], "<unk>",
                               ["<start_of_turn>", "<end_of_turn>"], _GEMMA,
                               {"bos": "<bos>", "eos": "<eos>", "unknown": "<unk>", "padding": "<pad>"}, False)
    raise ValueError(f"no tokenizer {name!r}")


def metadata(name, vocab):
    """Its metadata pairs."""
    tokenizer, pair = tables(name, vocab), gguf_writer.metadata
    pairs = [pair("tokenizer.ggml.model", "str", tokenizer.model), pair("tokenizer.ggml.pre", "str", tokenizer.pre),
             pair("tokenizer.ggml.tokens", ["str"], tokenizer.tokens)]
    if tokenizer.scores:
        pairs.append(pair("tokenizer.ggml.scores", ["f32"], tokenizer.scores))
    pairs.append(pair("tokenizer.ggml.token_type", ["i32"], tokenizer.types))
    if tokenizer.merges:
        merges = [f"{left} {right}" for left, right in tokenizer.merges]
        pairs.append(pair("tokenizer.ggml.merges", ["str"], merges))
    pairs += [pair(f"tokenizer.ggml.{key}_token_id", "u32", token) for key, token in tokenizer.ids.items()]
    pairs.append(pair("tokenizer.ggml.add_bos_token", "bool", tokenizer.add_bos))
    if tokenizer.scores:
        pairs += [pair("tokenizer.ggml.add_eos_token", "bool", False),
                  pair("tokenizer.ggml.add_space_prefix", "bool", tokenizer.space_prefix)]
    return pairs + [pair("tokenizer.chat_template", "str", tokenizer.template)]
