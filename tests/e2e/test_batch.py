"""folio batch: the OpenAI batch format on the default model, and what a killed or interrupted run leaves."""

import json
import os
import signal
import subprocess
import time

import pytest
from cli_checks import refused

STORY = "You are a helpful assistant who answers in one short sentence. " * 12


def chat(custom_id, content, system=None, **fields):
    messages = [{"role": "system", "content": system}] if system else []
    body = {"model": "default", "messages": [*messages, {"role": "user", "content": content}], "temperature": 0,
            "max_tokens": 12, **fields}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def completion(custom_id, prompt, **fields):
    body = {"model": "default", "prompt": prompt, "temperature": 0, "max_tokens": 12, **fields}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/completions", "body": body}


class Batch:
    """A batch's two files, and the command on them."""

    def __init__(self, folio, model, folder):
        self.folio, self.model = folio, model
        self.input, self.output = folder / "in.jsonl", folder / "out.jsonl"

    def write(self, *lines):
        texts = [json.dumps(line) if isinstance(line, dict) else line for line in lines]
        self.input.write_bytes(b"".join((text.encode() if isinstance(text, str) else text) + b"\n" for text in texts))

    def args(self, *more):
        return ["batch", self.input, "--out", self.output, self.model, *more]

    def run(self, *more):
        outcome = self.folio(*self.args("--json", *more))
        assert outcome.code == 0, outcome.err
        assert outcome.err == ""
        return outcome.json()

    def records(self):
        return [json.loads(line) for line in self.output.read_text().splitlines()]

    def bodies(self):
        """What was answered, by custom_id, without what differs from run to run."""
        found = {}
        for record in self.records():
            if record["response"] and record["response"]["status_code"] == 200:
                assert record["custom_id"] not in found and record["error"] is None
                body = record["response"]["body"]
                body.pop("created")
                body["usage"].pop("prompt_tokens_details")
                found[record["custom_id"]] = body
        return found

    def start(self):
        return subprocess.Popen([self.folio.binary, *map(str, self.args())], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env=os.environ)

    def wait_for_records(self, process, count):
        end = time.monotonic() + 60
        while not self.output.exists() or self.output.read_bytes().count(b"\n") < count:
            assert process.poll() is None and time.monotonic() < end, "it ended too soon or too late"
            time.sleep(0.005)


@pytest.fixture
def batch(folio, smollm2, tmp_path):
    return Batch(folio, smollm2, tmp_path)


def test_replies_are_those_of_single_runs(batch, folio, smollm2):
    questions = ["What is the capital of France?", "Name a colour.", "Why is the sky blue?"]
    beginnings = ["The sea is", "Once upon a time", "1 2 3"]
    batch.write(*[chat(f"chat {i}", text) for i, text in enumerate(questions)],
                *[completion(f"text {i}", text) for i, text in enumerate(beginnings)])
    totals = batch.run()
    assert totals["requests"] == totals["answered"] == 6 and totals["failed"] == totals["answered_before"] == 0
    bodies = batch.bodies()
    sums = {"prompt_tokens": 0, "completion_tokens": 0}
    for i in range(3):
        for kind, args in (("chat", ["--chat", "--prompt", questions[i]]), ("text", ["--prompt", beginnings[i]])):
            single = folio("run", smollm2, *args, "--temperature", "0", "--max-tokens", "12", "--json").json()
            body = bodies[f"{kind} {i}"]
            choice = body["choices"][0]
            text = choice["message"]["content"] if kind == "chat" else choice["text"]
            assert (text, choice["finish_reason"]) == (single["text"], single["finish_reason"])
            for name in sums:
                assert body["usage"][name] == single[name]
                sums[name] += single[name]
            assert body["object"] == ("chat.completion" if kind == "chat" else "text_completion")
            assert body["model"] == smollm2.stem and choice["index"] == 0
    assert {name: totals[name] for name in sums} == sums
    assert totals["seconds"] > 0 and totals["model"] == smollm2.stem


def test_records_have_openais_form(batch):
    batch.write(chat("a", "Hi"), completion("b", "Hi"))
    batch.run()
    for record in batch.records():
        assert list(record) == ["id", "custom_id", "response", "error"]
        assert record["id"].startswith("batch_req_") and record["error"] is None
        assert list(record["response"]) == ["status_code", "request_id", "body"]
        assert record["response"]["status_code"] == 200
    assert len({record["id"] for record in batch.records()}) == 2


