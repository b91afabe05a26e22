"""Options that change what a server makes of requests: media left out, a limit where none is named, a template of one's own, a
shorter context."""
import re

import openai
import pytest
from chat_prompts import encode
from server import MODEL, Server

TEMPLATE = "{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}"
LIMIT = 5
ENDLESS = {"model": MODEL, "prompt": "Once upon a time", "temperature": 0}
IMAGE = "data:image/png;base64,iVBORw0KGgo="


@pytest.fixture(scope="module")
def odd(folio, smollm2, tmp_path_factory):
    template = tmp_path_factory.mktemp("template") / "plain.jinja"
    template.write_text(TEMPLATE)
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "1GiB", "--drop-media", "--max-reply-tokens", LIMIT, "--chat-template", template,
                     "--context", 512)
    try:
        yield running.wait()
    finally:
        running.stop()


def test_a_template_from_a_file_writes_conversations(odd):
    messages = [{"role": "system", "content": "Be terse."}, {"role": "user", "content": "Hello"}]
    wanted = len(encode(odd, "[system]Be terse.[user]Hello[assistant]"))
    assert odd.openai().chat.completions.create(model=MODEL, messages=messages).usage.prompt_tokens == wanted
    assert odd.anthropic().messages.count_tokens(model=MODEL, system="Be terse.", messages=messages[1:]).input_tokens == wanted


def test_replies_that_name_no_limit_have_one(odd):
    client = odd.openai()
    chat = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Write a long story."}], temperature=0)
    assert (chat.choices[0].finish_reason, chat.usage.completion_tokens) == ("length", LIMIT)
    response = client.responses.create(model=MODEL, input="Write a long story.", temperature=0)
    assert (response.status, response.usage.output_tokens) == ("incomplete", LIMIT)
    assert client.completions.create(**ENDLESS, max_tokens=3 * LIMIT).usage.completion_tokens == 3 * LIMIT


def test_media_become_a_note(odd):
    items = [{"type": "input_text", "text": "Look: "}, {"type": "input_image", "image_url": IMAGE}]
    blocks = [{"type": "text", "text": "Look: "}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]
    counts = [odd.openai().responses.input_tokens.count(model=MODEL, input=[{"role": "user", "content": items}]).input_tokens,
              odd.anthropic().messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": blocks}]).input_tokens]
    assert counts == [len(encode(odd, "[user]Look: [image left out: only text is read here][assistant]"))] * 2


def test_the_context_is_told_and_kept(odd):
    assert odd.get("/v1/models").json()["data"][0]["context_length"] == 512
    with pytest.raises(openai.BadRequestError) as caught:
        odd.openai().completions.create(model=MODEL, prompt="word " * 600)
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize("dialect", ["chat", "completions", "responses", "messages"])
def test_a_reply_ends_at_the_contexts_end(odd, dialect):
    text = "word " * 500
    if dialect == "chat":
        reply = odd.openai().chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}], max_tokens=400, temperature=0)
        assert reply.choices[0].finish_reason == "length" and reply.usage.total_tokens <= 513
    elif dialect == "completions":
        reply = odd.openai().completions.create(model=MODEL, prompt=text, max_tokens=400, temperature=0)
        assert reply.choices[0].finish_reason == "length" and reply.usage.total_tokens <= 513
    elif dialect == "responses":
        reply = odd.openai().responses.create(model=MODEL, input=text, max_output_tokens=400, temperature=0)
        assert (reply.status, reply.incomplete_details.reason) == ("incomplete", "max_output_tokens") and reply.usage.total_tokens <= 513
    else:
        reply = odd.anthropic().messages.create(model=MODEL, messages=[{"role": "user", "content": text}], max_tokens=400, extra_body={"temperature": 0})
        assert reply.stop_reason == "model_context_window_exceeded" and reply.usage.output_tokens < 20


PLAIN = "{% for m in messages %}[{{ m.role }}]{{ THOUGHT }}{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{{ OPENING }}{% endif %}"
ALL = "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}"
OF_THIS_TURN = "{% if m.reasoning_content and messages[-1].role == 'tool' %}<think>{{ m.reasoning_content }}</think>{% endif %}"


@pytest.mark.parametrize("thought, opening, lost, left_out", [
    ("", "", None, None), (ALL, "", None, None), ("{# </think> #}", "", None, "up to that reply$"), (OF_THIS_TURN, "", None, "results it stays$"),
    (ALL, "<think></think>", "<think></think>", None)], ids=["plain", "kept", "dropped", "this-turns", "opening"])
def test_a_template_whose_turns_do_not_extend_is_told_of(folio, smollm2, tmp_path, thought, opening, lost, left_out):
    template = tmp_path / "turns.jinja"
    template.write_text(PLAIN.replace("{{ THOUGHT }}", thought).replace("{{ OPENING }}", opening))
    running = Server(folio.binary, smollm2, "--threads", 1, "--memory", "400MiB", "--context", 512, "--chat-template", template).wait()
    told = [line for line in running.lines if "the chat template" in line]
    assert len(told) == bool(lost) + bool(left_out)
    if lost:
        assert f'begins a reply with "{lost}" only while it is the last' in told[0]
    if left_out:
        assert re.search(f"leaves the reasoning of earlier turns out: .*{left_out}", told[-1])
    running.stop()
