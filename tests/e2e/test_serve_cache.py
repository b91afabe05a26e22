"""Usage tells what the cache had, to the token: what each reply counts as cached is what a cache of whole blocks can have
after the requests before, computed here from the conversations' tokens. Marks count what they created."""
import pytest
from chat_prompts import BLOCK, cached_tokens, encode, prompt_tokens
from server import MODEL, Server, fresh_key

STORY = "Once upon a time, in a small village at the edge of a dark forest, there lived an old clockmaker and her three cats. " * 3
OTHER = "The three laws of motion say how a body moves under forces, and were written down by Newton long ago in his book. " * 3
QUESTION = ("user", "What is the capital of France?")
ANSWER = ("assistant", "The capital of France is Paris.")
GREEDY = {"model": MODEL, "temperature": 0}


def dicts(messages):
    return [{"role": role, "content": content} for role, content in messages]


class Chat:
    """One key's view of a server, in one dialect: ask(messages) gives (prompt tokens, cached tokens)."""

    def __init__(self, server, dialect, key=None):
        self.server, self.dialect, self.key = server, dialect, key or fresh_key()
        self.openai, self.anthropic = server.openai(self.key), server.anthropic(self.key)

    def ask(self, messages, length=1):
        if self.dialect == "chat":
            usage = self.openai.chat.completions.create(messages=dicts(messages), **GREEDY, max_tokens=length).usage
            return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens
        if self.dialect == "responses":
            usage = self.openai.responses.create(input=dicts(messages), **GREEDY, max_output_tokens=length).usage
            return usage.input_tokens, usage.input_tokens_details.cached_tokens
        system = {"system": messages[0][1]} if messages[0][0] == "system" else {}
        rest = messages[1:] if system else messages
        usage = self.anthropic.messages.create(model=MODEL, messages=dicts(rest), max_tokens=length, extra_body={"temperature": 0}, **system).usage
        assert usage.cache_creation_input_tokens == 0
        return usage.input_tokens + usage.cache_read_input_tokens, usage.cache_read_input_tokens

    def expect(self, messages, *before):
        prompt = prompt_tokens(self.server, *messages)
        assert self.ask(messages) == (len(prompt), cached_tokens(prompt, *before))
        return prompt


@pytest.fixture(params=["chat", "responses", "messages"])
def chat(request, server):
    return Chat(server, request.param)


@pytest.mark.parametrize("words", range(5, 23, 3))
def test_the_same_prompt_again_is_all_cached_but_its_last_token_or_block(chat, words):
    messages = [("user", " ".join(["word"] * words))]
    first = chat.expect(messages)
    chat.expect(messages, first)


def test_a_prompt_of_whole_blocks_computes_one_row(chat):
    prompt = []
    for words in range(1, 2 * BLOCK):
        messages = [("user", " ".join(["word"] * words))]
        prompt = prompt_tokens(chat.server, *messages)
        if len(prompt) % BLOCK == 0:
            break
    chat.expect(messages)
    assert chat.ask(messages) == (len(prompt), len(prompt) - 1)


def test_prompts_share_what_they_begin_with(chat):
    one = chat.expect([("system", STORY), ("user", "Who lived in the village?")])
    two = chat.expect([("system", STORY), ("user", "How many cats had she?")], one)
    chat.expect([("system", STORY + " The end."), ("user", "How many cats had she?")], one, two)
    chat.expect([("system", OTHER), ("user", "How many cats had she?")], one, two)


def test_a_turn_finds_the_turn_before_and_its_reply(chat):
    messages = [("system", STORY), QUESTION]
    prompt = prompt_tokens(chat.server, *messages)
    chat.ask(messages, length=16)
    computed = prompt + encode(chat.server, ANSWER[1])  # the end token was drawn, but not computed
    messages += [ANSWER, ("user", "And of Italy? Tell me in one short sentence, please, and be as exact as you can.")]
    chat.expect(messages, computed)


def test_an_edited_turn_finds_what_is_before_it(chat):
    turns = [("system", STORY), QUESTION, ANSWER, ("user", "And of Italy?")]
    before = chat.expect(turns)
    chat.expect([*turns[:2], ("assistant", "It is Paris, of course, as everybody knows."), turns[3]], before)
    chat.expect([("system", "X" + STORY), *turns[1:]], before)


def test_dialects_share_one_cache(server):
    key = fresh_key()
    chats = [Chat(server, dialect, key) for dialect in ("chat", "responses", "messages")]
    messages = [("system", STORY), QUESTION]
    before = chats[0].expect(messages)
    for chat in chats[1:]:
        chat.expect(messages, before)


def test_another_keys_prompts_are_not_in_the_cache(chat):
    messages = [("system", STORY), QUESTION]
    chat.expect(messages)
    Chat(chat.server, chat.dialect).expect(messages)


