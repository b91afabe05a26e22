"""Formats, forced calls and strict tools: replies fit in each dialect, whatever the model would have said."""
import json
import re

import openai
import pytest
from server import MODEL
from test_grammars import CITY, check_city

ASK = [{"role": "user", "content": "Describe Paris as JSON."}]
QUESTION = [{"role": "user", "content": "What is the weather in Bern?"}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 30}, "days": {"type": "integer", "minimum": 1, "maximum": 14}},
          "required": ["city", "days"], "additionalProperties": False}
OTHER = {"type": "object", "properties": {"zone": {"enum": ["UTC", "CET"]}}, "required": ["zone"]}


def functions(**more):
    return [{"name": "get_weather", "description": "The weather at a place", "parameters": SCHEMA, **more},
            {"name": "get_time", "description": "The time", "parameters": OTHER, **more}]


def check_call(name, arguments):
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    if name == "get_time":
        assert arguments["zone"] in ("UTC", "CET")
    else:
        assert name == "get_weather" and set(arguments) == {"city", "days"}
        assert len(arguments["city"]) <= 30 and 1 <= arguments["days"] <= 14


def test_chat_formats_are_kept_to(client):
    for seed in (1, 2):
        reply = client.chat.completions.create(model=MODEL, messages=ASK, seed=seed, max_tokens=400,
                                               response_format={"type": "json_schema", "json_schema": {"name": "city", "schema": CITY}})
        assert reply.choices[0].finish_reason == "stop"
        check_city(reply.choices[0].message.content)


def test_responses_formats_are_kept_to(client):
    reply = client.responses.create(model=MODEL, input="Describe Paris as JSON.", max_output_tokens=400,
                                    text={"format": {"type": "json_schema", "name": "city", "schema": CITY}})
    check_city(reply.output_text)


@pytest.mark.parametrize("strict", [False, True])
def test_chat_calls_are_made_where_they_are_required(client, strict):
    tools = [{"type": "function", "function": function} for function in functions(strict=strict)]
    for choice in ("required", {"type": "function", "function": {"name": "get_time"}}):
        for seed in (1, 2):
            reply = client.chat.completions.create(model=MODEL, messages=QUESTION, tools=tools, tool_choice=choice, seed=seed,
                                                   max_tokens=300, parallel_tool_calls=False).choices[0]
            assert reply.finish_reason == "tool_calls" and not reply.message.content
            (call,) = reply.message.tool_calls
            check_call(call.function.name, call.function.arguments)
            assert choice == "required" or call.function.name == "get_time"


def test_responses_calls_are_made_where_they_are_required(client):
    tools = [{"type": "function", **function} for function in functions(strict=True)]
    reply = client.responses.create(model=MODEL, input=QUESTION, tools=tools, tool_choice="required", max_output_tokens=300,
                                    parallel_tool_calls=False)
    (call,) = reply.output
    assert call.type == "function_call"
    check_call(call.name, call.arguments)


def test_messages_calls_are_made_where_they_are_required(claude):
    tools = [{"name": f["name"], "description": f["description"], "input_schema": f["parameters"]} for f in functions()]
    for choice in ({"type": "any", "disable_parallel_tool_use": True}, {"type": "tool", "name": "get_weather"}):
        reply = claude.messages.create(model=MODEL, messages=QUESTION, tools=tools, tool_choice=choice, max_tokens=300)
        assert reply.stop_reason == "tool_use"
        (call,) = reply.content
        assert call.type == "tool_use"
        check_call(call.name, call.input)


def test_a_streamed_call_is_the_same(client):
    tools = [{"type": "function", "function": function} for function in functions(strict=True)]
    stream = client.chat.completions.create(model=MODEL, messages=QUESTION, tools=tools, tool_choice="required", max_tokens=300, stream=True,
                                            parallel_tool_calls=False)
    name, arguments = "", ""
    for chunk in stream:
        for call in chunk.choices[0].delta.tool_calls or []:
            name += call.function.name or ""
            arguments += call.function.arguments or ""
    check_call(name, arguments)


EDITS = r"""
start: "*** Start" LF edit{1,2} "*** Stop" LF?
edit: make | drop
make: "*** Make: " path LF ("+" /[^\n]{0,12}/ LF){1,3}
drop: "*** Drop: " path LF
path: /[a-z"\\]{1,8}/
%import common.LF
"""


def check_edits(text):
    """Line by line, by hand."""
    lines = text.removesuffix("\n").split("\n")
    assert lines.pop(0) == "*** Start" and lines.pop() == "*** Stop"
    edits = 0
    while lines:
        kind, path = re.fullmatch(r'\*\*\* (Make|Drop): ([a-z"\\]{1,8})', lines.pop(0)).groups()
        added = 0
        while lines and lines[0].startswith("+"):
            assert len(lines.pop(0)) <= 13
            added += 1
        assert path and (1 <= added <= 3 if kind == "Make" else added == 0)
        edits += 1
    assert 1 <= edits <= 2


