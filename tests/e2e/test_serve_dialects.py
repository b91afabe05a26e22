"""One conversation is one prompt and one greedy reply in every dialect, and the one that `folio run --chat` gives; roles may
stand anywhere, content may come in any of its forms, and what a server doesn't know passes."""
import pytest
from chat_prompts import encode, prompt_tokens
from server import MODEL

USER = {"role": "user", "content": "What is the capital of France?"}
ANSWER = "The capital of France is Paris."
ITALY = {"role": "user", "content": "And of Italy?"}


def user(text):
    return {"role": "user", "content": text}


def pairs(messages):
    return [(message["role"], message["content"]) for message in messages]


def reply_of(server, key, dialect, messages, length=24):
    """(text, whether the length ended it, prompt tokens, generated tokens)."""
    if dialect == "chat":
        reply = server.openai(key).chat.completions.create(model=MODEL, messages=messages, temperature=0, max_tokens=length)
        return (reply.choices[0].message.content, reply.choices[0].finish_reason == "length", reply.usage.prompt_tokens, reply.usage.completion_tokens)
    if dialect == "responses":
        reply = server.openai(key).responses.create(model=MODEL, input=messages, temperature=0, max_output_tokens=length)
        return reply.output_text, reply.status == "incomplete", reply.usage.input_tokens, reply.usage.output_tokens
    if dialect == "messages":
        system = {"system": messages[0]["content"]} if messages[0]["role"] == "system" else {}
        reply = server.anthropic(key).messages.create(model=MODEL, messages=messages[len(system):], max_tokens=length, extra_body={"temperature": 0}, **system)
        usage = reply.usage
        return (reply.content[0].text, reply.stop_reason == "max_tokens",
                usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens, usage.output_tokens)
    from_template = server.openai(key).completions.create(model=MODEL, prompt=prompt_tokens(server, *pairs(messages)), temperature=0, max_tokens=length)
    choice = from_template.choices[0]
    return choice.text, choice.finish_reason == "length", from_template.usage.prompt_tokens, from_template.usage.completion_tokens


@pytest.mark.parametrize("system, text", [(None, USER["content"]), ("You are a pirate. Answer in one short sentence.", "Where is the treasure?"),
                                          (None, "Zürich, 東京 \U0001f680: what are these?"), (None, "Write a poem about rain.")],
                         ids=["plain", "system", "unicode", "cut"])
def test_all_dialects_give_what_the_command_gives(server, folio, smollm2, key, system, text):
    messages = ([{"role": "system", "content": system}] if system else []) + [user(text)]
    replies = {dialect: reply_of(server, key, dialect, messages) for dialect in ("chat", "responses", "messages", "completions")}
    outcome = folio("run", smollm2, "--chat", "--prompt", text, *(["--system", system] if system else []), "--temperature", 0, "--max-tokens", 24,
                    "--threads", 1, "--json")
    assert outcome.code == 0, outcome.err
    run = outcome.json()
    assert set(replies.values()) == {replies["chat"]} and run["prompt_tokens"] == replies["chat"][2]
    assert replies["chat"][0] == run["text"]
    assert replies["chat"][2] == len(prompt_tokens(server, *pairs(messages)))


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
@pytest.mark.parametrize("messages", [
    [{"role": "system", "content": "Be terse."}, USER, {"role": "assistant", "content": ANSWER}, {"role": "system", "content": "Be kind."}, ITALY],
    [USER, {"role": "system", "content": "Be kind."}],
    [user("One."), user("Two."), user("Three.")],
    [USER, {"role": "assistant", "content": "The capital"}, {"role": "assistant", "content": " is Paris."}, ITALY],
    [{"role": "assistant", "content": "Hello! How can I help?"}, USER],
], ids=["system-between", "system-last", "users", "assistants", "assistant-first"])
def test_roles_may_stand_anywhere(server, key, dialect, messages):
    tokens = reply_of(server, key, dialect, messages, 1)[2]
    assert tokens == len(prompt_tokens(server, *pairs(messages)))


@pytest.mark.parametrize("where", [0, 1, 2])
def test_developers_are_systems(client, where):
    turns = [USER, {"role": "assistant", "content": ANSWER}, ITALY]
    counts = []
    for role in ("developer", "system"):
        messages = [*turns[:where], {"role": role, "content": "Be kind."}, *turns[where:]]
        chat = client.chat.completions.create(model=MODEL, messages=messages, max_tokens=1, temperature=0)
        responses = client.responses.create(model=MODEL, input=messages, max_output_tokens=16, temperature=0)
        counts.append((chat.usage.prompt_tokens, responses.usage.input_tokens, chat.choices[0].message.content[:1], responses.output_text))
    assert counts[0] == counts[1] and counts[0][0] == counts[0][1]


def empty_contents():
    return {"null": {"content": None}, "empty": {"content": ""}, "absent": {}, "no-parts": {"content": []}, "empty-part": {"content": [{"type": "text", "text": ""}]}}


