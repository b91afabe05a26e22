"""Replies held to schemas and grammars: run, chat and batch on the default model."""

import json
import re

import pytest
from cli_checks import refused

CITY = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 30},
        "inhabitants": {"type": "integer", "minimum": 1, "maximum": 50_000_000},
        "river": {"anyOf": [{"type": "string", "maxLength": 20}, {"type": "null"}]},
        "kinds": {"type": "array", "items": {"enum": ["capital", "port", "resort"]}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "inhabitants", "river", "kinds"],
    "additionalProperties": False,
}
QUESTION = ["--chat", "--prompt", "Describe Paris as JSON.", "--max-tokens", "400"]


def check_city(text):
    city = json.loads(text)
    assert set(city) == set(CITY["required"])
    assert isinstance(city["name"], str) and len(city["name"]) <= 30
    assert isinstance(city["inhabitants"], int) and 1 <= city["inhabitants"] <= 50_000_000
    assert city["river"] is None or len(city["river"]) <= 20
    assert 1 <= len(city["kinds"]) <= 3 and set(city["kinds"]) <= {"capital", "port", "resort"}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "city.json"
    path.write_text(json.dumps(CITY))
    return path


def test_replies_fit_the_schema(folio, smollm2, schema):
    for args in (["--temperature", "0"], ["--seed", "1"], ["--seed", "2", "--temperature", "1.5"]):
        answer = folio("run", smollm2, *QUESTION, "--json-schema", schema, *args, "--json").json()
        assert answer["finish_reason"] == "stop"
        check_city(answer["text"])


def test_a_schema_leaves_log_probabilities_as_they_are(folio, smollm2, schema):
    """They are the model's own: the first token's best ones don't depend on what a grammar allows."""
    first = [folio("run", smollm2, *QUESTION[:3], "--max-tokens", "1", "--logprobs", "5", "--temperature", "0", "--json",
                   *more).json()["logprobs"][0] for more in ([], ["--json-schema", schema])]
    assert first[0]["top"] == first[1]["top"]
    assert first[1]["piece"].startswith("{")


def test_drafts_give_the_same_reply(folio, smollm2, schema):
    replies = [folio("run", smollm2, *QUESTION, "--json-schema", schema, "--seed", "3", "--max-draft-tokens", drafts, "--json").json()
               for drafts in ("0", "15")]
    assert replies[0]["tokens"] == replies[1]["tokens"]


def test_a_grammar_is_kept_to(folio, smollm2, tmp_path):
    path = tmp_path / "answer.lark"
    path.write_text('start: ("yes" | "no") ", " /[a-z ]{3,20}/ "."\n')
    answer = folio("run", smollm2, "--chat", "--prompt", "Is Paris a city?", "--grammar", path, "--temperature", "0")
    assert re.fullmatch(r"(yes|no), [a-z ]{3,20}\.\n?", answer.out), answer.out
    outcome = folio("chat", smollm2, "--grammar", path, stdin="Is Paris a city?\n")
    assert outcome.code == 0 and re.search(r"(yes|no), [a-z ]{3,20}\.", outcome.out), outcome.out


def test_what_cannot_be_used_is_one_line(folio, smollm2, tmp_path, schema):
    bad = tmp_path / "bad"
    for option, text, why in (("--json-schema", "{", "no JSON"), ("--json-schema", '{"$ref": "http://a/b"}', "$ref"),
                              ("--json-schema", json.dumps({"enum": ["x" * 70_000]}), "65536"),
                              ("--json-schema", '{"type": "string", "uniqueItems": true, "not": {}}', "not"),
                              ("--grammar", "start: nothing", "nothing")):
        bad.write_text(text)
        for command in (["run", smollm2, "--prompt", "x"], ["chat", smollm2]):
            refused(folio(*command, option, bad), 3, str(bad), why)
    refused(folio("run", smollm2, "--prompt", "x", "--grammar", tmp_path / "none"), 3, "none")
    refused(folio("run", smollm2, "--prompt", "x", "--grammar", bad, "--json-schema", schema), 2, "--json-schema")


def test_a_batch_keeps_to_formats(folio, smollm2, tmp_path):
    def line(name, **format):
        body = {"messages": [{"role": "user", "content": "Describe Paris as JSON."}], "max_tokens": 400, "seed": 5,
                "response_format": format}
        return json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})

    def schema(name, schema):
        return line(name, type="json_schema", json_schema={"name": "n", "schema": schema})

    (tmp_path / "in").write_text("\n".join([schema("city", CITY), line("any", type="json_object"), line("text", type="text"),
                                            schema("bad", {"$ref": "http://a/b"})]))
    outcome = folio("batch", tmp_path / "in", "--out", tmp_path / "out", smollm2, "--json")
    assert outcome.code == 0, outcome.err
    records = {r["custom_id"]: r["response"] for r in map(json.loads, (tmp_path / "out").read_text().splitlines())}
    text = {name: record["body"]["choices"][0]["message"]["content"] for name, record in records.items() if name != "bad"}
    check_city(text["city"])
    if records["any"]["body"]["choices"][0]["finish_reason"] == "stop":
        assert isinstance(json.loads(text["any"]), dict)
    assert text["any"].lstrip().startswith("{")
    assert records["bad"]["status_code"] == 400 and records["bad"]["body"]["error"]["param"] == "response_format"
