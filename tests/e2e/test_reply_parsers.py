"""What a chat template renders of an assistant's calls is read back as those calls: the template is what a family's model
learned to write."""
import json
import os
import re
import subprocess

import pytest
from llama_sources import llama_cpp_folder  # noqa: F401 (fixture)
from text_driver import ask, driver_path

SYNTAXES = {
    "hermes": ["Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "Qwen-QwQ-32B", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use",
               "NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "ibm-granite-granite-4.0", "ibm-granite-granite-4.1", "MiMo-VL",
               "Bielik-11B-v3.0-Instruct", "Reka-Edge"],
    "qwen-xml": ["Qwen3-Coder", "Qwen3.5-4B", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "StepFun3.5-Flash"],
    "llama3": ["meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.2-3B-Instruct", "meta-llama-Llama-3.3-70B-Instruct"],
    "mistral": ["mistralai-Mistral-Nemo-Instruct-2407", "Mistral-Small-3.2-24B-Instruct-2506", "unsloth-mistral-Devstral-Small-2507",
                "mistralai-Ministral-3-14B-Reasoning-2512"],
    "harmony": ["openai-gpt-oss-120b"],
    "deepseek": ["deepseek-ai-DeepSeek-V3.1", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"],
}
CASES = [(syntax, name) for syntax, names in SYNTAXES.items() for name in names]
ONE_CALL_ONLY = {"llama3", "harmony"}  # of these templates; the models write more

TOOL = {"name": "get_weather", "description": "The weather", "parameters": {"type": "object", "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}, "more": {"type": "object"}, "code": {"type": "string"}}}}
USER = {"role": "user", "content": "Hello"}
ARGUMENTS = [{"city": "Zürich", "days": 2, "more": {"a": [1, None, "</x>"]}}, {"code": "if a < b:\n  print(\"{}\")  # 東京"}]
CONTROL = re.compile(r"<\|[a-z_/]+\|>|</?(?:tool_call|think)>|<｜[^｜]+｜>|\[/?(?:TOOL_CALLS|ARGS|CALL_ID|THINK)\]")
ENDS = re.compile(r"(<\|im_end\|>|<\|eot_id\|>|<\|call\|>|<\|end_of_text\|>|<｜end▁of▁sentence｜>|<sep>|</s>|\s)*$")


def read(requests):
    path = driver_path().with_name("reply_driver")
    done = subprocess.run([path], input="".join(json.dumps(r) + "\n" for r in requests), text=True, capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def behind_prompt(prompt, rendered):
    """The prompt and the reply: where they part, but not inside of a tag that begins in both."""
    shared = os.path.commonprefix([prompt, rendered])
    if "<" in shared and ">" not in shared[shared.rindex("<"):]:
        shared = shared[:shared.rindex("<")]
    return shared, rendered[len(shared):]


def as_events(reply, controls):
    events, at = [], 0
    for mark in CONTROL.finditer(reply) if controls else []:
        events += [{"text": reply[at:mark.start()]}, {"control": mark.group()}]
        at = mark.end()
    return events + [{"text": reply[at:]}]


def calls_of(pieces):
    calls, arguments = [], ""
    for kind, text in pieces:
        if kind == "start":
            calls.append([text, None])
            arguments = ""
        elif kind == "arguments":
            arguments += text
        elif kind == "end":
            calls[-1][1] = json.loads(arguments)
    return calls


def joined(pieces, kind):
    return "".join(text for there, text in pieces if there == kind)


@pytest.mark.parametrize("syntax, name", CASES)
def test_rendered_calls_are_read_back(syntax, name, smollm2, llama_cpp_folder):  # noqa: F811
    source = (llama_cpp_folder / f"models/templates/{name}.jinja").read_text(encoding="utf-8")
    conversations = []
    for content in ("", "I'll look."):
        for arguments in [ARGUMENTS[:1], ARGUMENTS[1:]] + ([] if syntax in ONE_CALL_ONLY else [ARGUMENTS]):
            calls = [{"id": f"abcdef12{i}", "type": "function", "function": {"name": "get_weather", "arguments": a}}
                     for i, a in enumerate(arguments)]
            conversations.append((content, arguments, [USER, {"role": "assistant", "content": content, "tool_calls": calls}]))
    extra = {"tools": [{"type": "function", "function": TOOL}]}
    base = {"template": source, "extra": extra}
    rendered = ask("template", smollm2, [{**base, "messages": [USER], "generate": True}] + [
        {**base, "messages": messages, "generate": False} for _, _, messages in conversations])
    assert not any("error" in reply for reply in rendered), rendered
    requests, expected = [], []
    for (content, arguments, _), reply in zip(conversations, rendered[1:]):
        prompt, text = behind_prompt(rendered[0]["text"], reply["text"])
        text = ENDS.sub("", text)
        for controls in (False, True):
            requests.append({"template": source, "architecture": "llama", "tools": [TOOL], "prompt_end": prompt,
                             "controls": controls, "events": as_events(text, controls)})
            expected.append((content, arguments, text))
    for (content, arguments, text), reply in zip(expected, read(requests)):
        assert reply["syntax"] == syntax
        assert calls_of(reply["pieces"]) == [["get_weather", a] for a in arguments], (text, reply)
        # Some templates leave out what is said beside a call, or put it elsewhere.
        if content in text and syntax not in ("harmony", "deepseek"):
            assert joined(reply["pieces"], "text").strip() == content, (text, reply)
        assert joined(reply["pieces"], "reasoning") == (content if syntax == "harmony" else ""), (text, reply)


@pytest.mark.parametrize("name, architecture, syntax", [
    ("google-gemma-2-2b-it", "gemma2", "gemma"), ("ibm-granite-granite-3.3-2B-Instruct", "granite", "granite"),
    ("HuggingFaceTB-SmolLM3-3B", "smollm3", "hermes"), ("microsoft-Phi-3.5-mini-instruct", "phi3", "hermes"),
    ("llama-cpp-deepseek-r1", "deepseek2", "deepseek"), ("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "llama", "deepseek")])
def test_syntax_is_the_templates(name, architecture, syntax, llama_cpp_folder):  # noqa: F811
    source = (llama_cpp_folder / f"models/templates/{name}.jinja").read_text(encoding="utf-8")
    reply, = read([{"template": source, "architecture": architecture, "tools": [], "prompt_end": "", "controls": False,
                    "events": []}])
    assert reply == {"syntax": syntax, "pieces": []}
