"""A small model that follows a script: whatever it is asked, its reply is one of a few texts.

It is a real model to the engine: a tokenizer of 49 thousand tokens, layers with attention, a KV cache of every token.
Only its output is made to order. Each token of a reply has a direction of its own in the embedding, far larger than
what the layers add to it, and the row of the token that follows it in the output matrix points the same way. What
opens a reply is a token that the chat template writes, a cue, chosen by the message before. So the replies need no
help from the server, and a prompt of 17 thousand tokens takes a second.

The template knows no tools, so that the server describes them in the system text.
"""
import numpy as np
from gguf import GGUFReader

import gguf_writer
import random_weights

LAYERS, HIDDEN, HEADS, HEAD_DIM, FF, CONTEXT = 2, 128, 2, 64, 128, 65536
END = "<|im_end|>"
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4

FILE, WORD = "notes.txt", "pelican"
FILES = {"apply_patch": "patch.txt"}  # of tools that aren't called for FILE
PLAIN = "The capital of France is Paris."
AFTER_CALL = "That file holds one word."

# How a tool that runs commands is called, by its name: the arguments up to the command. The first one that the system
# text describes is called when the user's message names the file, and AFTER_CALL follows a result with the word that
# the file holds. Many clients send arguments back without the spaces that stand here.
TOOLS = {
    "exec_command": '{"cmd": "',
    "Bash": '{"command": "',
    "run_shell_command": '{"is_background": false, "command": "',
    "bash": '{"description": "Prints a file", "command": "',
    "apply_patch": '{"input": "',
    "get_weather": '{"city": "',
}
PRINT = f"cat {FILE}"
# A comment behind it makes the call longer than a block of the cache: that its tokens are found again can be told.
REMARK = ("# two three four five six seven eight nine ten red blue green white black north south east west morning night "
          "summer winter water fire earth air")
COMMAND = f"{PRINT} {REMARK}"


def _cue(name):
    return f"<|cue_{name}|>"


def cue(text, system):
    """What opens the reply to a message: the template's macro in Python."""
    if text.startswith("<tool_response>") and WORD in text:
        return _cue("after")
    return _cue(next((name for name in TOOLS if file_of(name) in text and f'"{name}"' in system), "plain"))


def file_of(name):
    return FILES.get(name, FILE)


def chat_template():
    """ChatML, with a cue in front of each reply: the same one whether the reply is to be made or is an earlier one."""
    calls = "".join(f"{{%- elif '{file_of(name)}' in text and '\"{name}\"' in system -%}}{_cue(name)}" for name in TOOLS)
    return ("{%- macro cue(text, system) -%}{%- if text.startswith('<tool_response>') and '" + WORD + "' in text -%}" + _cue("after") + calls
            + "{%- else -%}" + _cue("plain") + "{%- endif -%}{%- endmacro -%}"
            "{%- set system = messages[0].content if messages[0].role == 'system' else '' -%}"
            "{%- for message in messages -%}"
            "{{- '<|im_start|>' + message.role + '\n' -}}"
            "{%- if message.role == 'assistant' and loop.index0 > 0 -%}"
            "{{- cue(messages[loop.index0 - 1].content, system) -}}{%- endif -%}"
            "{{- message.content + '<|im_end|>\n' -}}"
            "{%- endfor -%}"
            "{%- if add_generation_prompt -%}"
            "{{- '<|im_start|>assistant\n' + cue(messages[-1].content, system) -}}{%- endif -%}")


def _words(text):
    """The tokens of a sentence of common words, as byte-level BPE spells them."""
    first, *rest = text.split(" ")
    return [first] + ["Ġ" + word for word in rest]


def _scripts():
    """The spellings of each reply's tokens, after its cue. What isn't a word is a token that the model gets anew."""
    yield [_cue("plain"), *_words(PLAIN.removesuffix(".")), ".", END]
    yield [_cue("after"), *_words(AFTER_CALL.removesuffix(".")), ".", END]
    for name, opening in TOOLS.items():
        call = f'<tool_call>\n{{"name": "{name}", "arguments": {opening}'
        yield [_cue(name), call, PRINT, *_words(" " + REMARK)[1:], '"}}\n</tool_call>', END]


def script(opening):
    """The spellings of a reply's tokens after the cue that opens it."""
    return next(tokens[1:] for tokens in _scripts() if tokens[0] == opening)


