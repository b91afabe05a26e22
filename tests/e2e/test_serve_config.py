"""`folio serve --print-config`: what a server would run with, and where each value is from."""
import json
import os
import re

from cli_checks import refused


def config(folio, *args, env=None):
    outcome = folio("serve", "--print-config", "--json", *args, env=env)
    assert (outcome.code, outcome.err) == (0, "")
    return json.loads(outcome.out)


def test_every_option_has_its_value_and_where_it_is_from(folio, smollm2):
    told = config(folio, smollm2, "--port", 81, "--memory", "3GiB", "--strict-models")
    assert told["MODEL"] == {"value": [str(smollm2)], "source": "option"}
    assert told["--port"] == {"value": 81, "source": "option"}
    assert told["--memory"] == {"value": 3 << 30, "source": "option"}
    assert told["--strict-models"] == {"value": True, "source": "option"}
    assert told["--host"] == {"value": "127.0.0.1", "source": "default"}
    assert told["--insecure"] == {"value": False, "source": "default"}
    assert told["--threads"]["value"] >= 1 and told["--threads"]["source"] == "default"
    options = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", folio("serve", "--help").out, re.MULTILINE))
    assert options - set(told) == {"--help", "--print-config", "--json"} and len(options) > 20


def test_the_environment_is_told_apart(folio, smollm2, tmp_path):
    env = {**os.environ, "FOLIO_MODEL": str(smollm2), "FOLIO_ISA": "scalar"}
    told = config(folio, env=env)
    assert told["MODEL"] == {"value": [str(smollm2)], "source": "environment"}
    assert told["FOLIO_ISA"] == {"value": "scalar", "source": "environment"}
    assert config(folio, "--models", tmp_path, env=env)["MODEL"]["value"] == []
    own = config(folio, env={**os.environ, "FOLIO_HOME": str(tmp_path), "FOLIO_MODEL": ""})
    assert own["MODEL"]["source"] == "default" and own["FOLIO_HOME"] == {"value": f"{tmp_path}/models", "source": "environment"}


def test_people_read_lines(folio, smollm2):
    outcome = folio("serve", smollm2, "--print-config", "--port", 81)
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["--port", "option", "81"] in lines and ["--host", "default", "127.0.0.1"] in lines


def test_json_alone_is_refused(folio, smollm2):
    refused(folio("serve", smollm2, "--json"), 2, "--print-config")
