"""Calls of tools as both SDKs read them, in every dialect, whole and streamed, and the turns after: a model that follows a
script (scripted_model.py) calls a tool when it is asked for a file and answers when it gets the result."""
import json

import anthropic
import openai
import pytest
import scripted_model
from pydantic import BaseModel
from server import MODEL, Server, fresh_key

COMMAND = {"description": "Prints a file", "command": scripted_model.COMMAND}
ARGUMENTS = json.dumps(COMMAND)
USER = {"role": "user", "content": f"What does {scripted_model.FILE} hold?"}
SCHEMA = {"type": "object", "properties": {"description": {"type": "string"}, "command": {"type": "string"}}, "required": ["description", "command"]}
CHAT_TOOL = {"type": "function", "function": {"name": "bash", "description": "Runs a command", "parameters": SCHEMA}}
RESPONSES_TOOL = {"type": "function", "name": "bash", "description": "Runs a command", "parameters": SCHEMA, "strict": False}
MESSAGES_TOOL = {"name": "bash", "description": "Runs a command", "input_schema": SCHEMA}
CHAT = {"model": MODEL, "messages": [USER], "tools": [CHAT_TOOL], "temperature": 0, "max_tokens": 64}
RESPONSES = {"model": MODEL, "input": [USER], "tools": [RESPONSES_TOOL], "temperature": 0, "max_output_tokens": 64}
MESSAGES = {"model": MODEL, "messages": [USER], "tools": [MESSAGES_TOOL], "max_tokens": 64, "extra_body": {"temperature": 0}}
RESULT = scripted_model.WORD


@pytest.fixture(scope="module")
def scripted(folio, smollm2, tmp_path_factory):
    path = tmp_path_factory.mktemp("scripted") / "scripted.gguf"
    scripted_model.write(path, smollm2)
    running = Server(folio.binary, path, "--threads", 1, "--memory", "1GiB")
    try:
        yield running.wait()
    finally:
        running.stop()


@pytest.fixture
def gpt(scripted, key):
    return scripted.openai(key)


@pytest.fixture
def claude(scripted, key):
    return scripted.anthropic(key)


# Chat completions.

def test_a_chat_reply_calls(gpt):
    choice = gpt.chat.completions.create(**CHAT).choices[0]
    assert choice.finish_reason == "tool_calls" and choice.message.content is None and choice.message.role == "assistant"
    (call,) = choice.message.tool_calls
    assert (call.type, call.function.name, call.function.arguments) == ("function", "bash", ARGUMENTS) and call.id


def test_a_chat_stream_calls_piece_by_piece(gpt):
    with gpt.chat.completions.create(**CHAT, stream=True) as stream:
        choices = [chunk.choices[0] for chunk in stream]
    pieces = [piece for choice in choices for piece in choice.delta.tool_calls or []]
    assert (pieces[0].index, pieces[0].type, pieces[0].function.name) == (0, "function", "bash") and pieces[0].id
    assert not any(piece.id or piece.function.name for piece in pieces[1:]) and {piece.index for piece in pieces} == {0}
    assert "".join(piece.function.arguments or "" for piece in pieces) == ARGUMENTS
    assert choices[0].delta.role == "assistant" and choices[-1].finish_reason == "tool_calls" and not any(choice.delta.content for choice in choices)


def test_the_chat_helper_tells_the_call(gpt):
    with gpt.chat.completions.stream(**CHAT) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [(event.name, event.index, event.arguments) for event in done] == [("bash", 0, ARGUMENTS)]
    assert "".join(event.arguments_delta for event in events if event.type == "tool_calls.function.arguments.delta") == ARGUMENTS
    assert final.choices[0].message.tool_calls[0].function.arguments == ARGUMENTS and final.choices[0].finish_reason == "tool_calls"


class Shell(BaseModel):
    description: str
    command: str


def test_the_chat_parser_reads_arguments_into_a_model(gpt):
    tool = openai.pydantic_function_tool(Shell, name="bash")
    message = gpt.chat.completions.parse(**{**CHAT, "tools": [tool]}).choices[0].message
    assert message.tool_calls[0].function.parsed_arguments == Shell(**COMMAND)
    with gpt.chat.completions.stream(**{**CHAT, "tools": [tool]}) as stream:
        assert stream.get_final_completion().choices[0].message.tool_calls[0].function.parsed_arguments == Shell(**COMMAND)