@pytest.mark.parametrize("name", empty_contents())
def test_empty_content_of_an_assistant_is_one_thing(server, key, name):
    content = empty_contents()[name]
    wanted = len(prompt_tokens(server, ("user", USER["content"]), ("assistant", ""), ("user", ITALY["content"])))
    messages = [USER, {"role": "assistant", **content}, ITALY]
    chat = server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 1}, key)
    assert chat.json()["usage"]["prompt_tokens"] == wanted
    assert server.post("/v1/messages/count_tokens", {"messages": messages}, key).json()["input_tokens"] == wanted


def test_empty_content_beside_calls_is_one_thing(server, key):
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    counts = set()
    for content in empty_contents().values():
        messages = [USER, {"role": "assistant", "tool_calls": [call], **content}, {"role": "tool", "tool_call_id": "call_1", "content": "Paris"}]
        reply = server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 1}, key)
        counts.add((reply.status, reply.json()["usage"]["prompt_tokens"]))
    assert len(counts) == 1 and counts.pop()[0] == 200


@pytest.mark.parametrize("content", [USER["content"], [{"type": "text", "text": USER["content"]}],
                                     [{"type": "text", "text": "What is the "}, {"type": "text", "text": "capital of France?"}],
                                     [{"type": "text", "text": USER["content"], "cache_control": {"type": "ephemeral"}}],
                                     [{"type": "text", "text": USER["content"], "citations": None, "prompt_cache_breakpoint": {"ttl": "30m"}}]],
                         ids=["string", "part", "parts", "marked", "more-fields"])
def test_forms_of_content_are_alike(server, key, content):
    wanted = len(prompt_tokens(server, ("user", USER["content"])))
    body = {"messages": [user(content)], "max_tokens": 1}
    assert server.post("/v1/chat/completions", body, key).json()["usage"]["prompt_tokens"] == wanted
    assert server.post("/v1/messages/count_tokens", body, key).json()["input_tokens"] == wanted


UNKNOWN = {"client_metadata": {"session_id": "x"}, "service_tier": "flex", "verbosity": "low", "prediction": None, "web_search_options": {}, "modalities": ["text"],
           "safety_identifier": "x", "never_heard_of": [{}], "user": "me", "prompt_cache_key": "k", "metadata": {"a": "b"}, "store": False,
           "parallel_tool_calls": True, "include": [], "truncation": "auto", "reasoning": {"context": "x"}, "thinking": {"type": "disabled"},
           "x": {"y": [None, 1e300]}}


@pytest.mark.parametrize("path, body", [("/v1/chat/completions", {"messages": [USER], "max_tokens": 12}), ("/v1/responses", {"input": "Hello", "max_output_tokens": 16}),
                                        ("/v1/messages", {"messages": [USER], "max_tokens": 12}), ("/v1/completions", {"prompt": "Hello", "max_tokens": 3})],
                         ids=["chat", "responses", "messages", "completions"])
def test_unknown_fields_pass_and_change_nothing(server, key, path, body):
    body = {**body, "temperature": 0}
    plain, more = server.post(path, body, key), server.post(path, {**UNKNOWN, **body}, key)
    assert more.status == plain.status == 200
    texts = []
    for reply in (plain.json(), more.json()):
        texts.append(reply.get("choices") or reply.get("content") or [part["text"] for part in reply["output"][0]["content"]])
    assert texts[0] == texts[1]


NULLS = {"/v1/chat/completions": ["stream", "stream_options", "tools", "tool_choice", "stop", "n", "temperature", "top_p", "seed", "response_format", "logit_bias",
                                  "logprobs", "top_logprobs", "max_completion_tokens", "user", "metadata", "presence_penalty"],
         "/v1/responses": ["stream", "instructions", "tools", "tool_choice", "text", "reasoning", "previous_response_id", "include", "metadata", "max_output_tokens",
                           "store", "temperature", "parallel_tool_calls", "truncation", "user", "prompt_cache_key", "background", "conversation", "prompt"],
         "/v1/messages": ["stream", "system", "tools", "tool_choice", "stop_sequences", "temperature", "thinking", "metadata", "output_config", "diagnostics", "thread",
                          "cache_control", "service_tier"]}


@pytest.mark.parametrize("path", NULLS)
def test_null_is_what_was_not_said(server, key, path):
    body = {"messages": [USER], "input": USER["content"], "max_tokens": 12, "max_output_tokens": 16, "temperature": 0}
    reply = server.post(path, {**dict.fromkeys(NULLS[path]), **body}, key)
    assert reply.status == 200, reply.body


def test_the_order_of_fields_changes_nothing(server, key):
    body = {"model": MODEL, "messages": [USER], "max_tokens": 12, "temperature": 0, "stream": False}
    texts = {server.post("/v1/chat/completions", dict(items), key).json()["choices"][0]["message"]["content"] for items in (body.items(), reversed(body.items()))}
    assert texts == {ANSWER}