def test_a_shared_prefix_is_computed_once(batch):
    batch.write(*[chat(f"{i}", f"Say {i}.", system=STORY, max_tokens=2) for i in range(6)])
    totals = batch.run()
    usages = [record["response"]["body"]["usage"] for record in batch.records()]
    cached = sorted(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
    shared = 12 * 11  # tokens of the story, at the least
    assert cached[0] <= 16 and cached[1] >= shared, cached
    assert totals["cached_tokens"] == sum(cached)
    batch.output.unlink()
    assert batch.run("--no-prefix-cache")["cached_tokens"] == 0


def test_choices_prompts_and_logprobs(batch):
    batch.write(chat("chat", "Name a colour.", n=3, temperature=1.5, logprobs=True, top_logprobs=2),
                completion("text", ["The sea is", "The sky is"], n=2, logprobs=1),
                completion("ids", [[1, 2, 3]], max_tokens=1))
    batch.run()
    bodies = batch.bodies()
    choices = bodies["chat"]["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2]
    assert len({choice["message"]["content"] for choice in choices}) > 1
    for choice in choices:
        content = choice["logprobs"]["content"]
        assert b"".join(bytes(entry["bytes"]) for entry in content).decode() == choice["message"]["content"]
        assert all(len(entry["top_logprobs"]) == 2 and entry["logprob"] <= 0 for entry in content)
    choices = bodies["text"]["choices"]
    assert [choice["index"] for choice in choices] == [0, 1, 2, 3]
    assert choices[0]["text"] == choices[1]["text"] and choices[2]["text"] == choices[3]["text"]
    for choice in choices:
        logprobs = choice["logprobs"]
        assert "".join(logprobs["tokens"]) == choice["text"]
        assert {len(logprobs[name]) for name in logprobs} == {len(logprobs["tokens"])}
        assert [choice["text"][offset:].startswith(token) for offset, token in zip(logprobs["text_offset"], logprobs["tokens"])]
    assert bodies["ids"]["usage"]["prompt_tokens"] == 3 and bodies["ids"]["usage"]["completion_tokens"] == 1


def test_a_bad_line_stops_nothing(batch):
    good = [chat("good 1", "Hi"), completion("good 2", "Hi")]
    batch.write(
        good[0], "{broken", "[]", b'{"custom_id":"\xff"}', "[" * 200_000,
        {"method": "POST", "url": "/v1/completions", "body": {}}, {**good[0], "custom_id": "url", "url": "/v1/embeddings"},
        chat("good 1", "again"), chat("type", 5), chat("range", "Hi", temperature=-1), chat("stream", "Hi", stream=True),
        chat("image", [{"type": "image_url", "image_url": {"url": "x"}}]), chat("forced", "Hi", tool_choice="required", tools=[{"type": "function", "function": {"name": "f"}}]),
        chat("schema", "Hi", response_format={"type": "json_schema", "json_schema": {"schema": {"type": "nope"}}}), completion("empty", []),
        completion("ids", [1, 10**6]), completion("long", "word " * 20_000), "", "   ", good[1])
    totals = batch.run()
    assert (totals["requests"], totals["answered"], totals["failed"]) == (18, 2, 16)
    assert set(batch.bodies()) == {"good 1", "good 2"}
    lines = [record["error"] for record in batch.records() if record["error"]]
    for number, code in ((2, "invalid_json"), (3, "invalid_request"), (4, "invalid_json"), (5, "invalid_json"),
                         (6, "invalid_request"), (7, "invalid_request"), (8, "duplicate_custom_id")):
        assert [error["code"] for error in lines if error["message"].startswith(f"line {number}: ")] == [code], lines
    refusals = {record["custom_id"]: record["response"] for record in batch.records()
                if record["response"] and record["response"]["status_code"] == 400}
    for custom_id, param in (("type", "messages[0].content"), ("range", "temperature"), ("stream", "stream"),
                             ("image", "messages[0].content[0].type"), ("forced", "tool_choice"),
                             ("schema", "response_format"), ("empty", "prompt")):
        error = refusals[custom_id]["body"]["error"]
        assert error["param"] == param and error["message"].startswith(f"{param}: ")
        assert error["type"] == "invalid_request_error"
    assert "1000000" in refusals["ids"]["body"]["error"]["message"]
    assert "long" in refusals


def test_failures_are_tried_again_and_answers_are_not(batch):
    batch.write(completion("a", "Hi"), "{broken", completion("long", "word " * 300))
    first = batch.run("--context", "256")
    assert (first["answered"], first["failed"]) == (1, 2)
    answer = batch.output.read_text().splitlines()[[r["custom_id"] for r in batch.records()].index("a")]
    second = batch.run()
    assert (second["answered_before"], second["answered"], second["failed"]) == (1, 1, 1)
    assert len(batch.records()) == 3 and batch.output.read_text().splitlines()[0] == answer
    assert set(batch.bodies()) == {"a", "long"}
    batch.write(completion("a", "Hi"))
    refused(batch.folio(*batch.args()), 3, "out.jsonl", "answers no request")


def test_a_killed_run_goes_on_where_it_was(batch):
    lines = [completion(f"{i}", f"Story number {i}:", temperature=1, max_tokens=24 + i % 7) for i in range(40)]
    batch.write(*lines)
    batch.run()
    whole = batch.bodies()
    batch.output.unlink()
    for wanted in (3, 12):
        process = batch.start()
        batch.wait_for_records(process, wanted)
        process.kill()
        process.wait()
        done = batch.output.read_bytes()
        assert done.count(b"\n") >= wanted
        with open(batch.output, "ab") as file:
            file.write(b'{"id":"batch_req_12')  # as if it had been killed inside a write
    done = done[: done.rindex(b"\n") + 1]
    totals = batch.run()
    assert totals["answered_before"] == done.count(b"\n") and totals["answered"] == 40 - done.count(b"\n")
    assert batch.output.read_bytes().startswith(done)
    assert batch.bodies() == whole
    again = batch.run()
    assert (again["answered_before"], again["answered"], again["completion_tokens"]) == (40, 0, 0)
    assert batch.bodies() == whole


def test_an_interrupted_run_ends_cleanly(batch):
    batch.write(*[completion(f"{i}", f"Story number {i}:", max_tokens=60) for i in range(60)])
    process = batch.start()
    batch.wait_for_records(process, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    done = len(batch.records())
    assert process.returncode == 1 and out == ""
    assert err.startswith("folio: error: batch: interrupted: ") and err.count("\n") == 1 and f"{done} of 60" in err
    assert len(batch.bodies()) == done < 60
    assert batch.run()["answered_before"] == done and len(batch.bodies()) == 60


def test_seeds_are_of_the_line_unless_given(batch):
    def texts():
        return {key: body["choices"][0]["text"] for key, body in batch.bodies().items()}

    batch.write(*[completion(f"{i}", "The", temperature=2, max_tokens=16) for i in range(3)],
                *[completion(f"seed {i}", "The", temperature=2, max_tokens=16, seed=7) for i in range(2)])
    batch.run()
    first = texts()
    assert first["0"] != first["1"] != first["2"] and first["seed 0"] == first["seed 1"]
    batch.output.unlink()
    batch.run("--max-requests", "1", "--threads", "1")
    assert texts() == first


def test_the_summary_is_one_line(batch):
    batch.write(completion("a", "Hi", max_tokens=3), "{broken")
    outcome = batch.folio(*batch.args())
    assert outcome.code == 0 and outcome.out == "" and outcome.err.count("\n") == 1
    for words in ("2 requests", "0 answered before", "1 now", "1 failed", "3 generated"):
        assert words in outcome.err


def test_a_huge_line_costs_no_memory(batch):
    def peak_kib():
        process = subprocess.Popen([batch.folio.binary, *map(str, batch.args("--json"))], stdout=subprocess.DEVNULL, env=os.environ)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        return usage.ru_maxrss

    small = completion("a", "Hi", max_tokens=2)
    batch.write(small)
    usual = peak_kib()
    batch.output.unlink()
    with open(batch.input, "w", encoding="utf-8") as file:  # in pieces: a child's peak counts its parent's
        file.write('{"custom_id":"huge","body":"')
        for _ in range(512):
            file.write("x" * (1 << 20))
        file.write('"}\n' + json.dumps(small) + "\n")
    assert peak_kib() < usual + (96 << 10)
    assert {record["error"] and record["error"]["code"] for record in batch.records()} == {None, "line_too_long"}


def test_files_that_are_not_a_batchs_stay_as_they_are(batch, tmp_path):
    batch.write(completion("a", "Hi"))
    batch.output.write_text("precious\n")
    refused(batch.folio(*batch.args()), 3, "out.jsonl", "line 1", "--out")
    assert batch.output.read_text() == "precious\n"
    batch.output.unlink()
    refused(batch.folio("batch", tmp_path / "none.jsonl", "--out", batch.output, batch.model), 3, "none.jsonl")
    assert not batch.output.exists()
    refused(batch.folio("batch", batch.input, "--out", tmp_path / "no" / "out.jsonl", batch.model), 1, "out.jsonl")
    refused(batch.folio("batch", batch.input, "--out", tmp_path, batch.model), 1, str(tmp_path))
    refused(batch.folio("batch", batch.input, batch.model), 2, "--out")
    refused(batch.folio("batch", "--out", batch.output), 2, "IN")
