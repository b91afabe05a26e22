"""`folio pull` against a local server: whole files or none, resumed, checked, and the token kept to itself."""

import json
import os
import resource
import signal
import socket
import subprocess
import time

import pytest
from cli_checks import refused
from pull_server import File, Server, gguf_bytes
from terminal import Terminal

TOKEN = "hf_secretsecretsecret"
REPO = "org/tiny-GGUF"


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def storage():
    """Another host, as a hub's redirects lead to."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def pull(folio, server, tmp_path):
    """pull(source, *options) runs the command with an empty store and this hub."""

    def run(*args, token="", **options):
        env = {"FOLIO_HOME": str(tmp_path / "home"), "HF_ENDPOINT": server.url, "HF_TOKEN": token, "no_proxy": "*"}
        return folio("pull", *args, env=env, **options)

    return run


@pytest.fixture
def models(tmp_path):
    return tmp_path / "home" / "models"


def files_under(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) if folder.exists() else []


def test_a_url_lands_in_the_store_whole(pull, server, models):
    body = gguf_bytes(300_000)
    server.files["/x/tiny.gguf"] = File(body)
    outcome = pull(server.url + "/x/tiny.gguf")
    assert outcome.code == 0 and outcome.err == ""
    assert (models / "tiny.gguf").read_bytes() == body
    assert files_under(models) == ["tiny.gguf"]


def test_json_is_one_document_with_path_and_checksum(pull, server, models):
    file = File(gguf_bytes(1000))
    server.add_repo(REPO, {"tiny-Q8_0.gguf": file})
    outcome = pull(f"hf:{REPO}", "--json")
    assert outcome.code == 0 and outcome.err == ""
    (entry,) = outcome.json()["files"]
    assert entry["path"] == str(models / REPO / "tiny-Q8_0.gguf")
    assert entry["sha256"] == file.sha256 and entry["verified"] is True and entry["bytes"] == 1000


def test_the_quant_chooses_the_file(pull, server, models):
    server.add_repo(REPO, {"m-Q4_K_M.gguf": gguf_bytes(100), "m-Q4_K.gguf": gguf_bytes(101), "m-Q8_0.gguf": gguf_bytes(102)})
    assert pull(f"hf:{REPO}:q4_k").code == 0
    assert files_under(models) == [f"{REPO}/m-Q4_K.gguf"]
    refused(pull(f"hf:{REPO}:Q5_0"), 3, REPO, "Q5_0", "m-Q8_0.gguf")


def test_a_split_model_comes_with_all_its_parts(pull, server, models):
    parts = {f"big-{i:05}-of-00003.gguf": gguf_bytes(1000 + i, i) for i in (1, 2, 3)}
    server.add_repo(REPO, parts)
    assert pull(f"hf:{REPO}").code == 0
    assert files_under(models) == sorted(f"{REPO}/{name}" for name in parts)
    for name, body in parts.items():
        assert (models / REPO / name).read_bytes() == body


def test_files_are_taken_from_the_listed_revision(pull, server):
    server.add_repo(REPO, {"m.gguf": gguf_bytes(100)}, revision="f" * 40)
    assert pull(f"hf:{REPO}").code == 0
    assert f"/{REPO}/resolve/{'f' * 40}/m.gguf" in server.paths()


def test_what_is_there_is_not_fetched_again(pull, server, models):
    server.add_repo(REPO, {"m.gguf": gguf_bytes(100)})
    assert pull(f"hf:{REPO}").code == 0
    before = len(server.requests)
    outcome = pull(f"hf:{REPO}")
    assert outcome.code == 0 and "already there" in outcome.out
    assert len(server.requests) == before + 1  # the listing only


def test_redirects_are_followed_and_the_token_stays_home(pull, server, storage, models):
    file = File(gguf_bytes(5000))
    server.add_repo(REPO, {"m.gguf": file})
    path = next(path for path in server.files if path.endswith("m.gguf"))
    server.redirects[path] = storage.url + "/blob?X-Amz-Signature=topsecret"
    storage.files["/blob"] = file
    outcome = pull(f"hf:{REPO}", token=TOKEN)
    assert outcome.code == 0
    assert (models / REPO / "m.gguf").read_bytes() == file.body
    assert all(request["headers"].get("Authorization") == f"Bearer {TOKEN}" for request in server.requests)
    assert storage.requests and all("Authorization" not in request["headers"] for request in storage.requests)
    assert TOKEN not in outcome.out + outcome.err and "topsecret" not in outcome.out + outcome.err


def test_a_plain_url_elsewhere_gets_no_token(pull, storage):
    storage.files["/m.gguf"] = File(gguf_bytes(100))
    assert pull(storage.url + "/m.gguf", token=TOKEN).code == 0
    assert "Authorization" not in storage.requests[0]["headers"]


def test_a_failing_redirect_target_shows_no_secret(pull, server, storage):
    server.redirects["/m.gguf"] = storage.url + "/gone?Signature=topsecret"
    outcome = pull(server.url + "/m.gguf", token=TOKEN)
    refused(outcome, 1, "404")
    assert "topsecret" not in outcome.err and TOKEN not in outcome.err


def test_redirects_in_a_circle_end(pull, server):
    server.redirects["/a.gguf"] = "/b.gguf"
    server.redirects["/b.gguf"] = "/a.gguf"
    refused(pull(server.url + "/a.gguf"), 1, "redirect")


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/m.gguf"])
def test_redirects_to_other_schemes_are_refused(pull, server, target):
    server.redirects["/m.gguf"] = target
    refused(pull(server.url + "/m.gguf"), 1, "redirect")


def test_a_token_with_a_line_break_is_refused_unseen(pull, server):
    outcome = pull(f"hf:{REPO}", token=TOKEN + "\nX-Evil: 1")
    refused(outcome, 2, "HF_TOKEN")
    assert TOKEN not in outcome.err and server.requests == []


def test_a_cut_connection_goes_on_where_it_was(pull, server, models):
    file = File(gguf_bytes(400_000), cut=[100_000, 100_000])
    server.files["/m.gguf"] = file
    assert pull(server.url + "/m.gguf").code == 0
    assert (models / "m.gguf").read_bytes() == file.body
    ranges = [request["headers"].get("Range") for request in server.requests]
    assert ranges[0] is None and all(value.startswith("bytes=") for value in ranges[1:])
    assert server.requests[1]["headers"]["If-Range"] == f'"{file.sha256}"'


def test_a_killed_pull_is_resumed_by_the_next(pull, folio, server, models, tmp_path):
    file = File(gguf_bytes(500_000), stall=[200_000])
    server.files["/m.gguf"] = file
    env = {**os.environ, "FOLIO_HOME": str(tmp_path / "home"), "HF_ENDPOINT": server.url, "no_proxy": "*"}
    process = subprocess.Popen([folio.binary, "pull", server.url + "/m.gguf"], env=env,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    part = models / "m.gguf.part"
    deadline = time.monotonic() + 20
    while not (part.exists() and part.stat().st_size == 200_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert part.exists() and not (models / "m.gguf").exists()
    kept = part.stat().st_size
    outcome = pull(server.url + "/m.gguf")
    assert outcome.code == 0
    assert (models / "m.gguf").read_bytes() == file.body
    assert server.requests[-1]["headers"]["Range"] == f"bytes={kept}-"
    assert files_under(models) == ["m.gguf"]


def leave_part(models, body, etag):
    models.mkdir(parents=True)
    (models / "m.gguf.part").write_bytes(body)
    (models / "m.gguf.part.etag").write_text(etag)


def test_a_file_that_changed_meanwhile_is_fetched_from_the_start(pull, server, models):
    leave_part(models, gguf_bytes(1000, seed=1), '"old"')
    file = File(gguf_bytes(3000, seed=2))
    server.files["/m.gguf"] = file
    assert pull(server.url + "/m.gguf").code == 0
    assert (models / "m.gguf").read_bytes() == file.body


def test_a_server_without_ranges_is_read_from_the_start(pull, server, models):
    file = File(gguf_bytes(3000), ranges=False)
    leave_part(models, file.body[:1000], f'"{file.sha256}"')
    server.files["/m.gguf"] = file
    assert pull(server.url + "/m.gguf").code == 0
    assert (models / "m.gguf").read_bytes() == file.body


def test_a_whole_part_needs_only_its_check(pull, server, models):
    file = File(gguf_bytes(3000))
    leave_part(models, file.body, f'"{file.sha256}"')
    server.files["/m.gguf"] = file
    assert pull(server.url + "/m.gguf").code == 0
    assert (models / "m.gguf").read_bytes() == file.body
    assert len(server.requests) == 1


def test_a_part_that_does_not_fit_is_replaced(pull, server, models):
    """Same validator, other bytes: the checksum tells, and the whole file is fetched once more."""
    file = File(gguf_bytes(3000))
    leave_part(models, gguf_bytes(1000, seed=9), f'"{file.sha256}"')
    server.add_repo(REPO, {"m.gguf": file})
    folder = models / REPO
    folder.mkdir(parents=True)
    (models / "m.gguf.part").rename(folder / "m.gguf.part")
    (models / "m.gguf.part.etag").rename(folder / "m.gguf.part.etag")
    assert pull(f"hf:{REPO}").code == 0
    assert (folder / "m.gguf").read_bytes() == file.body


def test_a_wrong_checksum_of_the_listing_leaves_nothing(pull, server, models):
    listed, sent = gguf_bytes(1000, seed=1), gguf_bytes(1000, seed=2)
    server.add_repo(REPO, {"m.gguf": listed})
    path = next(path for path in server.files if path.endswith("m.gguf"))
    server.files[path] = File(sent)
    refused(pull(f"hf:{REPO}"), 1, "SHA-256", File(listed).sha256, File(sent).sha256)
    assert files_under(models) == []


def test_a_wrong_linked_etag_leaves_nothing(pull, server, models):
    server.files["/m.gguf"] = File(gguf_bytes(1000), linked_etag='"' + "0" * 64 + '"')
    refused(pull(server.url + "/m.gguf"), 1, "SHA-256", "0" * 64)
    assert files_under(models) == []


def test_a_given_checksum_is_checked(pull, server, models):
    file = File(gguf_bytes(1000))
    server.files["/m.gguf"] = file
    refused(pull(server.url + "/m.gguf", "--sha256", "1" * 64), 1, "SHA-256")
    assert files_under(models) == []
    assert pull(server.url + "/m.gguf", "--sha256", file.sha256.upper()).code == 0
    refused(pull(server.url + "/m.gguf", "--sha256", "12"), 2, "--sha256")


def test_a_page_that_is_no_model_is_refused(pull, server, models):
    server.files["/m.gguf"] = File(b"<html>Please log in</html>")
    refused(pull(server.url + "/m.gguf"), 3, "not a GGUF file")
    assert files_under(models) == []


def test_a_size_other_than_listed_is_refused_at_once(pull, server, models):
    server.add_repo(REPO, {"m.gguf": gguf_bytes(1000)})
    path = next(path for path in server.files if path.endswith("m.gguf"))
    server.files[path] = File(gguf_bytes(900))
    refused(pull(f"hf:{REPO}"), 1, "900", "1000")
    assert not (models / REPO / "m.gguf").exists()


def test_passing_failures_of_the_server_are_ridden_out(pull, server, models):
    server.files["/m.gguf"] = File(gguf_bytes(1000), status=[503, 500])
    assert pull(server.url + "/m.gguf").code == 0
    assert (models / "m.gguf").exists()


def test_a_server_that_keeps_failing_is_one_clear_line(pull, server):
    server.files["/m.gguf"] = File(gguf_bytes(1000), status=[500] * 50)
    refused(pull(server.url + "/m.gguf"), 1, "500")
    assert len(server.requests) == 5


@pytest.mark.parametrize("status,word", [(401, "HF_TOKEN"), (403, "HF_TOKEN"), (404, "404"), (410, "410")])
def test_a_refusal_is_not_tried_again(pull, server, status, word):
    server.files["/m.gguf"] = File(b"", status=[status] * 9)
    refused(pull(server.url + "/m.gguf"), 1, str(status), word)
    assert len(server.requests) == 1


def test_a_stalled_server_is_given_up(pull, server):
    server.files["/m.gguf"] = File(gguf_bytes(1000), stall=[0] * 9)
    start = time.monotonic()
    outcome = pull(server.url + "/m.gguf", "--timeout", "1", timeout=100)
    refused(outcome, 1, "/m.gguf")
    assert time.monotonic() - start < 60


def test_nobody_at_the_address_is_one_clear_line(pull):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        refused(pull(url + "/m.gguf", timeout=60), 1, url)


@pytest.mark.parametrize("name", ["../../x.gguf", "/etc/x.gguf", "a/../../x.gguf", "a\\..\\x.gguf", ".x.gguf", "a\n.gguf"])
def test_names_that_leave_the_store_are_refused(pull, server, models, tmp_path, name):
    server.add_repo(REPO, {name: gguf_bytes(100)})
    refused(pull(f"hf:{REPO}"), 3, "unsafe")
    assert files_under(tmp_path) == []


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[]", b'{"siblings": 5}', b'{"siblings": [1, {"rfilename": 2}]}',
                                    b"[" * 200_000, b'{"siblings": [{"rfilename": "\xff.gguf"}]}'])
def test_a_listing_that_is_none_is_one_clear_line(pull, server, answer):
    server.files[f"/api/models/{REPO}"] = File(answer)
    outcome = pull(f"hf:{REPO}")
    refused(outcome, outcome.code, REPO)
    assert outcome.code in (1, 3)


def test_an_endless_listing_is_cut_off(pull, server):
    server.files[f"/api/models/{REPO}"] = File(b" " * (9 << 20))
    refused(pull(f"hf:{REPO}"), 1, "longer than")


@pytest.mark.parametrize("source", ["hf:x", "hf:a/b/c", "m.gguf", "ftp://h/m.gguf", "https://h/m.bin", "hf:../x", ""])
def test_malformed_sources_are_wrong_usage(pull, server, source):
    refused(pull(source), 2)
    assert server.requests == []


def test_no_space_left_is_one_clear_line_and_keeps_the_part(folio, server, models, tmp_path):
    server.files["/m.gguf"] = File(gguf_bytes(500_000))
    done = subprocess.run(
        [folio.binary, "pull", server.url + "/m.gguf"], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "FOLIO_HOME": str(tmp_path / "home"), "no_proxy": "*"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
    assert done.returncode == 1
    assert done.stderr.startswith("folio: error: ") and done.stderr.count("\n") == 1 and "write" in done.stderr
    assert (models / "m.gguf.part").stat().st_size == 100_000 and not (models / "m.gguf").exists()


def test_a_body_longer_than_announced_is_not_taken(pull, server, models):
    """libcurl stops at Content-Length; what lies is then found by the checksum or the size."""
    body = gguf_bytes(2000)
    server.files["/m.gguf"] = File(body, length=1000, linked_etag=f'"{File(body).sha256}"')
    refused(pull(server.url + "/m.gguf"), 1)
    assert not (models / "m.gguf").exists()


def test_one_pull_of_a_file_at_a_time(pull, folio, server, models, tmp_path):
    server.files["/m.gguf"] = File(gguf_bytes(1000), stall=[0])
    env = {**os.environ, "FOLIO_HOME": str(tmp_path / "home"), "HF_ENDPOINT": server.url, "no_proxy": "*"}
    first = subprocess.Popen([folio.binary, "pull", server.url + "/m.gguf"], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while not (models / "m.gguf.part").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        refused(pull(server.url + "/m.gguf"), 1, "another process")
    finally:
        first.kill()
        first.wait()


def test_the_store_lists_and_removes_what_was_pulled(pull, folio, server, models, tmp_path):
    server.add_repo(REPO, {"m-Q8_0.gguf": gguf_bytes(100)})
    assert pull(f"hf:{REPO}").code == 0
    env = {"FOLIO_HOME": str(tmp_path / "home")}
    (entry,) = json.loads(folio("models", "--json", env=env).out)["models"]
    assert entry["name"] == f"{REPO}/m-Q8_0" and entry["bytes"] == 100
    assert folio("models", "rm", "m-Q8_0", env=env).code == 0
    assert files_under(models) == []
    refused(folio("models", "rm", "m-Q8_0", env=env), 3, "m-Q8_0")


def test_a_bar_shows_on_a_terminal_only(pull, folio, server, models, tmp_path):
    server.files["/slow.gguf"] = File(gguf_bytes(2_000_000), seconds=3)
    terminal = Terminal([str(folio.binary), "pull", server.url + "/slow.gguf"],
                        {**os.environ, "FOLIO_HOME": str(tmp_path / "home"), "no_proxy": "*"})
    try:
        terminal.expect("slow.gguf [")
        terminal.expect("MiB of 1.91 MiB")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert str(models / "slow.gguf") in terminal.screen
    server.files["/quiet.gguf"] = File(gguf_bytes(2_000_000), seconds=2)
    outcome = pull(server.url + "/quiet.gguf")
    assert outcome.code == 0 and outcome.err == "" and "\x1b" not in outcome.out and "[" not in outcome.out
