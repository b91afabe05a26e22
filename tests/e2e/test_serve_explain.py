"""Misses explained, to the token and only to the key that sent both texts; and turns that extend exactly: a reply that comes
back is the tokens that it was, not those that its text would become."""
import openai
import pytest
from chat_prompts import cached_tokens, common_prefix, encode, prompt_tokens
from server import MODEL, fresh_key

RULES = "You are a careful assistant. Answer in one short sentence, and never mention the weather. " * 4
USER = ("user", "What is the capital of France?")
ANSWER = ("assistant", "The capital of France is Paris.")


def dicts(messages):
    return [{"role": role, "content": content} for role, content in messages]


def chat(server, key, messages, **more):
    return server.post("/v1/chat/completions", {"model": MODEL, "temperature": 0, "max_tokens": 1, "messages": dicts(messages), **more}, key)


def explained(server, key, name):
    reply = server.get(f"/v1/cache/explain/{name}", authorization=f"Bearer {key}")
    assert reply.status == 200, reply.body
    return reply.json()


def test_a_difference_is_shown_where_it_is(server, key):
    before = [("system", RULES + "Today is Monday."), USER]
    after = [("system", RULES + "Today is Tuesday."), USER]
    first = chat(server, key, before).json()["id"]
    second = chat(server, key, after).json()["id"]
    told = explained(server, key, second)
    old, new = prompt_tokens(server, *before), prompt_tokens(server, *after)
    at = common_prefix(old, new)
    assert (told["prompt_tokens"], told["matched_tokens"], told["cached_tokens"]) == (len(new), at, cached_tokens(new, old))
    assert (told["reason"], told["here"]["token"], told["here"]["message"]) == ("differs", at, 0)
    assert told["here"]["text"].startswith(" Tuesday.") and told["there"]["text"].startswith(" Monday.")
    assert told["here"]["before"].endswith("Today is") and first.endswith(told["there"]["id"])
    assert "system prompt" in told["advice"] and told["explanation"]


def test_characters_count_from_the_parts_begin(server, key):
    chat(server, key, [("user", "Zürich is a city. Its river is long.")])
    told = explained(server, key, chat(server, key, [("user", "Zürich is a city. Its lake is deep.")]).json()["id"])
    start, end = told["here"]["characters"]
    assert told["here"]["part"] == "messages[0] user" and told["here"]["message"] == 0
    assert start == len("user\nZürich is a city. Its") + len("<|im_start|>") and end - start == len(told["here"]["text"])


@pytest.mark.parametrize("messages, reason", [([USER], "first_seen"), ([("system", RULES), USER], "block_end"),
                                              ([("system", RULES), USER, ANSWER, ("user", "And of Italy? Say it in one sentence, please, and be exact.")], "goes_on")],
                         ids=["first", "again", "goes-on"])
def test_other_reasons_are_named(server, key, messages, reason):
    if reason != "first_seen":
        chat(server, key, [("system", RULES), USER])
    told = explained(server, key, chat(server, key, messages).json()["id"])
    assert told["reason"] == reason and told["advice"] and told["explanation"]


def test_an_explanation_is_found_by_any_of_a_replys_names(server, key):
    chat_id = chat(server, key, [USER]).json()["id"]
    message_id = server.anthropic(key).messages.create(model=MODEL, max_tokens=1, messages=dicts([USER])).id
    response_id = server.openai(key).responses.create(model=MODEL, input=USER[1], max_output_tokens=16).id
    for name in (chat_id, message_id, response_id):
        bare = name.split("_")[-1].split("-")[-1]
        assert explained(server, key, name)["id"] == bare == explained(server, key, f"req_{bare}")["id"]


def test_what_another_key_sent_is_not_told(server, key):
    name = chat(server, key, [("system", RULES + "Secret."), USER]).json()["id"]
    other = fresh_key()
    assert server.get(f"/v1/cache/explain/{name}", authorization=f"Bearer {other}").status == 404
    assert server.get(f"/v1/cache/explain/{name}").status == 404
    told = explained(server, other, chat(server, other, [("system", RULES + "Public."), USER]).json()["id"])
    assert told["reason"] == "first_seen" and told["matched_tokens"] == 0 and "Secret" not in str(told)
    assert server.get("/v1/cache/explain/chatcmpl-nobodys", authorization=f"Bearer {key}").status == 404


def ask_claude(claude, previous, **body):
    return claude.messages.create(model=MODEL, max_tokens=1, extra_body={"diagnostics": {"previous_message_id": previous}}, **body)


def diagnosis(message):
    return message.to_dict()["diagnostics"]


CHANGES = {
    "system_changed": {"system": RULES + "Today is Tuesday.", "messages": dicts([USER])},
    "messages_changed": {"system": RULES, "messages": dicts([("user", "What is the capital of Spain?")])},
}


@pytest.mark.parametrize("kind", ["system_changed", "messages_changed"])
@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_diagnostics_name_what_changed(claude, server, kind, stream):
    first = claude.messages.create(model=MODEL, max_tokens=1, system=RULES, messages=dicts([USER]))
    body = CHANGES[kind]
    if stream:
        with claude.messages.create(model=MODEL, max_tokens=1, stream=True, extra_body={"diagnostics": {"previous_message_id": first.id}}, **body) as events:
            told = diagnosis(next(iter(events)).message)
    else:
        told = diagnosis(ask_claude(claude, first.id, **body))
    old = prompt_tokens(server, ("system", RULES), USER)
    new = prompt_tokens(server, ("system", body["system"]), *((m["role"], m["content"]) for m in body["messages"]))
    assert told == {"cache_miss_reason": {"type": kind, "cache_missed_input_tokens": len(new) - common_prefix(old, new)}}


