"""What the default model's prompts are, put together apart from the server: its chat template written down in Python, and
what a cache of whole blocks can have of one prompt after others. Words become tokens by POST /tokenize, which
test_tokenizer_reference.py answers for."""

BLOCK = 16
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
IM_START, IM_END = 1, 2


def encode(server, text):
    """A text's tokens; spellings of control tokens in it are text."""
    return server.post("/tokenize", {"content": text}).json()["tokens"]


def decode(server, tokens):
    return server.post("/detokenize", {"tokens": tokens}).json()["content"]


def prompt_tokens(server, *messages):
    """The tokens of a conversation of (role, content), as SmolLM2's template has it: with a system message of its own
    where there is none."""
    if messages[0][0] != "system":
        messages = [("system", DEFAULT_SYSTEM), *messages]
    tokens = []
    for role, content in messages:
        tokens += [IM_START, *encode(server, f"{role}\n{content}"), IM_END, *encode(server, "\n")]
    return [*tokens, IM_START, *encode(server, "assistant\n")]


def common_prefix(left, right):
    count = 0
    for a, b in zip(left, right):
        if a != b:
            break
        count += 1
    return count


def cached_tokens(prompt, *before):
    """Of a prompt's tokens, how many are found after those sequences were computed: whole blocks, and never all, since
    the last row's logits are what the reply starts from."""
    match = max((common_prefix(prompt, computed) for computed in before), default=0)
    return min(match // BLOCK * BLOCK, len(prompt) - 1)
