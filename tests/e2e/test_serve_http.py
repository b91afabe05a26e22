"""HTTP/1.1 as the server speaks it: methods and paths, how bodies come, limits, connections, browsers, unix sockets."""
import gzip
import json
import re
import zlib

import pytest
import zstandard
from raw_http import Wire, request_bytes
from server import MODEL, UnixConnection, exchange

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": 2, "temperature": 0}
CHAT = "/v1/chat/completions"
PACKED = {
    "gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.ZstdCompressor().compress, "identity": lambda data: data,
    "x-gzip": gzip.compress, "GZIP": gzip.compress,
}


@pytest.fixture
def wire(server):
    with Wire(server.connect()) as connection:
        yield connection


def text_of(body):
    return json.loads(body)["choices"][0]["message"]["content"]


# Methods and paths.

def test_health_and_readiness_are_told(server):
    assert server.get("/health").json()["status"] == "ok" and server.get("/ready").status == 200


@pytest.mark.parametrize("path", ["/health", "/ready", "/v1/models", "/metrics"])
def test_head_is_get_without_a_body(wire, server, path):
    wire.send(request_bytes("HEAD", path) + request_bytes("GET", "/health"))
    status, fields, _ = wire.reply(with_body=False)
    assert status == 200
    if path != "/metrics":
        assert int(fields["content-length"]) == len(server.get(path).body)
    status, _, body = wire.reply()  # nothing of the first reply's body is in between
    assert status == 200 and b"ok" in body


@pytest.mark.parametrize("method, path", [("GET", CHAT), ("PUT", CHAT), ("DELETE", CHAT), ("PATCH", "/v1/models"), ("POST", "/v1/models"), ("POST", "/health"),
                                          ("GET", "/v1/messages"), ("OPTIONS", CHAT), ("HEAD", CHAT), ("GET", "/v1/responses"), ("GET", "/tokenize")])
def test_other_methods_are_not_allowed(server, method, path):
    reply = server.request(method, path)
    assert reply.status == 405
    if method != "HEAD":
        assert reply.json()["error"]["type"] == "invalid_request_error" and method in reply.json()["error"]["message"]


@pytest.mark.parametrize("method, path, allowed", [("GET", CHAT, {"POST"}), ("OPTIONS", CHAT, {"POST"}), ("POST", "/v1/models", {"GET", "HEAD"}),
                                                   ("PUT", "/v1/responses/x", {"GET", "HEAD", "DELETE"})])
def test_a_405_says_what_is_allowed(server, method, path, allowed):
    reply = server.request(method, path)
    told = {word.strip() for word in reply.headers["allow"].split(",")}
    assert reply.status == 405 and allowed - {"HEAD"} <= told <= allowed | {"OPTIONS"}


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/", "/v1/chat", "/v1/chat/completions/", "/V1/models", "/v1/models/", "/v1/responses/a/b", "//health",
                                  "/health/..", "/%68ealth"])
def test_other_paths_are_not_found(server, path):
    for method in ("GET", "POST"):
        reply = server.request(method, path)
        assert reply.status == 404 and reply.json()["error"]["message"]