def test_a_custom_tools_text_keeps_to_its_lark_grammar(client):
    format = {"syntax": "lark", "definition": EDITS}
    for seed in (1, 2, 3):
        chat = client.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "Make a file."}], seed=seed, temperature=1.5, max_tokens=400,
            tools=[{"type": "custom", "custom": {"name": "edit", "format": {"type": "grammar", "grammar": format}}}],
            tool_choice={"type": "custom", "custom": {"name": "edit"}})
        (call,) = chat.choices[0].message.tool_calls
        assert call.custom.name == "edit"
        check_edits(call.custom.input)
        reply = client.responses.create(model=MODEL, input="Make a file.", max_output_tokens=400, temperature=1.5,
                                        tools=[{"type": "custom", "name": "edit", "format": {"type": "grammar", **format}}],
                                        tool_choice={"type": "custom", "name": "edit"}, extra_body={"seed": seed})
        (item,) = reply.output
        assert (item.type, item.status) == ("custom_tool_call", "completed")
        check_edits(item.input)


def test_a_custom_tools_grammar_that_cannot_be_held_is_refused(client):
    for definition, why in (("start: nothing", "nothing"), ("start: <|im_end|>", "<|im_end|>"), ("start: /(?=a)b/", "regular expression")):
        with pytest.raises(openai.BadRequestError) as refused:
            client.responses.create(model=MODEL, input="Hello", max_output_tokens=5, tools=[
                {"type": "custom", "name": "edit", "format": {"type": "grammar", "syntax": "lark", "definition": definition}}])
        assert refused.value.param == "tools" and "'edit'" in refused.value.message and why in refused.value.message


def test_what_cannot_be_kept_to_names_its_field(client):
    for more, param in (({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": True, "schema": {"$ref": "http://a/b"}}}}, "response_format"),
                        ({"tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": {"not": {}}}}],
                          "tool_choice": "required"}, "tools")):
        with pytest.raises(openai.BadRequestError) as refused:
            client.chat.completions.create(model=MODEL, messages=ASK, max_tokens=5, **more)
        assert refused.value.param == param


ODD = {  # what can't be held to
    "look-ahead": {"city": {"type": "string", "pattern": "^(?!x).*$"}},
    "elsewhere": {"city": {"$ref": "https://example.org/city.json"}},
    "no-type": {"city": {"type": "any"}},
}
UNHELD = [{"uniqueItems": True}, {"not": {"required": ["x"]}}, {"dependentRequired": {"city": ["days"]}}]


def with_city(properties, **more):
    return {**SCHEMA, "properties": {**SCHEMA["properties"], **properties}, **more}


@pytest.mark.parametrize("kind", ODD)
def test_a_schema_that_cannot_be_held_to_is_no_error_unless_it_is_strict(server, key, kind):
    function = {"name": "get_weather", "parameters": with_city(ODD[kind])}
    other = {"name": "get_time", "parameters": {**OTHER, "additionalProperties": False}}
    body = {"model": MODEL, "messages": QUESTION, "temperature": 0, "max_tokens": 300, "parallel_tool_calls": False, "tool_choice": "required"}
    chat = {**body, "tools": [{"type": "function", "function": of} for of in (function, other)]}
    ids = {}
    for choice, name in (("required", None), ({"type": "function", "function": {"name": "get_time"}}, "get_time")):
        reply = server.post("/v1/chat/completions", {**chat, "tool_choice": choice}, key).json()
        (call,) = reply["choices"][0]["message"]["tool_calls"]
        if call["function"]["name"] == "get_time":  # the other one's schema still holds
            check_call(**call["function"])
        assert name in (None, call["function"]["name"])
        ids[name] = reply["id"]
    notes = server.get(f"/v1/cache/explain/{ids[None]}", authorization=f"Bearer {key}").json()["notes"]
    assert len([note for note in notes if "the schema isn't held to: " in note]) == 1
    claude = {"model": MODEL, "messages": QUESTION, "max_tokens": 300, "tool_choice": {"type": "any"},
              "tools": [{"name": of["name"], "input_schema": of["parameters"]} for of in (function, other)]}
    assert server.post("/v1/messages", claude, key).json()["stop_reason"] in ("tool_use", "max_tokens")
    strict = {**chat, "tools": [{"type": "function", "function": {**function, "strict": True}}]}
    assert server.post("/v1/chat/completions", strict, key).status == 400


@pytest.mark.parametrize("more", UNHELD, ids=[next(iter(more)) for more in UNHELD])
def test_keywords_that_cannot_be_held_to_are_left_out_of_formats_unless_they_are_strict(server, key, more):
    for strict, status in ((None, 200), (False, 200), (True, 400)):
        schema = {"name": "weather", "schema": with_city({}, **more), **({} if strict is None else {"strict": strict})}
        body = {"model": MODEL, "messages": QUESTION, "max_tokens": 300, "response_format": {"type": "json_schema", "json_schema": schema}}
        reply = server.post("/v1/chat/completions", body, key)
        assert reply.status == status, reply.body
        if status == 200:
            check_call("get_weather", reply.json()["choices"][0]["message"]["content"])


def test_a_format_that_cannot_be_held_to_at_all_is_still_an_object(server, key):
    text = {"format": {"type": "json_schema", "name": "weather", "schema": with_city(ODD["look-ahead"])}}
    reply = server.post("/v1/responses", {"model": MODEL, "input": "Describe Paris as JSON.", "max_output_tokens": 300, "text": text}, key).json()
    assert reply["output"][0]["content"][0]["text"].startswith("{")
