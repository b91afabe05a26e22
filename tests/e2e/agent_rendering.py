"""What the prompts of the model that follows a script are, put together apart from the server: requests of three dialects
become one conversation, its tools are described in the system text, and the template of scripted_model.py is written down
in Python. Replies that come back are the tokens that they were generated as."""
import copy
import dataclasses
import json

from chat_prompts import encode
from gguf import GGUFReader

import scripted_model

BLOCK = ("# Tools\n\nYou may call one or more of these functions. Each is described by a JSON object within <tools></tools>:\n<tools>\n{}</tools>\n\n"
         "To call one, write a JSON object with its name and arguments within <tool_call></tool_call>:\n"
         '<tool_call>\n{{"name": <function-name>, "arguments": <args-json-object>}}\n</tool_call>')
BILLING = "x-anthropic-billing-header"


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


@dataclasses.dataclass
class Message:
    role: str
    text: str = ""
    calls: list = dataclasses.field(default_factory=list)  # (name, arguments as text)

    def value(self):
        """Equal for whatever way to write the same."""
        return self.role, self.text.strip(), [(name, compact(json.loads(arguments or "{}"))) for name, arguments in self.calls]


def joined(content, kind="text"):
    """A text, a list of parts of text, or nothing."""
    return content if isinstance(content, str) else "".join(part[kind] for part in content or [])


# The dialects.

