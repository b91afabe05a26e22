"""`folio connect`: an agent's settings for a server, printed, or put into its file beside what is there already. That
the agents understand them is test_agents.py's matter."""
import json
import stat
import tomllib

import pytest
import yaml
from cli_checks import refused
from server import fresh_key, key_line

URL, MODEL, CONTEXT = "http://127.0.0.1:9", "a model", 4096  # where nothing listens
ALL_GIVEN = ["--url", URL, "--model", MODEL, "--context", CONTEXT]
FILES = {"codex": ".codex/config.toml", "claude": ".claude/settings.json", "opencode": ".config/opencode/opencode.json",
         "qwen": ".qwen/settings.json", "continue": ".continue/config.yaml", "aider": ".aider.conf.yml"}
PARSERS = {".toml": tomllib.loads, ".json": json.loads, ".yaml": yaml.safe_load, ".yml": yaml.safe_load}


@pytest.fixture
def connect(folio, tmp_path):
    """connect(agent, *args) runs it for a user whose home is `connect.home`."""
    def run(agent, *args, env=None):
        return folio("connect", agent, *args, env={"HOME": str(tmp_path), **{name: "" for name in (
            "CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "QWEN_HOME", "CONTINUE_GLOBAL_DIR")}, **(env or {})})

    run.home = tmp_path
    return run


def settings(path):
    return PARSERS[path.suffix](path.read_text())


def there(connect, agent, text):
    path = connect.home / FILES[agent]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("agent", FILES)
def test_what_is_printed_is_what_is_written(connect, agent):
    printed = connect(agent, *ALL_GIVEN)
    assert printed.code == 0 and not list(connect.home.iterdir())
    written = connect(agent, *ALL_GIVEN, "--write")
    path = connect.home / FILES[agent]
    assert written.code == 0 and written.out == "" and f"wrote {path}" in written.err
    assert printed.out.startswith(path.read_text()) and MODEL in json.dumps(settings(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert str(path) in printed.err


@pytest.mark.parametrize("agent", FILES)
def test_written_twice_it_changes_nothing_and_keeps_no_second_backup(connect, agent):
    connect(agent, *ALL_GIVEN, "--write")
    before = sorted(connect.home.rglob("*"))
    again = connect(agent, *ALL_GIVEN, "--write")
    assert again.code == 0 and "has it already" in again.err
    assert sorted(connect.home.rglob("*")) == before


OLD = {
    "codex": ('# mine\nmodel = "gpt-5"  # the best\napproval_policy = "never"\nnotes = """\nmodel = "not a setting"\n"""\n'
              'names = [\n  "a", # ]\n  "b",\n]\n\n[model_providers.other]\nname = "Other"\n\n[model_providers.folio]\nbase_url = "http://old"\n'
              'env_key = "OLD"\n\n[model_providers.folio.query_params]\na = "b"\n\n[[things]]\nmodel = "theirs"\n'),
    "claude": '{"model": "opus", "env": {"A": "b", "ANTHROPIC_BASE_URL": "http://old"}, "hooks": [1, 2.5, null]}',
    "opencode": '{"theme": "dark", "provider": {"other": {"npm": "x"}, "folio": {"options": {"timeout": 5}}}}',
    "qwen": '{"ui": {"theme": "x"}, "modelProviders": {"openai": [{"id": "other"}, {"id": "a model", "baseUrl": "http://old"}]}}',
    "continue": ('# mine\nname: My own\nversion: 0.0.1\nschema: v1\nmodels:\n  # the good one\n  - name: Other\n    provider: openai\n'
                 '    model: x\n  - name: Folio\n    model: old\n\n    apiBase: http://old\nmcpServers:\n  - name: Folio\n    command: x\n'),
    "aider": '# mine\nmodel: gpt-4o # the best\ndark-mode: true\nread:\n- CONVENTIONS.md\n- "b: c"\n',
}


def without_folio(agent, value):
    """The settings, less those that are ours to set."""
    if agent == "codex":
        for key in ("model", "model_provider", "model_context_window"):
            value.pop(key, None)
        for key in ("name", "base_url", "wire_api", "env_key"):
            value["model_providers"]["folio"].pop(key, None)
    if agent == "claude":
        value["env"] = {key: text for key, text in value["env"].items() if not key.startswith(("ANTHROPIC_", "CLAUDE_CODE_"))}
    if agent == "opencode":
        for key in ("$schema", "model"):
            value.pop(key, None)
        ours = value["provider"]["folio"]
        for key in ("npm", "name", "models"):
            ours.pop(key, None)
        ours["options"] = {"timeout": ours["options"]["timeout"]}
    if agent == "qwen":
        for key in ("model", "security", "env"):
            value.pop(key, None)
        value["modelProviders"]["openai"] = [model for model in value["modelProviders"]["openai"] if model["id"] != MODEL]
    if agent == "continue":
        value["models"] = [model for model in value["models"] if model["name"] != "Folio"]
    if agent == "aider":
        for key in ("model", "openai-api-base", "openai-api-key"):
            value.pop(key, None)
    return value


@pytest.mark.parametrize("agent", FILES)
def test_other_settings_stay_and_a_backup_is_kept(connect, agent):
    path = there(connect, agent, OLD[agent])
    path.chmod(0o640)
    before = settings(path)
    outcome = connect(agent, *ALL_GIVEN, "--write")
    assert outcome.code == 0, outcome.err
    backup = path.with_name(path.name + ".bak")
    assert backup.read_text() == OLD[agent] and f"what it was is in {backup}" in outcome.err
    after = settings(path)
    assert MODEL in json.dumps(after) and URL in json.dumps(after) and "http://old" not in path.read_text()
    assert without_folio(agent, after) == without_folio(agent, before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    if path.suffix != ".json":
        assert "# mine" in path.read_text()


def test_backups_are_never_overwritten(connect):
    path = there(connect, "codex", OLD["codex"])
    for context in (1000, 2000):
        assert connect("codex", "--url", URL, "--model", MODEL, "--context", context, "--write").code == 0
    assert path.with_name("config.toml.bak").read_text() == OLD["codex"]
    assert tomllib.loads(path.with_name("config.toml.bak2").read_text())["model_context_window"] == 1000
    assert tomllib.loads(path.read_text())["model_context_window"] == 2000


def test_a_link_stays_one(connect):
    real = connect.home / "dotfiles.toml"
    real.write_text("a = 1\n")
    path = connect.home / FILES["codex"]
    path.parent.mkdir()
    path.symlink_to(real)
    assert connect("codex", *ALL_GIVEN, "--write").code == 0
    assert path.is_symlink() and tomllib.loads(real.read_text())["model"] == MODEL


@pytest.mark.parametrize("agent,text", [
    ("codex", 'model_providers = { other = { name = "x" } }\n'),
    ("codex", 'model_providers.folio.name = "x"\n'),
    ("codex", '[model_providers]\nfolio = { name = "x" }\n'),
    ("codex", 'notes = """\n[model_providers.folio]\n'),
    ("codex", "no TOML\n"),
    ("claude", '{"env": 5}'),
    ("claude", "// a comment\n{}"),
    ("opencode", '{"provider": []}'),
    ("qwen", '{"modelProviders": {"openai": {}}}'),
    ("continue", "models: [{name: x}]\n"),
    ("continue", "models: &all\n  - name: x\n"),
    ("continue", "models:\n  x: y\n"),
    ("continue", "{models: []}\n"),
    ("aider", "model: |\n  x\n"),
    ("aider", "model: a\n  b\n"),
    ("aider", "- a\n- b\n"),
    ("aider", "'model': a\n"),
    ("aider", "a: 1\n---\nb: 2\n"),
])
def test_what_cannot_be_merged_safely_is_printed_and_left_as_it_is(connect, agent, text):
    path = there(connect, agent, text)
    outcome = connect(agent, *ALL_GIVEN, "--write")
    assert outcome.code == 3 and str(path) in outcome.err and "left as it is" in outcome.err
    assert URL in outcome.out
    assert path.read_text() == text and [file.name for file in path.parent.glob(path.name + "*")] == [path.name]


def test_each_agent_has_its_own_home_variable(connect):
    for agent, variable, name in [("codex", "CODEX_HOME", "config.toml"), ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
                                  ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
                                  ("qwen", "QWEN_HOME", "settings.json"),
                                  ("continue", "CONTINUE_GLOBAL_DIR", "config.yaml")]:
        folder = connect.home / agent
        assert connect(agent, *ALL_GIVEN, "--write", env={variable: str(folder)}).code == 0
        assert (folder / name).is_file()


def test_the_server_tells_its_model_and_context(connect, server):
    outcome = connect("codex", "--url", server.url + "/v1/")
    told = tomllib.loads(outcome.out)
    model = server.get("/v1/models").json()["data"][0]
    assert outcome.code == 0
    assert (told["model"], told["model_context_window"]) == (model["id"], model["context_length"])
    assert told["model_providers"]["folio"]["base_url"] == server.url + "/v1"


def test_options_go_before_what_the_server_tells(connect, server):
    told = tomllib.loads(connect("codex", "--url", server.url, "--context", "512").out)
    assert told["model_context_window"] == 512
    refused(connect("codex", "--url", server.url, "--model", "another"), 1, "another", "--model")


def test_a_key_is_named_not_shown(connect, serve, smollm2, tmp_path):
    key = fresh_key()
    keys = tmp_path / "keys"
    keys.write_text(key_line("me", key))
    url = serve(smollm2, "--api-keys", keys).wait().url
    refused(connect("codex", "--url", url), 1, "401")
    for agent in FILES:
        outcome = connect(agent, "--url", url, "--api-key-env", "MY_KEY", env={"MY_KEY": key})
        assert outcome.code == 0 and key not in outcome.out + outcome.err
        assert "MY_KEY" in outcome.out or agent == "aider"


@pytest.mark.parametrize("args,words", [
    (["emacs"], ["emacs", "codex"]),
    ([], ["AGENT"]),
    (["codex"], ["--url", "http://127.0.0.1:9", "--model"]),
    (["codex", "--url", "ftp://x", "--model", "m", "--context", "5"], ["--url", "ftp://x"]),
    (["codex", "--api-key-env", "a b"], ["--api-key-env", "a b"]),
])
def test_what_it_cannot_do_is_said_in_one_line(folio, args, words):
    if args == ["codex"]:
        args, words = ["codex", "--url", URL], [URL, "--model"]
    outcome = folio("connect", *args)
    assert outcome.code in (1, 2) and outcome.err.count("\n") == 1
    assert [word for word in words if word not in outcome.err] == []