def _vocabulary(reader):
    """(spellings, types) of the base model's tokens and, behind them, those that the scripts need."""
    spellings = reader.fields["tokenizer.ggml.tokens"].contents()
    types = list(reader.fields["tokenizer.ggml.token_type"].contents())
    known = set(spellings)
    for spelling in [token for script in _scripts() for token in script]:
        if spelling not in known:
            assert not spelling.startswith("Ġ"), f"{spelling} is no token of the base model"
            known.add(spelling)
            spellings.append(spelling)
            types.append(CONTROL if spelling.startswith("<|") else USER_DEFINED)
    return spellings, types


def _followers(ids):
    """Which token follows which in the replies. A token has one follower: it is all that the model goes by."""
    followers = {}
    for script in _scripts():
        for token, follower in zip(script, script[1:]):
            assert followers.setdefault(ids[token], ids[follower]) == ids[follower], f"{token} has two followers"
    return followers


def _matrices(spellings):
    """The embedding and the output. Tokens of no reply all have one direction, which the end follows."""
    ids = {spelling: index for index, spelling in enumerate(spellings)}
    followers = _followers(ids)
    count = len(spellings)
    units = random_weights.random_normal(1, "directions", (len(followers) + 1) * HIDDEN, 1.0).reshape(-1, HIDDEN)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    length = np.float32(np.sqrt(HIDDEN))
    embedding = random_weights.random_normal(1, "embedding", count * HIDDEN, 0.5).reshape(count, HIDDEN)
    embedding += units[0] * length
    output = np.zeros((count, HIDDEN), np.float32)
    output[ids[END]] += units[0]
    for unit, (token, follower) in zip(units[1:], followers.items()):
        embedding[token] = unit * length
        output[follower] += unit
    return embedding, output * np.float32(40 / length)


def _tensors(spellings):
    def matrix(name, data):
        rows, columns = data.shape
        return gguf_writer.Tensor(name, (columns, rows), random_weights.TYPES["F16"][0], data.astype("<f2").tobytes())

    def noise(name, rows, columns):
        return matrix(name, random_weights.random_normal(1, name, rows * columns, 0.02).reshape(rows, columns))

    def ones(name):
        return gguf_writer.Tensor(name, (HIDDEN,), random_weights.TYPES["F32"][0], np.ones(HIDDEN, "<f4").tobytes())

    embedding, output = _matrices(spellings)
    yield matrix("token_embd.weight", embedding)
    for block in (f"blk.{layer}." for layer in range(LAYERS)):
        yield ones(block + "attn_norm.weight")
        for name in ("attn_q", "attn_k", "attn_v"):
            yield noise(f"{block}{name}.weight", HEADS * HEAD_DIM, HIDDEN)
        yield noise(block + "attn_output.weight", HIDDEN, HEADS * HEAD_DIM)
        yield ones(block + "ffn_norm.weight")
        yield noise(block + "ffn_gate.weight", FF, HIDDEN)
        yield noise(block + "ffn_up.weight", FF, HIDDEN)
        yield noise(block + "ffn_down.weight", HIDDEN, FF)
    yield ones("output_norm.weight")
    yield matrix("output.weight", output)


def write(path, base):
    """Writes the model to `path`, with the tokenizer of the GGUF file `base`: SmolLM2's."""
    reader = GGUFReader(base)
    spellings, types = _vocabulary(reader)
    pair = gguf_writer.metadata

    def of_base(key, kind):
        return pair(key, kind, reader.fields[key].contents())

    gguf_writer.write(path, [
        pair("general.architecture", "str", "llama"),
        pair("general.name", "str", "scripted"),
        pair("llama.block_count", "u32", LAYERS),
        pair("llama.context_length", "u32", CONTEXT),
        pair("llama.embedding_length", "u32", HIDDEN),
        pair("llama.feed_forward_length", "u32", FF),
        pair("llama.attention.head_count", "u32", HEADS),
        pair("llama.attention.head_count_kv", "u32", HEADS),
        pair("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5),
        pair("llama.rope.freq_base", "f32", 10000.0),
        pair("llama.rope.dimension_count", "u32", HEAD_DIM),
        pair("llama.vocab_size", "u32", len(spellings)),
        pair("tokenizer.ggml.model", "str", "gpt2"),
        of_base("tokenizer.ggml.pre", "str"),
        pair("tokenizer.ggml.tokens", ["str"], spellings),
        pair("tokenizer.ggml.token_type", ["i32"], types),
        of_base("tokenizer.ggml.merges", ["str"]),
        pair("tokenizer.ggml.eos_token_id", "u32", spellings.index(END)),
        pair("tokenizer.ggml.add_bos_token", "bool", False),
        pair("tokenizer.chat_template", "str", chat_template()),
    ], list(_tensors(spellings)))
