"""A captured session played again against a server: requests go out as they were, but for the replies in them, which are
those that the server itself gave, written as that client writes them; and what names a call names the server's."""
import dataclasses
import json
import re

import scripted_model
from agent_rendering import Message

MODEL_FIELD = "x-folio-cache"


@dataclasses.dataclass
class Answer:
    """What a client is told."""

    text: str = ""
    calls: list = dataclasses.field(default_factory=list)  # (id, name, arguments)
    usage: tuple = None  # (prompt tokens, cached tokens), where they are told
    arrival: tuple = None  # the same when the request arrived

    def message(self):
        return Message("assistant", self.text, [(name, arguments) for _, name, arguments in self.calls])


def events(reply):
    """The JSON of a stream's events, or the one document."""
    if not reply.headers["content-type"].startswith("text/event-stream"):
        return [reply.json()]
    lines = [line.removeprefix(b"data: ") for line in reply.body.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def _chat_answer(documents):
    answer, calls = Answer(), {}
    for document in documents:
        for choice in document["choices"]:
            piece = choice.get("delta", choice.get("message"))
            answer.text += piece.get("content") or ""
            for index, call in enumerate(piece.get("tool_calls") or []):
                known = calls.setdefault(call.get("index", index), ["", "", ""])
                known[0] += call.get("id") or ""
                known[1] += call["function"].get("name") or ""
                known[2] += call["function"].get("arguments") or ""
        if usage := document.get("usage"):
            answer.usage = usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
    answer.calls = [tuple(call) for call in calls.values()]
    return answer


def _messages_answer(documents):
    answer = Answer()
    for document in documents:
        if document["type"] == "message":
            answer.text = "".join(block["text"] for block in document["content"] if block["type"] == "text")
            answer.calls = [(block["id"], block["name"], json.dumps(block["input"])) for block in document["content"] if block["type"] == "tool_use"]
        elif document["type"] == "content_block_start" and document["content_block"]["type"] == "tool_use":
            answer.calls.append((document["content_block"]["id"], document["content_block"]["name"], ""))
        elif document["type"] == "content_block_delta":
            answer.text += document["delta"].get("text", "")
            if "partial_json" in document["delta"]:
                name, of, arguments = answer.calls[-1]
                answer.calls[-1] = name, of, arguments + document["delta"]["partial_json"]
        usage = document.get("message", document).get("usage")
        if usage and "cache_read_input_tokens" in usage:
            parts = [usage[f"{part}_tokens"] for part in ("input", "cache_creation_input", "cache_read_input")]
            answer.usage = sum(parts), parts[2]
    return answer


def _responses_answer(documents):
    response = documents[-1].get("response", documents[-1])
    answer = Answer()
    for item in response["output"]:
        if item["type"] == "message":
            answer.text += "".join(part["text"] for part in item["content"])
        elif item["type"] == "function_call":
            answer.calls.append((item["call_id"], item["name"], item["arguments"]))
        elif item["type"] == "custom_tool_call":
            answer.calls.append((item["call_id"], item["name"], json.dumps({"input": item["input"]})))
    answer.usage = response["usage"]["input_tokens"], response["usage"]["input_tokens_details"]["cached_tokens"]
    return answer


ANSWERS = {"/v1/chat/completions": _chat_answer, "/v1/messages": _messages_answer, "/v1/responses": _responses_answer}


def ask(server, path, body, key, headers=None):
    """The answer to one request."""
    reply = server.post(path, body, key, **(headers or {}))
    assert reply.status == 200, reply.body
    answer = ANSWERS[path](events(reply))
    cached, prompt = re.match(r"cached=(\d+), prompt=(\d+)", reply.headers[MODEL_FIELD]).groups()
    answer.arrival = int(prompt), int(cached)
    return answer


def items_of(body):
    return body["input"] if "input" in body else body["messages"]


def without(value, names):
    if isinstance(value, dict):
        return {name: without(inner, names) for name, inner in value.items() if name not in names}
    return [without(inner, names) for inner in value] if isinstance(value, list) else value


def plain(items):
    """What makes two conversations begin alike."""
    return [without({**item, "content": [{"type": "text", "text": item["content"]}]} if isinstance(item.get("content"), str) else item,
                    {"cache_control", "id", "status"}) for item in items]


def is_reply(item):
    return item.get("role") == "assistant" or item.get("type") in ("reasoning", "function_call", "custom_tool_call")


def _arguments(answer, number, captured):
    """Of a call, as the client writes them: as they were, or anew."""
    arguments = answer.calls[number][2]
    return arguments if '": ' in captured else json.dumps(json.loads(arguments), separators=(",", ":"))


def _with_call(item, answer):
    name, arguments = answer.calls[0][1], answer.calls[0][2]
    if item["type"] == "custom_tool_call":
        return {**item, "call_id": answer.calls[0][0], "name": name, "input": json.loads(arguments)["input"]}
    return {**item, "call_id": answer.calls[0][0], "name": name, "arguments": _arguments(answer, 0, item["arguments"])}


def _with_answer(items, answer):
    """The items of a reply with another's text and call in them."""
    out = []
    for item in items:
        if item.get("type") == "reasoning":
            continue  # the model had none
        if item.get("type") in ("function_call", "custom_tool_call"):
            out.append(_with_call(item, answer))
        elif item.get("tool_calls"):
            [call] = item["tool_calls"]
            function = {"name": answer.calls[0][1], "arguments": _arguments(answer, 0, call["function"]["arguments"])}
            out.append({**item, "tool_calls": [{**call, "id": answer.calls[0][0], "function": function}]})
        elif isinstance(item["content"], str):
            out.append({**item, "content": answer.text})
        else:
            out.append({**item, "content": [_with_block(block, answer) for block in item["content"]]})
        out[-1].pop("reasoning_content", None)
    return out


def _with_block(block, answer):
    if block["type"] == "tool_use":
        name, of, arguments = answer.calls[0]
        return {**block, "id": name, "name": of, "input": json.loads(arguments)}
    return {**block, "text": answer.text}


def call_ids(items):
    """The names of calls in the items of a reply."""
    for item in items:
        if item.get("type") in ("function_call", "custom_tool_call"):
            yield item["call_id"]
        yield from (call["id"] for call in item.get("tool_calls") or [])
        if isinstance(item.get("content"), list):
            yield from (block["id"] for block in item["content"] if block["type"] == "tool_use")


def renamed(value, names):
    if isinstance(value, dict):
        return {name: renamed(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    return names.get(value, value) if isinstance(value, str) else value


class Replay:
    """One capture, request after request. Those whose reply is held by a schema or forced (`is_held`) go out with the
    captured replies: what the model says then is no part of its script."""

    def __init__(self, capture):
        self.requests = [{**request, "body": self._asking_for_calls(request, capture["requests"])} for request in capture["requests"]]
        self._answers = []  # (path, items before it, answer) of requests that were asked

    @staticmethod
    def _asking_for_calls(request, requests):
        """The body with a file's name at the end of what a user said, where the reply to it was a call."""
        asked = {}
        for other in requests:
            if other["mock_answer"].startswith("tool:") and not Replay.is_held(other):
                tool = other["mock_answer"].removeprefix("tool:")
                content = items_of(other["body"])[-1]["content"]
                text = content if isinstance(content, str) else content[-1]["text"]
                asked[text] = f"{text} {scripted_model.file_of(tool)}"
        body = dict(request["body"])
        name = "input" if "input" in body else "messages"
        body[name] = renamed(body[name], asked)
        return body

    @staticmethod
    def is_held(request):
        body = request["body"]
        return "response_format" in body or body.get("tool_choice") == "required"

    def body(self, request):
        """A request's body with the server's own replies in it."""
        items = items_of(request["body"])
        out, names, at = [], {}, 0
        while at < len(items):
            answer = next((answer for path, before, answer in self._answers if path == request["path"] and before == plain(items[:at])), None)
            end = at
            while end < len(items) and is_reply(items[end]):
                end += 1
            if answer is None or end == at:
                out.append(items[at])
                at += 1
                continue
            out += _with_answer(items[at:end], answer)
            names.update(zip(call_ids(items[at:end]), (call[0] for call in answer.calls)))
            at = end
        return {**request["body"], ("input" if "input" in request["body"] else "messages"): renamed(out, names)}

    def keep(self, request, answer):
        if not self.is_held(request):
            self._answers.append((request["path"], plain(items_of(request["body"])), answer))