def test_anthropics_diagnostics_find_no_fault_with_a_turn(claude):
    first = claude.messages.create(model=MODEL, max_tokens=16, system=RULES, messages=dicts([USER]), extra_body={"temperature": 0})
    turns = [*dicts([USER]), {"role": "assistant", "content": first.content[0].text}, {"role": "user", "content": "And of Italy?"}]
    assert diagnosis(ask_claude(claude, first.id, system=RULES, messages=turns)) == {"cache_miss_reason": None}


def test_anthropics_diagnostics_know_only_the_keys_own_messages(claude, server):
    first = claude.messages.create(model=MODEL, max_tokens=1, messages=dicts([USER]))
    for other, name in ((server.anthropic(), first.id), (claude, "msg_nobodys")):
        told = diagnosis(ask_claude(other, name, messages=dicts([USER])))
        assert told["cache_miss_reason"]["type"] == "previous_message_not_found"


def test_unasked_there_are_no_diagnostics(claude):
    assert diagnosis(claude.messages.create(model=MODEL, max_tokens=1, messages=dicts([USER]))) is None


def test_openais_diagnostics_name_what_changed(client, server):
    first = client.responses.create(model=MODEL, instructions=RULES, input=USER[1], max_output_tokens=16)

    def ask(instructions, text, name=first.id, sdk=client):
        reply = sdk.responses.create(model=MODEL, instructions=instructions, input=text, max_output_tokens=16,
                                     extra_body={"prompt_cache_options": {"comparison_response_id": name}})
        return reply.to_dict()["prompt_cache_diagnostics"], reply.usage

    assert ask(RULES, USER[1])[0] == {"type": "cache_hit"}
    told, usage = ask(RULES, "What is the capital of Spain?")
    old, new = prompt_tokens(server, ("system", RULES), USER), prompt_tokens(server, ("system", RULES), ("user", "What is the capital of Spain?"))
    assert told == {"type": "cache_miss", "reason": "input_changed", "cache_missed_tokens": len(new) - usage.input_tokens_details.cached_tokens,
                    "comparison_reusable_tokens": common_prefix(old, new)}
    for sdk, name in ((client, "resp_nobodys"), (server.openai(), first.id)):
        assert ask(RULES, USER[1], name, sdk)[0] == {"type": "comparison_response_not_found"}


# Turns extend exactly.

STORY = ("user", "Write some odd words.")


def odd_reply(server, key):
    """A reply whose tokens are not those that its text becomes, and how many it was."""
    for seed in range(40):
        reply = server.openai(key).chat.completions.create(model=MODEL, messages=dicts([STORY]), max_tokens=24, temperature=2.0, seed=seed)
        text, count = reply.choices[0].message.content, reply.usage.completion_tokens
        if reply.choices[0].finish_reason == "length" and text and text == text.strip() and len(encode(server, text)) != count and "\ufffd" not in text:
            return text, count
    raise AssertionError("all replies are what their text becomes")


def next_turn(server, key, text, dialect="chat"):
    """(prompt tokens, cached tokens) of the turn after."""
    messages = dicts([STORY, ("assistant", text), ("user", "Go on.")])
    if dialect == "messages":
        usage = server.anthropic(key).messages.create(model=MODEL, max_tokens=1, messages=messages).usage
        return usage.input_tokens + usage.cache_read_input_tokens, usage.cache_read_input_tokens
    if dialect == "responses":
        usage = server.openai(key).responses.create(model=MODEL, max_output_tokens=16, input=messages).usage
        return usage.input_tokens, usage.input_tokens_details.cached_tokens
    usage = server.openai(key).chat.completions.create(model=MODEL, max_tokens=1, messages=messages).usage
    return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_a_reply_that_comes_back_is_the_tokens_that_it_was(server, key, dialect):
    text, count = odd_reply(server, key)
    turns = [STORY, ("assistant", text), ("user", "Go on.")]
    anew, reply_anew = len(prompt_tokens(server, *turns)), len(encode(server, f"assistant\n{text}")) - len(encode(server, "assistant\n"))
    prompt, cached = next_turn(server, key, text, dialect)
    assert prompt == anew - reply_anew + count
    computed = len(prompt_tokens(server, STORY)) + count - 1  # the last token was drawn, but not computed
    assert cached == computed // 16 * 16


def test_another_keys_reply_is_only_text(server, key):
    text, _ = odd_reply(server, key)
    prompt = len(prompt_tokens(server, STORY, ("assistant", text), ("user", "Go on.")))
    assert next_turn(server, fresh_key(), text) == (prompt, 0)


def test_an_edited_reply_is_only_text(server, key):
    text, _ = odd_reply(server, key)
    edited = text + " But not so."
    assert next_turn(server, key, edited)[0] == len(prompt_tokens(server, STORY, ("assistant", edited), ("user", "Go on.")))


def test_splicing_can_be_turned_off(serve, smollm2, server, key):
    text, _ = odd_reply(server, key)
    own = serve(smollm2, "--no-splice").wait()
    assert odd_reply(own, key)[0] == text  # the same seeds
    assert next_turn(own, key, text)[0] == len(prompt_tokens(server, STORY, ("assistant", text), ("user", "Go on.")))


def test_hygiene_can_be_turned_off(serve, smollm2):
    own = serve(smollm2, "--hygiene", "none").wait()
    line = "x-anthropic-billing-header: cc_version=2.1.268.00a; cch=00a1b;\n"
    body = {"model": MODEL, "messages": dicts([USER]), "system": [{"type": "text", "text": line}]}
    assert own.anthropic().messages.count_tokens(**body).input_tokens == len(prompt_tokens(own, ("system", line), USER))


def test_the_sdk_finds_no_explanation_of_nothing(client):
    with pytest.raises(openai.NotFoundError):
        client.get("/cache/explain/nobodys", cast_to=object)