def test_reasoning_of_earlier_turns_is_taken(server, key):
    messages = [USER, {"role": "assistant", "content": ANSWER, "reasoning_content": "Easy."}, ITALY]
    wanted = len(prompt_tokens(server, *pairs(messages)))  # this model's template has no place for it
    assert server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 1}, key).json()["usage"]["prompt_tokens"] == wanted


BILLING = "x-anthropic-billing-header: cc_version=2.1.268.{0}; cc_entrypoint=cli; cch={0};"


def test_a_changing_line_of_a_clients_own_costs_no_prefix(server, key):
    system = "You are a coding agent. " * 12
    read = []
    for number in ("00a1b", "99f0c"):
        body = {"model": MODEL, "max_tokens": 1, "messages": [USER], "system": [{"type": "text", "text": BILLING.format(number)},
                                                                                {"type": "text", "text": system}]}
        usage = server.anthropic(key).messages.create(**body).usage
        read.append((usage.cache_read_input_tokens, usage.input_tokens + usage.cache_read_input_tokens))
    prompt = prompt_tokens(server, ("system", system), ("user", USER["content"]))
    assert read == [(0, len(prompt)), (len(prompt) // 16 * 16, len(prompt))]


# Plain completions.

def test_a_completion_goes_on_with_a_text(client, server):
    reply = client.completions.create(model=MODEL, prompt="The capital of France is", max_tokens=2, temperature=0)
    assert reply.object == "text_completion" and reply.id.startswith("cmpl-") and reply.choices[0].text.strip().startswith("Paris")
    assert reply.choices[0].finish_reason == "length" and reply.usage.prompt_tokens == len(encode(server, "The capital of France is"))


def test_a_completion_takes_tokens_and_lists(client, server):
    text = "The capital of France is"
    tokens = encode(server, text)
    for prompt, count in ((tokens, 1), ([tokens, tokens], 2), ([text], 1), ([text, text, text], 3)):
        reply = client.completions.create(model=MODEL, prompt=prompt, max_tokens=2, temperature=0)
        assert [choice.index for choice in reply.choices] == list(range(count)) and len({choice.text for choice in reply.choices}) == 1
        assert reply.usage.prompt_tokens == count * len(tokens) and reply.usage.completion_tokens == 2 * count


@pytest.mark.parametrize("fields", [{}, {"n": 2, "temperature": 1.0, "seed": 3}, {"stop": "."}, {"prompt": ["One, two,", "A, B,"]}], ids=["plain", "n", "stop", "prompts"])
def test_a_streamed_completion_says_what_a_whole_one_says(client, fields):
    body = {"model": MODEL, "prompt": "The capital of France is", "max_tokens": 8, "temperature": 0, **fields}
    whole = client.completions.create(**body)
    texts, reasons = {}, {}
    with client.completions.create(**body, stream=True) as chunks:
        for chunk in chunks:
            for choice in chunk.choices:
                texts[choice.index] = texts.get(choice.index, "") + choice.text
                reasons[choice.index] = choice.finish_reason or reasons.get(choice.index)
    assert texts == {choice.index: choice.text for choice in whole.choices}
    assert reasons == {choice.index: choice.finish_reason for choice in whole.choices}


def test_a_completions_logprobs_lie_at_their_offsets(client):
    logprobs = client.completions.create(model=MODEL, prompt="The capital of France is", max_tokens=6, temperature=0, logprobs=2).choices[0].logprobs
    text = "".join(logprobs.tokens)
    assert all(text[at:].startswith(token) for at, token in zip(logprobs.text_offset, logprobs.tokens)) and len(logprobs.tokens) == 6
    assert all(len(top) == 2 and max(top.values()) == logprob for top, logprob in zip(logprobs.top_logprobs, logprobs.token_logprobs))


def test_tokens_and_text_are_told_of_each_other(server):
    for text in ("Hello world", "Zürich, 東京 \U0001f680", "", " a\n\n b", "<|im_end|>"):
        told = server.post("/tokenize", {"content": text}).json()
        assert told["count"] == len(told["tokens"]) == len(told["pieces"]) and told["max_model_len"] == 8192
        assert server.post("/tokenize", {"prompt": text}).json()["tokens"] == told["tokens"]
        assert server.post("/detokenize", {"tokens": told["tokens"]}).json()["content"] == text
    assert 2 not in server.post("/tokenize", {"content": "<|im_end|>"}).json()["tokens"]


@pytest.mark.parametrize("ids", [[-1], [5, 49152], [2**32 + 1], [2**64 - 1], [2**70], [1.5], ["a"], [[1]]], ids=str)
def test_ids_that_no_token_has_are_named(server, ids):
    reply = server.post("/detokenize", {"tokens": ids})
    assert reply.status == 400 and reply.json()["error"]["param"] == f"tokens[{len(ids) - 1}]"
    if ids not in (["a"], [[1]]):  # prompts
        assert server.post("/v1/completions", {"prompt": ids, "max_tokens": 1}).status == 400