@pytest.mark.parametrize("query", ["?", "?beta=true", "?a=b&c=%20#x"])
def test_queries_change_nothing(server, query):
    assert server.get(f"/health{query}").status == 200
    assert text_of(server.post(CHAT + query, BODY).body) == "The capital"


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/chat/completions"])
def test_websockets_are_refused_so_that_clients_post(server, path):
    headers = {"connection": "Upgrade", "upgrade": "WebSocket", "sec-websocket-version": "13", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert server.request("GET", path, headers=headers).status == 426


# Bodies.

@pytest.mark.parametrize("encoding", PACKED)
def test_packed_bodies_are_read(server, encoding):
    packed = PACKED[encoding](json.dumps(BODY).encode())
    reply = server.request("POST", CHAT, packed, {"content-encoding": encoding, "content-type": "application/json"})
    assert reply.status == 200 and text_of(reply.body) == "The capital"


def test_streams_of_packed_pieces_are_read(server):
    whole = json.dumps(BODY).encode()
    pieces = gzip.compress(whole[:30]) + gzip.compress(whole[30:])  # RFC 1952: a file of two members
    assert server.request("POST", CHAT, pieces, {"content-encoding": "gzip"}).status == 200
    packer = zstandard.ZstdCompressor()
    assert server.request("POST", CHAT, packer.compress(whole[:30]) + packer.compress(whole[30:]), {"content-encoding": "zstd"}).status == 200


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_broken_packing_is_a_bad_request(server, encoding):
    packed = PACKED[encoding](json.dumps(BODY).encode())
    for broken in (packed[:-5], packed[5:], b"no packing at all", b""):
        reply = server.request("POST", CHAT, broken, {"content-encoding": encoding})
        assert reply.status == 400 and reply.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("encoding", ["br", "compress", "exi"])
def test_other_encodings_are_named(server, encoding):
    reply = server.request("POST", CHAT, b"x", {"content-encoding": encoding})
    assert reply.status == 415 and reply.json()["error"]["code"] == "unsupported_media_type"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_small_body_that_unpacks_to_much_is_too_large(server, encoding):
    bomb = PACKED[encoding](b" " * (64 << 20))
    assert len(bomb) < 1 << 20
    reply = server.request("POST", CHAT, bomb, {"content-encoding": encoding})
    assert reply.status in (400, 413) and reply.json()["error"]["message"]


def test_a_large_body_is_refused_by_its_length(wire):
    wire.send(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
    status, fields, body = wire.reply()
    assert status == 413 and json.loads(body)["error"]["type"] == "request_too_large"
    assert fields["connection"].lower() == "close"


def test_a_large_body_without_a_length_is_refused_too(wire):
    wire.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    try:
        for _ in range(64):
            wire.send(chunk)
    except OSError:
        pass  # it has hung up
    data = wire.rest()
    assert data.startswith(b"HTTP/1.1 413 ") or data == b""


def test_chunked_bodies_are_read(wire):
    body = json.dumps(BODY).encode()
    pieces = [body[i : i + 7] for i in range(0, len(body), 7)]
    wire.send(request_bytes("POST", CHAT, b"", "Transfer-Encoding: chunked"))
    for piece in pieces:
        wire.send(f"{len(piece):x};x=y\r\n".encode() + piece + b"\r\n")
    wire.send(b"0\r\nTrailer: x\r\n\r\n" + request_bytes("GET", "/health"))
    status, _, answer = wire.reply()
    assert status == 200 and text_of(answer) == "The capital"
    assert wire.reply()[0] == 200


@pytest.mark.parametrize("encoding", ["gzip", "gzip, chunked, x", "xchunked", "identity", "chunked, chunked"])
def test_a_body_of_unknown_length_is_no_second_request(wire, encoding):
    wire.send(f"POST /tokenize HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {encoding}\r\n\r\n".encode() + request_bytes("GET", "/health"))
    wire.sock.settimeout(10)
    data = wire.rest()
    assert data.split(b" ")[1] in (b"400", b"501") and len(re.findall(rb"HTTP/1\.1 \d", data)) == 1


def test_a_client_that_waits_is_told_to_go_on(wire):
    body = json.dumps(BODY).encode()
    wire.send(request_bytes("POST", CHAT, b"", "Expect: 100-continue", f"Content-Length: {len(body)}"))
    assert wire.head()[0] == 100
    wire.send(body)
    assert wire.reply()[0] == 200


def test_a_client_that_waits_is_refused_before_it_sends(wire):
    wire.send(request_bytes("POST", "/nothing", b"", "Expect: 100-continue", "Content-Length: 1000"))
    assert wire.reply()[0] == 404


# Connections.

def test_a_connection_is_used_again(wire):
    for _ in range(3):
        wire.send(request_bytes("POST", CHAT, BODY))
        assert wire.reply()[0] == 200
        wire.send(request_bytes("GET", "/nothing"))
        assert wire.reply()[0] == 404


def test_requests_sent_together_are_answered_in_order(wire):
    wire.send(request_bytes("POST", CHAT, BODY) + request_bytes("GET", "/health") + request_bytes("POST", CHAT, {**BODY, "stream": True})
              + request_bytes("GET", "/v1/models"))
    assert text_of(wire.reply()[2]) == "The capital"
    assert json.loads(wire.reply()[2]) == {"status": "ok"}
    assert wire.reply()[2].endswith(b"data: [DONE]\n\n")
    assert json.loads(wire.reply()[2])["object"] == "list"


def test_a_connection_ends_when_asked_to(wire):
    wire.send(request_bytes("GET", "/health", b"", "Connection: close"))
    status, fields, _ = wire.reply()
    assert status == 200 and fields["connection"].lower() == "close" and wire.rest() == b""


@pytest.mark.parametrize("stream", [False, True])
def test_older_clients_get_replies_without_chunks(wire, stream):
    wire.send(request_bytes("POST", CHAT, {**BODY, "stream": stream}, version="1.0"))
    status, fields, body = wire.reply()
    assert status == 200 and "transfer-encoding" not in fields
    assert body.endswith(b"data: [DONE]\n\n") if stream else text_of(body) == "The capital"
    assert wire.rest() == b""


@pytest.mark.parametrize("garbage", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 tls", b"GET /health\r\n\r\n", b"GET  /health HTTP/1.1\r\n\r\n",
                                     b"GET /health HTTP/1.1\r\nNo colon\r\n\r\n", b"GET /health HTTP/1.1\r\n folded: x\r\n\r\n",
                                     b"POST /tokenize HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
                                     b"POST /tokenize HTTP/1.1\r\nContent-Length: -1\r\n\r\n", b"POST /tokenize HTTP/1.1\r\nContent-Length: 1x\r\n\r\nx",
                                     b"POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                                     b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
                                     b"POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
                                     b"GET /health HTTP/1.1\r\nA: " + b"x" * 100000 + b"\r\n\r\n", b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\n\r\n"],
                         ids=["tls", "no-version", "two-spaces", "no-colon", "folded", "two-lengths", "negative", "odd", "huge", "both", "chunk",
                              "header", "target"])
def test_what_is_no_http_ends_the_connection(wire, garbage):
    try:
        wire.send(garbage)
    except OSError:
        pass
    data = wire.rest()
    assert data == b"" or data.split(b" ")[1] in (b"400", b"404", b"413", b"414", b"431")
    assert len(re.findall(rb"HTTP/1\.1 \d", data)) <= 1


def test_the_server_outlives_all_of_that(server):
    assert text_of(server.post(CHAT, BODY).body) == "The capital"


def test_connections_that_say_nothing_cost_others_nothing(server):
    accepted = server.metrics()["folio_http_connections_total"]
    idle = [server.connect() for _ in range(100)]
    try:
        assert text_of(server.post(CHAT, BODY).body) == "The capital"
        now = server.metrics()
        assert now["folio_http_connections"] > 100 and now["folio_http_connections_total"] >= accepted + 101
    finally:
        for sock in idle:
            sock.close()


# Browsers.

ORIGIN = "https://app.example"


def test_pages_may_call_only_if_told_to(server):
    reply = server.request("POST", CHAT, BODY, {"origin": ORIGIN})
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("allowed", ["*", ORIGIN])
def test_pages_of_an_origin_may_call(serve, tiny_models, allowed):
    own = serve(tiny_models("qwen3"), "--cors", allowed).wait()
    preflight = own.request("OPTIONS", CHAT, headers={"origin": ORIGIN, "access-control-request-method": "POST",
                                                      "access-control-request-headers": "authorization,content-type"})
    assert preflight.status in (200, 204) and preflight.headers["access-control-allow-origin"] == allowed
    assert "POST" in preflight.headers["access-control-allow-methods"]
    text = {"prompt": "Hello", "max_tokens": 2}
    for reply in (own.post("/v1/completions", text), own.post("/v1/completions", {**text, "stream": True}), own.post("/v1/completions", {}), own.get("/nothing")):
        assert reply.headers["access-control-allow-origin"] == allowed


# Unix sockets.

def test_a_unix_socket_answers_too(serve, tiny_models, tmp_path):
    path = tmp_path / "folio.sock"
    own = serve(tiny_models("qwen3"), "--unix-socket", path).wait()
    reply = exchange(UnixConnection(path), "POST", "/v1/completions", {"prompt": "Hello", "max_tokens": 2, "temperature": 0})
    assert reply.status == 200
    assert reply.json()["choices"] == own.post("/v1/completions", {"prompt": "Hello", "max_tokens": 2, "temperature": 0}).json()["choices"]