def chat_turn(gpt, change=lambda arguments: arguments):
    """The first reply, and the one after its call's result."""
    first = gpt.chat.completions.create(**CHAT)
    call = first.choices[0].message.tool_calls[0]
    back = {"role": "assistant", "content": None, "tool_calls": [{"id": call.id, "type": "function", "function": {
        "name": call.function.name, "arguments": change(call.function.arguments)}}]}
    messages = [USER, back, {"role": "tool", "tool_call_id": call.id, "content": RESULT}]
    return first, gpt.chat.completions.create(**{**CHAT, "messages": messages})


@pytest.mark.parametrize("change", [lambda text: text, lambda text: json.dumps(json.loads(text), separators=(",", ":")), lambda text: json.dumps(json.loads(text), indent=1)],
                         ids=["verbatim", "compact", "indented"])
def test_a_chat_result_is_answered_and_the_call_found_in_the_cache(gpt, change):
    first, second = chat_turn(gpt, change)
    assert (second.choices[0].message.content, second.choices[0].finish_reason) == (scripted_model.AFTER_CALL, "stop")
    assert second.choices[0].message.tool_calls is None
    computed = first.usage.prompt_tokens + first.usage.completion_tokens - 1
    assert second.usage.prompt_tokens_details.cached_tokens == computed // 16 * 16


def test_a_cut_call_is_no_call(gpt):
    choice = gpt.chat.completions.create(**{**CHAT, "max_tokens": 1}).choices[0]
    assert choice.finish_reason == "length"
    message = gpt.chat.completions.create(**{**CHAT, "tool_choice": "none"}).choices[0].message
    assert message.content == scripted_model.PLAIN and message.tool_calls is None


# Responses.

def test_a_response_calls(gpt):
    reply = gpt.responses.create(**RESPONSES)
    (item,) = reply.output
    assert (item.type, item.name, item.arguments, item.status) == ("function_call", "bash", ARGUMENTS, "completed")
    assert item.call_id and item.id and item.id != item.call_id and reply.status == "completed" and reply.output_text == ""


def test_a_responses_stream_calls_in_order(gpt):
    with gpt.responses.create(**RESPONSES, stream=True) as stream:
        events = list(stream)
    kinds = [event.type.removeprefix("response.") for event in events]
    deltas = kinds.count("function_call_arguments.delta")
    assert kinds == ["created", "in_progress", "output_item.added", *["function_call_arguments.delta"] * deltas, "function_call_arguments.done", "output_item.done",
                     "completed"]
    added, done = events[2].item, events[-2].item
    assert (added.arguments, added.status, added.name, added.call_id) == ("", "in_progress", "bash", done.call_id)
    assert "".join(event.delta for event in events if event.type.endswith("arguments.delta")) == ARGUMENTS == events[-3].arguments == done.arguments
    assert events[-1].response.output == [done] and [event.sequence_number for event in events] == list(range(len(events)))


def test_the_responses_helper_and_parser_tell_the_call(gpt):
    with gpt.responses.stream(**RESPONSES) as stream:
        events = list(stream)
        final = stream.get_final_response()
    snapshots = [event.snapshot for event in events if event.type == "response.function_call_arguments.delta"]
    assert snapshots[-1] == ARGUMENTS == final.output[0].arguments
    parsed = gpt.responses.parse(**{**RESPONSES, "tools": [openai.pydantic_function_tool(Shell, name="bash")]})
    assert parsed.output[0].parsed_arguments == Shell(**COMMAND)


@pytest.mark.parametrize("stored", [False, True])
def test_a_responses_result_is_answered_and_the_call_found_in_the_cache(gpt, stored):
    first = gpt.responses.create(**RESPONSES, store=stored)
    result = {"type": "function_call_output", "call_id": first.output[0].call_id, "output": RESULT}
    given = {"input": [result], "previous_response_id": first.id} if stored else {"input": [USER, first.output[0].to_dict(), result]}
    second = gpt.responses.create(**{**RESPONSES, **given})
    assert second.output_text == scripted_model.AFTER_CALL and second.status == "completed"
    computed = first.usage.input_tokens + first.usage.output_tokens - 1
    assert second.usage.input_tokens_details.cached_tokens == computed // 16 * 16


