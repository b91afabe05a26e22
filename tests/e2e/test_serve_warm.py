"""A prompt computed ahead of time is found by the request that it was computed for, and by nobody else's."""
import openai
import pytest
from chat_prompts import cached_tokens, prompt_tokens
from server import MODEL, fresh_key

STORY = "Once upon a time, in a small village at the edge of a dark forest, there lived an old clockmaker and her three cats. " * 3
ASKED = "Who lived in the village?"
MESSAGES = [{"role": "system", "content": STORY}, {"role": "user", "content": ASKED}]
PROMPT = [("system", STORY), ("user", ASKED)]
# Of each API: a request's body, and what tells an Anthropic one from OpenAI's.
BODIES = {
    "/v1/chat/completions": ({"model": MODEL, "messages": MESSAGES, "max_tokens": 1, "temperature": 0}, {}),
    "/v1/responses": ({"model": MODEL, "instructions": STORY, "input": ASKED, "max_output_tokens": 1, "temperature": 0, "stream": True}, {}),
    "/v1/messages": ({"model": MODEL, "system": STORY, "messages": MESSAGES[1:], "max_tokens": 1}, {"anthropic-version": "2023-06-01"}),
    "/v1/completions": ({"model": MODEL, "prompt": STORY + ASKED, "max_tokens": 1, "temperature": 0}, {}),
}


def cached(reply):
    return int(reply.headers["x-folio-cache"].removeprefix("cached=").split(",", 1)[0])


@pytest.mark.parametrize("path", BODIES)
def test_the_request_that_follows_finds_what_was_computed(server, key, path):
    body, headers = BODIES[path]
    warm = server.post("/v1/cache/warm", body, key, **headers).json()
    tokens = warm["prompt_tokens"]
    if path != "/v1/completions":
        assert tokens == len(prompt_tokens(server, *PROMPT))
    assert (warm["object"], warm["cached_tokens"], warm["computed_tokens"]) == ("cache.warm", 0, tokens)
    reply = server.post(path, body, key, **headers)
    assert reply.status == 200 and cached(reply) == min(tokens - 1, tokens // 16 * 16) > 64
    again = server.post("/v1/cache/warm", body, key, **headers).json()
    assert (again["cached_tokens"], again["computed_tokens"]) == (cached(reply), tokens - cached(reply))


def test_other_questions_find_what_they_share(server, key):
    server.post("/v1/cache/warm", {"messages": MESSAGES}, key)
    other = [("system", STORY), ("user", "How many cats had she?")]
    usage = server.openai(key).chat.completions.create(model=MODEL, max_tokens=1, messages=[
        {"role": role, "content": content} for role, content in other]).usage
    expected = cached_tokens(prompt_tokens(server, *other), prompt_tokens(server, *PROMPT))
    assert usage.prompt_tokens_details.cached_tokens == expected > 64


def test_another_key_finds_nothing(server, key):
    server.post("/v1/cache/warm", {"messages": MESSAGES}, key)
    assert cached(server.post("/v1/chat/completions", BODIES["/v1/chat/completions"][0], fresh_key())) == 0


def test_the_query_names_the_api_that_the_body_is_of(server, key):
    body, headers = BODIES["/v1/messages"]
    del headers
    assert server.post("/v1/cache/warm?for=/v1/messages", body, key).status == 200
    assert cached(server.post("/v1/chat/completions", BODIES["/v1/chat/completions"][0], key)) > 64
    refused = server.post("/v1/cache/warm?for=/v1/images", body, key)
    assert refused.status == 400 and "/v1/messages" in refused.json()["error"]["message"]
    refused = server.post("/v1/cache/warm?for=/v1/messages", {"messages": 7}, key)
    assert refused.status == 400 and refused.json()["type"] == "error" and "messages" in refused.json()["error"]["message"]


def test_tools_are_computed_too(server, key):
    tool = {"type": "function", "function": {"name": "read_file", "description": STORY, "parameters": {
        "type": "object", "properties": {"path": {"type": "string"}}}}}
    body = {"messages": MESSAGES[1:], "tools": [tool], "tool_choice": "required", "max_tokens": 1}
    tokens = server.post("/v1/cache/warm", body, key).json()["prompt_tokens"]
    assert cached(server.post("/v1/chat/completions", body, key)) == min(tokens - 1, tokens // 16 * 16) > 64


def test_what_can_never_fit_is_refused(server):
    with pytest.raises(openai.BadRequestError) as caught:
        server.openai().post("/cache/warm", cast_to=object, body={"messages": [{"role": "user", "content": STORY * 400}]})
    assert caught.value.code == "context_length_exceeded"


def test_why_it_missed_can_be_asked_for(server, key):
    warm = server.post("/v1/cache/warm", {"messages": MESSAGES}, key).json()
    told = server.request("GET", f"/v1/cache/explain/{warm['id']}", headers={"authorization": f"Bearer {key}"}).json()
    assert told["prompt_tokens"] == warm["prompt_tokens"] and told["cached_tokens"] == 0
