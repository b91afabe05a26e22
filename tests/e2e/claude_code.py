"""What Claude Code sends, as its traffic was described: a billing line with another hash each time in front, a long marked
system prompt, many tools, reminders between turns as messages of the system, counts and side requests; and what it does
when a stream stalls: it hangs up after 20 seconds without a byte."""
import http.client
import json
import uuid

import scripted_model
import traffic_shapes
from raw_http import request_bytes
from server import exchange
from traffic_replay import events

STALLED = 20  # seconds
PATH = "/v1/messages?beta=true"
MARK = {"type": "ephemeral"}
SYSTEM_CHARACTERS, TOOLS, TOOL_CHARACTERS = 74_000, 17, 1900
IDENTITY = "You are a coding agent that runs in a terminal."


def tool(name, number):
    text = traffic_shapes.text_of(f"tool {number}", TOOL_CHARACTERS)
    properties = {"command": {"type": "string", "description": text[:90]}, "timeout": {"type": "number", "description": text[90:150]}}
    return {"name": name, "description": text[150:],
            "input_schema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": properties,
                             "required": ["command"], "additionalProperties": False}}


def tools_of(count):
    names = ["Task", "Bash", "Glob", "Grep", "Read", "Edit", "Write", "NotebookEdit", "WebFetch", "TodoWrite", "WebSearch", "BashOutput", "KillShell", "Skill",
             "SlashCommand", "ExitPlanMode", "AskUserQuestion"]
    return [tool(name, number) for number, name in enumerate(names[:count])]


def marked(blocks):
    return [*blocks[:-1], {**blocks[-1], "cache_control": MARK}]


class ClaudeCode:
    """One session. Each request's body, and what came back, are in `turns`, of whatever kind it was."""

    def __init__(self, server, key, system=SYSTEM_CHARACTERS, tools=TOOLS, agent=None):
        self.server, self.key, self.agent = server, key, agent
        self.session = str(uuid.uuid4())
        self.prompt = traffic_shapes.text_of(f"system {system}", system)
        self.tools = tools_of(tools)
        self.messages, self.turns, self.requests, self.last_id = [], [], 0, None

    def _headers(self):
        names = {"anthropic-version": "2023-06-01", "x-app": "cli", "user-agent": "claude-cli/2.1.268 (external, cli)", "authorization": f"Bearer {self.key}",
                 "anthropic-beta": "claude-code-20250219,interleaved-thinking-2025-05-14,cache-diagnosis-2026-04-07"}
        return {**names, "x-claude-code-agent-id": self.agent, "x-claude-code-parent-agent-id": "main"} if self.agent else names

    def _common(self):
        self.requests += 1
        billing = f"x-anthropic-billing-header: cc_version=2.1.268.{self.requests:03x}; cc_entrypoint=cli; cch={uuid.uuid4().hex[:5]};"
        return {"model": "claude-opus-5", "metadata": {"user_id": json.dumps({"device_id": "d", "account_uuid": "", "session_id": self.session})},
                "system": [{"type": "text", "text": billing}]}

    def body(self):
        common = self._common()
        system = [*common["system"], *marked([{"type": "text", "text": IDENTITY}]), *marked([{"type": "text", "text": self.prompt}])]
        messages = [dict(message) for message in self.messages]
        last = next(message for message in reversed(messages) if message["role"] == "user")
        last["content"] = marked(last["content"])
        return {**common, "system": system, "tools": self.tools, "messages": messages, "max_tokens": 32000, "stream": True,
                "thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"},
                "diagnostics": {"previous_message_id": self.last_id}}

    def _send(self, path, body):
        reply = exchange(http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=STALLED), "POST", path, body, self._headers())
        assert reply.status == 200, reply.body
        return events(reply)

    def _turn(self, body):
        """Sends the conversation; gives the reply's blocks and its place in `turns`."""
        stream = self._send(PATH, body)
        start = stream[0]["message"]
        usage = {**start["usage"], **next(event["usage"] for event in stream if event["type"] == "message_delta")}
        blocks = [event["content_block"] for event in stream if event["type"] == "content_block_start"]
        inputs = [""] * len(blocks)
        for event in stream:
            if event["type"] == "content_block_delta":
                delta = event["delta"]
                inputs[event["index"]] += delta.get("partial_json", "")
                blocks[event["index"]]["text"] = blocks[event["index"]].get("text", "") + delta.get("text", "")
        for block, text in zip(blocks, inputs):
            if block["type"] == "tool_use":
                del block["text"]
                block["input"] = json.loads(text)
        self.last_id = start["id"]
        self.turns.append({"body": body, "blocks": blocks, "usage": usage, "diagnostics": start["diagnostics"], "kinds": [event["type"] for event in stream]})
        return blocks

    def ask(self, text, reminder=""):
        """A question, with what its tools tell; gives the last reply's text. A reminder goes behind it as a message of the system."""
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        if reminder:
            self.messages.append({"role": "system", "content": reminder})
        while True:
            blocks = self._turn(self.body())
            self.messages.append({"role": "assistant", "content": blocks})
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if not calls:
                return "".join(block["text"] for block in blocks)
            self.messages.append({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call["id"], "content": [{"type": "text", "text": scripted_model.WORD}]} for call in calls]})

    def count_tokens(self):
        """Of the conversation as it is now."""
        body = self.body()
        return self._send("/v1/messages/count_tokens?beta=true", {name: body[name] for name in ("model", "system", "tools", "messages", "thinking")})[0]["input_tokens"]

    def title(self, text):
        """A side request: of another model, without tools, with a small prompt of its own."""
        body = {**self._common(), "model": "claude-haiku-4-5-20251001", "max_tokens": 512, "temperature": 1, "stream": True,
                "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}], "tools": [], "diagnostics": {"previous_message_id": None}}
        body["system"].append({"type": "text", "text": traffic_shapes.text_of("title", 2100)})
        saved = self.last_id
        blocks = self._turn(body)
        self.last_id = saved
        return blocks[0]["text"]

    def wire_request(self):
        """The conversation as bytes, for who reads the stream byte by byte."""
        return request_bytes("POST", PATH, json.dumps(self.body()).encode(), *(f"{name}: {value}" for name, value in self._headers().items()))
