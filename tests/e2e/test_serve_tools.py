"""Tools in a prompt, in each dialect: what the model is shown of them is one text, counted here to the token; kinds that only a
service's own servers run are left out; calls and results of earlier turns come back in the model's form. The default model's
template knows no tools, so they stand in a block of the system text."""
import json

import anthropic
import openai
import pytest
from chat_prompts import DEFAULT_SYSTEM, prompt_tokens
from server import MODEL

QUESTION = "What is the weather in Bern?"
USER = {"role": "user", "content": QUESTION}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}, "at": {"type": "string"}},
          "required": ["city", "days"]}
WEATHER = {"name": "get_weather", "description": "The weather at a place", "parameters": SCHEMA}
TIME = {"name": "get_time", "description": "The time", "parameters": {"type": "object", "properties": {}}}


def chat_tool(function):
    return {"type": "function", "function": function}


def responses_tool(function):
    return {"type": "function", "strict": False, **function}


def messages_tool(function):
    rest = {name: value for name, value in function.items() if name != "parameters"}
    return {**rest, "input_schema": function["parameters"]}


def ordered(schema):
    """Members by name, properties in the order in which they are required, as docs/adr/0013 says."""
    if isinstance(schema, list):
        return [ordered(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {name: ordered(schema[name]) for name in sorted(schema)}
    if "properties" in schema:
        required = schema.get("required", [])
        names = sorted(schema["properties"], key=lambda name: (required.index(name) if name in required else len(required), name))
        out["properties"] = {name: ordered(schema["properties"][name]) for name in names}
    return out


def block(*functions, order=ordered):
    """What the model is shown: the tools by name, each as one line of JSON."""
    functions = [{**function, "parameters": order(function["parameters"])} for function in sorted(functions, key=lambda function: function["name"])]
    lines = [json.dumps({"type": "function", "function": function}, separators=(",", ":"), ensure_ascii=False) for function in functions]
    return "\n".join(["# Tools", "", "You may call one or more of these functions. Each is described by a JSON object within <tools></tools>:", "<tools>", *lines,
                      "</tools>", "", "To call one, write a JSON object with its name and arguments within <tool_call></tool_call>:", "<tool_call>",
                      '{"name": <function-name>, "arguments": <args-json-object>}', "</tool_call>"])


def counted(server, key, tools=(), messages=(USER,), system=None, **more):
    """Prompt tokens of one conversation with tools of one form in each dialect."""
    client, claude = server.openai(key), server.anthropic(key)
    front = [{"role": "system", "content": system}] if system else []
    chat = client.chat.completions.create(model=MODEL, messages=[*front, *messages], tools=[chat_tool(f) for f in tools], max_tokens=1, **more)
    responses = client.responses.input_tokens.count(model=MODEL, input=[*front, *messages], tools=[responses_tool(f) for f in tools], **more)
    extra = {"system": system} if system else {}
    counted_messages = claude.messages.count_tokens(model=MODEL, messages=list(messages), tools=[messages_tool(f) for f in tools], **extra)
    return chat.usage.prompt_tokens, responses.input_tokens, counted_messages.input_tokens


@pytest.mark.parametrize("tools", [[WEATHER], [WEATHER, TIME], [TIME, WEATHER]], ids=["one", "two", "other-order"])
@pytest.mark.parametrize("system", [None, "Be terse."])
def test_tools_are_shown_alike_in_every_dialect(server, key, tools, system):
    shown = f"{system}\n\n{block(*tools)}" if system else block(*tools)
    wanted = len(prompt_tokens(server, ("system", shown), ("user", QUESTION)))
    assert counted(server, key, tools, system=system) == (wanted,) * 3


def test_no_tools_are_no_block(server, key):
    wanted = len(prompt_tokens(server, ("system", DEFAULT_SYSTEM), ("user", QUESTION)))
    assert counted(server, key) == (wanted,) * 3


def test_the_order_of_tools_and_of_their_fields_costs_no_prefix(client):
    def ask(tools):
        return client.chat.completions.create(model=MODEL, messages=[USER], tools=tools, max_tokens=1).usage

    first = ask([chat_tool(WEATHER), chat_tool(TIME)])
    mixed = {"parameters": {"required": SCHEMA["required"], "properties": SCHEMA["properties"], "type": "object"}, "description": WEATHER["description"], "name": "get_weather"}
    again = ask([chat_tool(TIME), {"function": mixed, "type": "function"}])
    assert again.prompt_tokens == first.prompt_tokens
    assert again.prompt_tokens_details.cached_tokens == min(first.prompt_tokens // 16 * 16, first.prompt_tokens - 1)


@pytest.mark.parametrize("dialect", ["chat", "responses", "messages"])
def test_tools_that_may_not_be_called_are_not_shown(server, key, dialect):
    wanted = len(prompt_tokens(server, ("user", QUESTION)))
    client = server.openai(key)
    if dialect == "chat":
        count = client.chat.completions.create(model=MODEL, messages=[USER], tools=[chat_tool(WEATHER)], tool_choice="none", max_tokens=1).usage.prompt_tokens
    elif dialect == "responses":
        count = client.responses.input_tokens.count(model=MODEL, input=QUESTION, tools=[responses_tool(WEATHER)], tool_choice="none").input_tokens
    else:
        count = server.anthropic(key).messages.count_tokens(model=MODEL, messages=[USER], tools=[messages_tool(WEATHER)], tool_choice={"type": "none"}).input_tokens
    assert count == wanted


HOSTED = [{"type": "web_search", "external_web_access": True}, {"type": "web_search_preview"}, {"type": "local_shell"}, {"type": "image_generation"},
          {"type": "tool_search", "execution": "client", "parameters": {"type": "object"}}, {"type": "code_interpreter", "container": {"type": "auto"}},
          {"type": "mcp", "server_label": "x", "server_url": "https://mcp.example"}, {"type": "file_search", "vector_store_ids": []},
          {"type": "a_kind_of_tomorrow", "name": 5}]


@pytest.mark.parametrize("tool", HOSTED, ids=lambda tool: tool["type"])
def test_tools_of_other_kinds_pass_and_are_not_shown(server, key, tool):
    wanted = len(prompt_tokens(server, ("user", QUESTION)))
    assert server.post("/v1/responses/input_tokens", {"input": QUESTION, "tools": [tool]}, key).json()["input_tokens"] == wanted
    with_one = len(prompt_tokens(server, ("system", block(TIME)), ("user", QUESTION)))
    both = {"input": QUESTION, "tools": [tool, responses_tool(TIME)], "max_output_tokens": 1, "store": False}
    reply = server.post("/v1/responses", both, key)
    assert reply.json()["usage"]["input_tokens"] == with_one and reply.json()["tools"] == both["tools"]
    chat = server.post("/v1/chat/completions", {"messages": [USER], "tools": [tool, chat_tool(TIME)], "max_tokens": 1}, key)
    assert chat.json()["usage"]["prompt_tokens"] == with_one


@pytest.mark.parametrize("tool", [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}, {"type": "bash_20250124", "name": "bash"},
                                  {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool"}, {"type": "tomorrow_20310101"}], ids=lambda tool: tool["type"])
def test_anthropics_own_tools_pass_and_are_not_shown(server, key, tool):
    body = {"messages": [USER], "tools": [tool, messages_tool(TIME)]}
    wanted = len(prompt_tokens(server, ("system", block(TIME)), ("user", QUESTION)))
    assert server.post("/v1/messages/count_tokens", body, key).json()["input_tokens"] == wanted
    assert server.post("/v1/messages", {**body, "max_tokens": 1}, key).json()["usage"]["input_tokens"] == wanted


def custom_function(name, description):
    return {"name": name, "description": description,
            "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}


def test_custom_tools_are_shown_as_functions_of_a_text(server, key):
    grammar = 'start: "a" | "b"'
    shown = custom_function("apply_patch", f"Patches files\n\nThe input must match this Lark grammar:\n{grammar}")
    wanted = len(prompt_tokens(server, ("system", block(shown, order=lambda schema: schema)), ("user", QUESTION)))
    tool = {"type": "custom", "name": "apply_patch", "description": "Patches files", "format": {"type": "grammar", "syntax": "lark", "definition": grammar}}
    assert server.post("/v1/responses/input_tokens", {"input": QUESTION, "tools": [tool]}, key).json()["input_tokens"] == wanted
    inner = {"name": "apply_patch", "description": "Patches files", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": grammar}}}
    chat = server.post("/v1/chat/completions", {"messages": [USER], "tools": [{"type": "custom", "custom": inner}], "max_tokens": 1}, key)
    assert chat.json()["usage"]["prompt_tokens"] == wanted


def test_tools_of_a_namespace_are_shown_by_both_names(server, key):
    space = {"type": "namespace", "name": "multi_agent_v1", "description": "Agents", "tools": [responses_tool(TIME)]}
    wanted = len(prompt_tokens(server, ("system", block({**TIME, "name": "multi_agent_v1__get_time"})), ("user", QUESTION)))
    assert server.post("/v1/responses/input_tokens", {"input": QUESTION, "tools": [space]}, key).json()["input_tokens"] == wanted


def test_additional_tools_of_an_item_are_shown(server, key):
    item = {"type": "additional_tools", "role": "developer", "tools": [responses_tool(TIME)]}
    wanted = len(prompt_tokens(server, ("system", block(TIME)), ("user", QUESTION)))
    assert server.post("/v1/responses/input_tokens", {"input": [item, {"role": "user", "content": QUESTION}]}, key).json()["input_tokens"] == wanted


# A call and its result, of an earlier turn.

ARGUMENTS = {"city": "Bern", "days": 2}
CALL_TEXT = '<tool_call>\n{"name": "get_weather", "arguments": %s}\n</tool_call>'
RESULT = "Sunny, 20 degrees"


def turns(arguments, text=""):
    call = CALL_TEXT % arguments
    return [("system", block(WEATHER)), ("user", QUESTION), ("assistant", f"{text}\n{call}" if text else call),
            ("user", f"<tool_response>\n{RESULT}\n</tool_response>")]


def chat_turns(arguments, text):
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    return [USER, {"role": "assistant", "content": text, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_1", "content": RESULT}]


@pytest.mark.parametrize("text", ["", "Let me look."])
def test_a_call_and_its_result_come_back_in_the_models_form(server, key, text):
    arguments = json.dumps(ARGUMENTS, separators=(",", ":"))
    wanted = len(prompt_tokens(server, *turns(arguments, text)))
    client = server.openai(key)
    chat = client.chat.completions.create(model=MODEL, messages=chat_turns(arguments, text), tools=[chat_tool(WEATHER)], max_tokens=1)
    assert chat.usage.prompt_tokens == wanted
    items = [USER, *([{"role": "assistant", "content": text}] if text else []),
             {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather", "arguments": arguments, "status": "completed"},
             {"type": "function_call_output", "call_id": "call_1", "output": RESULT}]
    assert client.responses.input_tokens.count(model=MODEL, input=items, tools=[responses_tool(WEATHER)]).input_tokens == wanted
    blocks = [*([{"type": "text", "text": text}] if text else []), {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": ARGUMENTS}]
    for result in (RESULT, [{"type": "text", "text": RESULT}]):
        messages = [USER, {"role": "assistant", "content": blocks},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]}]
        assert server.anthropic(key).messages.count_tokens(model=MODEL, messages=messages, tools=[messages_tool(WEATHER)]).input_tokens == wanted


def test_failed_results_say_so(server, key):
    def count(**result):
        messages = [USER, {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", **result}]}]
        return server.anthropic(key).messages.count_tokens(model=MODEL, messages=messages).input_tokens

    assert count(content="No such city", is_error=True) == count(content="Error: No such city") > count(content="No such city", is_error=False)
    assert count(is_error=True) == count(content="Error") and count() == count(content="")


def test_results_of_one_turn_stand_together(server, key):
    calls = [{"id": f"call_{i}", "type": "function", "function": {"name": "get_time", "arguments": "{}"}} for i in range(2)]
    messages = [USER, {"role": "assistant", "content": None, "tool_calls": calls}, {"role": "tool", "tool_call_id": "call_0", "content": "1"},
                {"role": "tool", "tool_call_id": "call_1", "content": "2"}, {"role": "user", "content": "So?"}]
    call = '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>'
    wanted = prompt_tokens(server, ("user", QUESTION), ("assistant", f"{call}\n{call}"),
                           ("user", "<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response>"), ("user", "So?"))
    assert server.post("/v1/chat/completions", {"messages": messages, "max_tokens": 1}, key).json()["usage"]["prompt_tokens"] == len(wanted)


def test_ids_of_calls_never_reach_the_prompt(server, key):
    counts = set()
    for name in ("call_1", "call_" + "x" * 60, ""):
        text = json.dumps(chat_turns("{}", "")).replace("call_1", name)
        counts.add(server.post("/v1/chat/completions", {"messages": json.loads(text), "max_tokens": 1}, key).json()["usage"]["prompt_tokens"])
    assert len(counts) == 1


def test_a_reply_with_tools_at_hand_may_be_text(client, claude):
    chat = client.chat.completions.create(model=MODEL, messages=[USER], tools=[chat_tool(WEATHER)], max_tokens=5, temperature=0)
    assert chat.choices[0].message.content and chat.choices[0].message.tool_calls is None and chat.choices[0].finish_reason == "length"
    with client.chat.completions.stream(model=MODEL, messages=[USER], tools=[chat_tool(WEATHER)], max_tokens=5, temperature=0,
                                        stream_options={"include_usage": True}) as stream:
        with pytest.raises(openai.LengthFinishReasonError):  # the helper's way of telling a cut reply where tools may be parsed
            stream.get_final_completion()
    message = claude.messages.create(model=MODEL, messages=[USER], tools=[messages_tool(WEATHER)], max_tokens=5, extra_body={"temperature": 0})
    assert message.content[0].text == chat.choices[0].message.content


@anthropic.beta_tool
def look(city: str) -> str:
    """The weather at a place.

    Args:
        city: its name
    """
    return f"Sunny in {city}"


def test_a_tool_runners_tools_reach_the_prompt_after_its_fallback(claude):
    runner = claude.beta.messages.tool_runner(model=MODEL, messages=[USER], tools=[look], max_tokens=2)
    usage = runner.until_done().usage
    plain = claude.messages.count_tokens(model=MODEL, messages=[USER]).input_tokens
    whole = claude.messages.count_tokens(model=MODEL, messages=[USER], tools=[look.to_dict()]).input_tokens
    assert usage.input_tokens + usage.cache_read_input_tokens == whole > plain + 20
