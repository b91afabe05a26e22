"""What `folio connect --write` does to files of any shape: parsed by others' parsers, the settings are those from before and
its own. It may refuse, and then the file is as it was; it may never lose or change a setting."""
import random
import tomllib

import pytest
import yaml

CASES = 150
URL = "http://127.0.0.1:8080/v1"

TOML_VALUES = ['"a"', "'b'", '"""x"""', '"""\nmodel = "z"\n[model_providers.folio]\n"""', "'''\n[x]\n'''", '"""a""""', '"""""a"""""',
               '"\\""', '"# no"', "[1, 2]", "[\n \"a\", # ] x\n 'b',\n]", '{a = 1, b = {c = "}"}}', "1.5", "true",
               "1979-05-27T07:32:00Z", "[[1],[2,\n3]]", '"""\\""" """']
TOML_KEYS = ["model", '"model_provider"', "a", "b-c", '"q.r"', "profiles.x.model", "model_context_window", "z"]
TOML_TABLES = ["[t1]", "[model_providers.folio]", "[model_providers.other]", "[[arr]]", "[model_providers.folio.http_headers]",
               '["t 2"]', "[model_providers]", "[ model_providers . other2 ]"]
YAML_VALUES = [" a", ' "a: b"', " 'it''s'", " 5", " true", "", " |\n  x\n  model: y\n", " >\n  x\n", " [a, b]", " {a: b}", ' "a\n  b"',
               " a\n  b", " &x a", "\n  - a\n  - b: c\n    d: e", "\n- a\n- b: c\n  d: e\n", "\n  k: v\n  model: w",
               "\n  # c\n  - name: Folio\n    z: 1\n\n    y: 2\n  - name: b"]
YAML_KEYS = ["model", "models", "read", "openai-api-base", "x", '"q"', "dark-mode", "name"]


def toml_section(rng, table):
    lines = [table] if table else []
    for key in rng.sample(TOML_KEYS, rng.randint(0, 4)):
        lines.append(f"{key} = {rng.choice(TOML_VALUES)}{rng.choice(['', ' # model = 1'])}")
        lines += rng.choice([[], [], [""], ["# comment [x]"]])
    return lines


def toml_text(rng):
    tables = rng.sample(TOML_TABLES, rng.randint(0, 5))
    lines = [line for table in [None, *tables] for line in toml_section(rng, table)]
    return rng.choice(["\n", "\n", "\r\n"]).join(lines) + rng.choice(["", "\n"])


def yaml_text(rng):
    lines = []
    for key in rng.sample(YAML_KEYS, rng.randint(0, 4)):
        lines += rng.choice([[], [], [], ["# c"], [""]])
        lines.append(key + ":" + rng.choice(YAML_VALUES))
    return rng.choice(["", "", "---\n"]) + "\n".join(lines) + rng.choice(["", "\n"])


def codex_expected(before, after):
    providers = dict(before.get("model_providers", {}))
    kept = {key: value for key, value in providers.get("folio", {}).items() if key == "http_headers"}
    providers["folio"] = {**kept, "name": "Folio", "base_url": URL, "wire_api": "responses"}
    return {**before, "model": "m", "model_provider": "folio", "model_context_window": 5, "model_providers": providers}


def aider_expected(before, after):
    return {**before, "model": "openai/m", "openai-api-base": URL, "openai-api-key": "none"}


def continue_expected(before, after):
    ours = after["models"][0]
    assert (ours["name"], ours["model"], ours["apiBase"]) == ("Folio", "m", URL)
    others = [model for model in before.get("models") or [] if not (isinstance(model, dict) and model.get("name") == "Folio")]
    return {**before, "models": [ours, *others]}


@pytest.mark.parametrize("agent,file,make,parse,expected", [
    ("codex", ".codex/config.toml", toml_text, tomllib.loads, codex_expected),
    ("aider", ".aider.conf.yml", yaml_text, yaml.safe_load, aider_expected),
    ("continue", ".continue/config.yaml", yaml_text, yaml.safe_load, continue_expected),
])
def test_any_file_keeps_its_settings(folio, tmp_path, agent, file, make, parse, expected):
    rng = random.Random(agent)
    merged = 0
    for number in range(CASES):
        text = make(rng)
        try:
            before = parse(text)
        except (tomllib.TOMLDecodeError, yaml.YAMLError):
            continue
        if not before:
            continue
        path = tmp_path / str(number) / file
        path.parent.mkdir(parents=True)
        path.write_bytes(text.encode())
        outcome = folio("connect", agent, "--model", "m", "--context", 5, "--write", env={
            "HOME": str(tmp_path / str(number)), "CODEX_HOME": "", "CONTINUE_GLOBAL_DIR": ""})
        new = path.read_bytes().decode()
        if outcome.code == 3:
            assert new == text
            continue
        assert outcome.code == 0, (text, outcome.err)
        after = parse(new)
        assert after == expected(before, after), (text, new)
        merged += 1
    assert merged > CASES / 6, "most files that are refused are none that people write"