def ordered(schema):
    """Members by name; properties in the order of `required`, then by name."""
    if isinstance(schema, list):
        return [ordered(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {name: ordered(schema[name]) for name in sorted(schema)}
    if isinstance(schema.get("properties"), dict):
        first = [name for name in schema.get("required", []) if name in schema["properties"]]
        names = [*first, *sorted(set(schema["properties"]) - set(first))]
        out["properties"] = {name: ordered(schema["properties"][name]) for name in names}
    return out


def _function(tool, parameters):
    return {"name": tool["name"], "description": tool.get("description"), "parameters": ordered(tool.get(parameters))}


def of_chat(body):
    messages = []
    for item in body["messages"]:
        role = {"developer": "system"}.get(item["role"], item["role"])
        calls = [(call["function"]["name"], call["function"]["arguments"]) for call in item.get("tool_calls") or []]
        messages.append(Message(role, joined(item.get("content")), calls))
    return messages, [_function(tool["function"], "parameters") for tool in body.get("tools", []) if tool["type"] == "function"]


def of_messages(body):
    system = joined("" if "system" not in body else [part for part in body["system"] if not part["text"].startswith(BILLING)]
                    if isinstance(body["system"], list) else body["system"])
    messages = [Message("system", system)] if system else []
    for item in body["messages"]:
        blocks = [{"type": "text", "text": item["content"]}] if isinstance(item["content"], str) else item["content"]
        results = [Message("tool", joined(block.get("content"))) for block in blocks if block["type"] == "tool_result"]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        calls = [(block["name"], compact(block["input"])) for block in blocks if block["type"] == "tool_use"]
        messages += results
        if not results or text:
            messages.append(Message(item["role"], text, calls))
    return messages, [_function(tool, "input_schema") for tool in body.get("tools", [])]


def _responses_tools(tools, space=""):
    """Those that can be called here."""
    for tool in tools:
        if tool["type"] == "namespace":
            yield from _responses_tools(tool["tools"], f"{tool['name']}__")
        elif tool["type"] in ("function", "custom"):
            yield {**_responses_tool(tool), "name": space + tool["name"]}


def _responses_tool(tool):
    if tool["type"] == "function":
        return _function(tool, "parameters")
    grammar = tool.get("format", {})
    text = tool["description"] + (f"\n\nThe input must match this Lark grammar:\n{grammar['definition']}" if grammar.get("type") == "grammar" else "")
    return {"name": tool["name"], "description": text,
            "parameters": {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}}


def of_responses(body):
    messages = [Message("system", body["instructions"])] if body.get("instructions") else []
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    for item in items:
        kind = item.get("type", "message")
        if kind == "message":
            messages.append(Message({"developer": "system"}.get(item["role"], item["role"]), joined(item["content"])))
        elif kind.endswith("_output"):
            messages.append(Message("tool", joined(item["output"])))
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item["arguments"] if kind == "function_call" else compact({"input": item["input"]})
            if messages[-1].role != "assistant":
                messages.append(Message("assistant"))
            messages[-1].calls.append((item["name"], arguments))
    return messages, list(_responses_tools(body.get("tools", [])))


DIALECTS = {"/v1/chat/completions": of_chat, "/v1/messages": of_messages, "/v1/responses": of_responses}


# The description of tools, and what the template makes of it all.

def _tool_line(tool):
    return compact({"type": "function", "function": {name: value for name, value in tool.items() if value not in (None, "")}}) + "\n"


def with_tools(messages, tools):
    """The conversation as the template, which knows no tools, is given it."""
    out = []
    for before, message in zip([None, *messages], messages):
        if message.role == "tool":
            text = f"<tool_response>\n{message.text}\n</tool_response>"
            if before is not None and before.role == "tool":
                out[-1] = ("user", f"{out[-1][1]}\n{text}")
            else:
                out.append(("user", text))
            continue
        calls = [f'<tool_call>\n{{"name": "{name}", "arguments": {arguments or "{}"}}}\n</tool_call>' for name, arguments in message.calls]
        out.append((message.role, "\n".join([message.text] * bool(message.text or not calls) + calls)))
    if tools:
        block = BLOCK.format("".join(_tool_line(tool) for tool in sorted(tools, key=lambda tool: tool["name"])))
        if out[0][0] == "system":
            out[0] = ("system", f"{out[0][1]}\n\n{block}" if out[0][1] else block)
        else:
            out.insert(0, ("system", block))
    return out


@dataclasses.dataclass
class Generated:
    """A reply, by the prompt that it followed."""

    prompt: list
    tokens: list  # with the end

    @property
    def computed(self):
        """The last token was drawn, but nothing was computed of it."""
        return self.prompt + self.tokens[:-1]


class Rendering:
    """The tokens of one caller's conversations."""

    def __init__(self, server, model):
        spellings = GGUFReader(model).fields["tokenizer.ggml.tokens"].contents()
        self.ids = {spelling: number for number, spelling in enumerate(spellings)}
        self.server, self.replies, self._encoded = server, [], {}

    def of_another_caller(self):
        other = copy.copy(self)
        other.replies = []
        return other

    def encode(self, text):
        if text not in self._encoded:
            self._encoded[text] = encode(self.server, text)
        return self._encoded[text]

    def _turn(self, role, *contents):
        """A message's tokens: after its role each content, and in front of each but the first a control token."""
        tokens = [self.ids["<|im_start|>"]]
        text = f"{role}\n"
        for content in contents:
            if isinstance(content, str):
                text += content
            else:
                tokens += [*self.encode(text), *content] if text else content
                text = ""
        return tokens + (self.encode(text) if text else [])

    def prompt(self, path, body):
        """(tokens, the cue that opens the reply)."""
        messages, tools = DIALECTS[path](body)
        turns = with_tools(messages, tools if body.get("tool_choice") not in ("none", {"type": "none"}) else [])
        system = turns[0][1] if turns[0][0] == "system" else ""
        values = iter([message.value() for message in messages if message.role == "assistant"])
        tokens = []
        for number, (role, text) in enumerate(turns):
            if role == "assistant" and number > 0:
                opened = tokens + self._turn(role, [self.ids[scripted_model.cue(turns[number - 1][1], system)]])
                tokens = opened + self._reply(opened, next(values), text)
            else:
                if role == "assistant":
                    next(values)
                tokens += self._turn(role, text)
            tokens += [self.ids[scripted_model.END], *self.encode("\n")]
        cue = scripted_model.cue(turns[-1][1], system)
        return tokens + self._turn("assistant", [self.ids[cue]]), cue

    def _reply(self, opened, value, text):
        for reply in self.replies:
            if reply["prompt"] == opened and reply["value"] == value:
                return reply["tokens"][:-1]
        return self.encode(text) if text else []

    def keep(self, prompt, cue, reply):
        """Remembers what the model generated after a prompt that `cue` ended, and what the client was told of it."""
        tokens = [self.ids[spelling] for spelling in scripted_model.script(cue)]
        self.replies.append({"prompt": prompt, "value": reply.value(), "tokens": tokens})
        return Generated(prompt, tokens)