def test_a_streams_last_usage_is_the_same(server, key):
    client, claude = server.openai(key), server.anthropic(key)
    messages = [QUESTION]
    prompt = prompt_tokens(server, *messages)
    wanted = cached_tokens(prompt, prompt)
    claude.messages.create(model=MODEL, messages=dicts(messages), max_tokens=1)
    with client.chat.completions.create(messages=dicts(messages), **GREEDY, max_tokens=2, stream=True, stream_options={"include_usage": True}) as chunks:
        assert list(chunks)[-1].usage.prompt_tokens_details.cached_tokens == wanted
    with client.responses.create(input=QUESTION[1], **GREEDY, max_output_tokens=2, stream=True) as events:
        assert list(events)[-1].response.usage.input_tokens_details.cached_tokens == wanted
    with claude.messages.create(model=MODEL, messages=dicts(messages), max_tokens=2, stream=True) as events:
        usages = [event.message.usage if event.type == "message_start" else event.usage for event in events if event.type in ("message_start", "message_delta")]
    assert [(usage.cache_read_input_tokens, usage.input_tokens) for usage in usages] == [(wanted, len(prompt) - wanted)] * 2


def test_the_header_tells_the_match_at_arrival(server, key):
    messages = [("system", STORY), QUESTION]
    body = {**GREEDY, "messages": dicts(messages), "max_tokens": 1}
    prompt = prompt_tokens(server, *messages)
    server.post("/v1/chat/completions", body, key)
    again = server.post("/v1/chat/completions", body, key).headers["x-folio-cache"]
    wanted = cached_tokens(prompt, prompt)
    # All but the last, unfilled block.
    assert again.startswith(f"cached={wanted}, prompt={len(prompt)}, reason=block_end, token={wanted}, at=")
    body["messages"][1]["content"] = "Who lived in the village?"
    other = server.post("/v1/chat/completions", body, key).headers["x-folio-cache"]
    changed = prompt_tokens(server, messages[0], ("user", body["messages"][1]["content"]))
    assert other.startswith(f"cached={cached_tokens(changed, prompt)}, prompt={len(changed)}, reason=differs")
    assert 'at="messages[1] user"' in other