def test_a_custom_tools_call_comes_back_in_its_own_shape(gpt):
    tool = {"type": "custom", "name": "bash", "description": "Runs a command"}
    item = gpt.responses.create(**{**RESPONSES, "tools": [tool]}).output[0]
    assert (item.type, item.name) == ("custom_tool_call", "bash") and item.call_id and scripted_model.COMMAND in item.input
    with gpt.responses.create(**{**RESPONSES, "tools": [tool]}, stream=True) as stream:
        events = list(stream)
    deltas = "".join(event.delta for event in events if event.type == "response.custom_tool_call_input.delta")
    assert deltas == item.input == events[-1].response.output[0].input
    call = gpt.chat.completions.create(**{**CHAT, "tools": [{"type": "custom", "custom": {"name": "bash"}}]}).choices[0].message.tool_calls[0]
    assert (call.type, call.custom.name) == ("custom", "bash") and scripted_model.COMMAND in call.custom.input


# Messages.

def test_a_message_calls(claude):
    reply = claude.messages.create(**MESSAGES)
    (block,) = reply.content
    assert (block.type, block.name, block.input, reply.stop_reason) == ("tool_use", "bash", COMMAND, "tool_use") and block.id


def test_a_messages_stream_calls_in_order(claude):
    with claude.messages.create(**MESSAGES, stream=True) as stream:
        events = list(stream)
    kinds = [event.type for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"] and kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    start = events[1].content_block
    assert (start.type, start.name, start.input) == ("tool_use", "bash", {}) and start.id
    deltas = [event.delta for event in events if event.type == "content_block_delta"]
    assert {delta.type for delta in deltas} == {"input_json_delta"} and json.loads("".join(delta.partial_json for delta in deltas)) == COMMAND
    assert events[-2].delta.stop_reason == "tool_use"


def test_the_messages_helper_tells_the_call(claude):
    with claude.messages.stream(**MESSAGES) as stream:
        events = list(stream)
        final = stream.get_final_message()
    assert [event.snapshot for event in events if event.type == "input_json"][-1] == COMMAND == final.content[0].input
    assert final.stop_reason == "tool_use"


@pytest.mark.parametrize("result", [RESULT, [{"type": "text", "text": RESULT}]], ids=["string", "blocks"])
def test_a_messages_result_is_answered_and_the_call_found_in_the_cache(claude, result):
    first = claude.messages.create(**MESSAGES)
    messages = [USER, {"role": "assistant", "content": [first.content[0].to_dict()]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": first.content[0].id, "content": result}]}]
    second = claude.messages.create(**{**MESSAGES, "messages": messages})
    assert (second.content[0].text, second.stop_reason) == (scripted_model.AFTER_CALL, "end_turn")
    computed = first.usage.input_tokens + first.usage.cache_read_input_tokens + first.usage.output_tokens - 1
    assert second.usage.cache_read_input_tokens == computed // 16 * 16


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_runner_runs_to_its_end(scripted, stream):
    """It begins with a message thread, is refused, and sends whole conversations from then on."""
    asked = []

    @anthropic.beta_tool
    def bash(description: str, command: str) -> str:
        """Runs a command.

        Args:
            description: what it does
            command: the command
        """
        asked.append((description, command))
        return RESULT

    claude = scripted.anthropic(fresh_key())
    runner = claude.beta.messages.tool_runner(model=MODEL, messages=[USER], tools=[bash], max_tokens=64, stream=stream)
    replies = []
    for reply in runner:
        replies.append(reply.get_final_message() if stream else reply)
    assert asked == [("Prints a file", scripted_model.COMMAND)]
    assert [reply.stop_reason for reply in replies] == ["tool_use", "end_turn"]
    assert replies[1].content[0].text == scripted_model.AFTER_CALL
    assert replies[1].usage.cache_read_input_tokens > replies[0].usage.input_tokens - 16  # the second turn goes on from the first


def test_one_call_is_one_prompt_in_every_dialect(gpt, claude):
    """Each dialect finds the prompt of the one before it."""
    chat = gpt.chat.completions.create(**CHAT).usage
    whole = min(chat.prompt_tokens // 16 * 16, chat.prompt_tokens - 1)
    assert gpt.responses.create(**RESPONSES).usage.input_tokens_details.cached_tokens == whole
    message = claude.messages.create(**MESSAGES).usage
    assert (message.cache_read_input_tokens, message.input_tokens) == (whole, chat.prompt_tokens - whole)