def test_a_reset_cache_is_empty(serve, smollm2):
    own = serve(smollm2).wait()
    body = {**GREEDY, "messages": dicts([QUESTION]), "max_tokens": 1}
    assert [own.post("/v1/chat/completions", body).json()["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for _ in range(2)] == [False, True]
    assert own.post("/cache/reset", {}).json()["blocks"] > 0
    assert own.post("/v1/chat/completions", body).json()["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


@pytest.mark.parametrize("args, salted", [([], True), (["--shared-cache"], False)], ids=["salted", "shared"])
def test_keys_share_a_cache_only_if_told_to(serve, smollm2, args, salted):
    own = serve(smollm2, *args).wait()
    one, two = Chat(own, "chat"), Chat(own, "chat")
    prompt = one.expect([QUESTION])
    two.expect([QUESTION], *([] if salted else [prompt]))


# cache_control: what was read, created and neither add up to the prompt.

EPHEMERAL = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def marked(text, mark=EPHEMERAL):
    return [{"type": "text", "text": text, "cache_control": mark}]


def usage_of(claude, **body):
    usage = claude.messages.create(**{"model": MODEL, "max_tokens": 1, **body}).usage
    assert usage.cache_creation.ephemeral_5m_input_tokens + usage.cache_creation.ephemeral_1h_input_tokens == usage.cache_creation_input_tokens
    return usage


def up_to_system(server, system):
    """Tokens from a prompt's begin to the end of its system message."""
    return 1 + len(encode(server, f"system\n{system}")) + 1 + len(encode(server, "\n"))


def test_a_marked_system_prompt_counts_as_created_then_as_read(claude, server):
    body = {"system": marked(STORY), "messages": dicts([QUESTION])}
    prompt = prompt_tokens(server, ("system", STORY), QUESTION)
    created = up_to_system(server, STORY) // BLOCK * BLOCK
    first = usage_of(claude, **body)
    assert (first.cache_creation_input_tokens, first.cache_read_input_tokens, first.input_tokens) == (created, 0, len(prompt) - created)
    read = cached_tokens(prompt, prompt)
    again = usage_of(claude, **body)
    assert (again.cache_creation_input_tokens, again.cache_read_input_tokens, again.input_tokens) == (0, read, len(prompt) - read)


def test_only_whole_blocks_behind_what_was_read_count_as_created(claude, server):
    first = {"system": marked(STORY), "messages": dicts([QUESTION])}
    usage_of(claude, **first)
    longer = OTHER + "What do they say?"
    second = {"system": marked(STORY), "messages": [{"role": "user", "content": marked(longer)}]}
    prompt = prompt_tokens(server, ("system", STORY), ("user", longer))
    read = cached_tokens(prompt, prompt_tokens(server, ("system", STORY), QUESTION))
    end = len(prompt) - len(encode(server, "assistant\n")) - 1  # of the message; the reply's opening is behind it
    created = end // BLOCK * BLOCK - read
    usage = usage_of(claude, **second)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (read, created) and read > 0 < created
    assert usage.input_tokens == len(prompt) - read - created


@pytest.mark.parametrize("mark, name", [(EPHEMERAL, "ephemeral_5m_input_tokens"), ({"type": "ephemeral", "ttl": "5m"}, "ephemeral_5m_input_tokens"),
                                        (HOUR, "ephemeral_1h_input_tokens")], ids=["plain", "5m", "1h"])
def test_created_tokens_are_told_by_their_time(claude, mark, name):
    usage = usage_of(claude, system=marked(STORY, mark), messages=dicts([QUESTION]))
    assert getattr(usage.cache_creation, name) == usage.cache_creation_input_tokens > 0


def test_two_times_share_what_was_created(claude, server):
    usage = usage_of(claude, system=marked(STORY, HOUR), messages=[{"role": "user", "content": marked(OTHER)}])
    assert usage.cache_creation.ephemeral_1h_input_tokens == up_to_system(server, STORY) // BLOCK * BLOCK
    assert usage.cache_creation.ephemeral_5m_input_tokens > 0
    prompt = prompt_tokens(server, ("system", STORY), ("user", OTHER))
    assert usage.input_tokens + usage.cache_creation_input_tokens == len(prompt)


def test_a_mark_on_top_is_a_mark_on_the_last_block(claude):
    explicit = usage_of(claude, system=STORY, messages=[{"role": "user", "content": marked(OTHER)}])
    fresh = claude.with_options(api_key=fresh_key())
    top = usage_of(fresh, system=STORY, messages=dicts([("user", OTHER)]), extra_body={"cache_control": EPHEMERAL})
    assert top.cache_creation_input_tokens == explicit.cache_creation_input_tokens > 0


def test_marks_never_reach_the_prompt(claude, server):
    plain = len(prompt_tokens(server, ("system", STORY), QUESTION))
    body = {"system": marked(STORY), "messages": [{"role": "user", "content": marked(QUESTION[1])}]}
    assert claude.messages.count_tokens(model=MODEL, **body).input_tokens == plain


def test_marks_that_move_change_nothing(claude, server):
    turns = [QUESTION, ANSWER, ("user", "And of Italy?")]
    first = usage_of(claude, system=STORY, messages=[{"role": "user", "content": marked(QUESTION[1])}])
    second = usage_of(claude, system=STORY, messages=[*dicts(turns[:2]), {"role": "user", "content": marked(turns[2][1])}])
    prompt = prompt_tokens(server, ("system", STORY), *turns)
    assert first.cache_read_input_tokens == 0
    assert second.cache_read_input_tokens == cached_tokens(prompt, prompt_tokens(server, ("system", STORY), QUESTION))


def test_a_streams_last_usage_counts_what_was_created(claude):
    with claude.messages.stream(model=MODEL, max_tokens=2, system=marked(STORY), messages=dicts([QUESTION])) as stream:
        usage = stream.get_final_message().usage
    again = usage_of(claude.with_options(api_key=fresh_key()), system=marked(STORY), messages=dicts([QUESTION]))
    assert usage.cache_creation_input_tokens == again.cache_creation_input_tokens > 0
    assert (usage.input_tokens, usage.cache_read_input_tokens) == (again.input_tokens, again.cache_read_input_tokens)


def test_breakpoints_of_openais_dialect_never_reach_the_prompt(server):
    body = {"model": MODEL, "max_output_tokens": 1, "input": [{"role": "user", "content": [
        {"type": "input_text", "text": STORY, "prompt_cache_breakpoint": {"ttl": "30m"}}]}]}
    usage = server.post("/v1/responses", body, fresh_key()).json()["usage"]
    assert usage["input_tokens"] == len(prompt_tokens(server, ("user", STORY)))
    assert usage["input_tokens_details"]["cached_tokens"] == 0


SESSION_NAMES = {
    "header": ({"x-session-id": "one"}, {}), "thread": ({"thread-id": "one"}, {}), "key": ({}, {"prompt_cache_key": "one"}),
    "retention": ({}, {"prompt_cache_retention": "24h"}), "none": ({}, {}),
}


@pytest.mark.parametrize("kind", SESSION_NAMES)
def test_a_session_outlives_the_short_requests_beside_it(folio, smollm2, key, kind):
    """143 blocks: a long prompt takes 40 of them, and the others' prompts more than the rest."""
    headers, fields = SESSION_NAMES[kind]
    own = Server(folio.binary, smollm2, "--threads", 1, "--memory", "280MiB", "--context", 1024).wait()
    try:
        turn = {**GREEDY, "max_tokens": 1, "messages": dicts([("system", STORY * (600 // len(encode(own, STORY)) + 1)), QUESTION]), **fields}
        usage = own.post("/v1/chat/completions", turn, key, **headers).json()["usage"]
        for number in range(12):
            beside = {**GREEDY, "max_tokens": 1, "messages": dicts([("user", f"{number}. A title, please: " + "word " * 200)])}
            own.post("/v1/chat/completions", beside, key, **headers)
        assert own.metrics()["folio_kv_evictions_total"] > 0
        again = own.post("/v1/chat/completions", turn, key, **headers).json()["usage"]
        cached = again["prompt_tokens_details"]["cached_tokens"]
        assert cached == (0 if kind == "none" else (usage["prompt_tokens"] - 1) // 16 * 16)
    finally:
        own.stop()
