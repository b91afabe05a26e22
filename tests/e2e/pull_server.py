"""A local stand-in for a model hub and its storage: as well behaved, or as badly, as a test asks."""

import dataclasses
import hashlib
import http.server
import json
import re
import socket
import threading
import time


def gguf_bytes(size, seed=1):
    """Bytes that start like a GGUF file: `folio pull` looks at the magic only."""
    block = hashlib.sha256(str(seed).encode()).digest()
    return (b"GGUF" + block * (size // len(block) + 1))[:size]


@dataclasses.dataclass
class File:
    """What is behind a path, and how it is served."""

    body: bytes
    etag: str = None  # default: '"<sha256>"'; "" for none
    linked_etag: str = None  # sent as X-Linked-ETag
    ranges: bool = True  # False: a server that ignores Range
    status: list = dataclasses.field(default_factory=list)  # answered first, one a request
    cut: list = dataclasses.field(default_factory=list)  # bytes after which a request is cut, one a request
    stall: list = dataclasses.field(default_factory=list)  # bytes after which a request gets no more, one a request
    length: int = None  # a Content-Length that lies
    seconds: float = 0  # how long sending takes

    @property
    def sha256(self):
        return hashlib.sha256(self.body).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` (path -> File) and `redirects` (path -> URL); keeps the requests it got."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {}
        self.redirects = {}
        self.requests = []
        self.stopping = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add_repo(self, repo, files, revision="0123456789abcdef0123456789abcdef01234567", **listing):
        """A repository of the hub: its listing, and its files as File objects or bytes."""
        siblings = [{"rfilename": "README.md"}]
        for name, file in files.items():
            file = file if isinstance(file, File) else File(file)
            siblings.append({"rfilename": name, "size": len(file.body), "lfs": {"sha256": file.sha256}})
            self.files[f"/{repo}/resolve/{revision}/{name}"] = file
        document = {"sha": revision, "siblings": siblings, **listing}
        self.files[f"/api/models/{repo}"] = File(json.dumps(document).encode())

    def paths(self):
        return [request["path"] for request in self.requests]

    def close(self):
        self.stopping.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request, client_address):
        pass  # a client that hangs up is part of these tests


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        path = self.path.split("?")[0]
        self.server.requests.append({"path": path, "headers": dict(self.headers)})
        if path in self.server.redirects:
            self._head(302, {"Location": self.server.redirects[path], **self._linked(path)}, 0)
        elif path not in self.server.files:
            self._head(404, {}, 0)
        else:
            self._file(self.server.files[path])

    def _linked(self, path):
        file = self.server.files.get(path)
        return {"X-Linked-ETag": f'"{file.sha256}"'} if file else {}

    def _head(self, status, headers, length):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _file(self, file):
        if file.status:
            self._head(file.status.pop(0), {}, 0)
            return
        etag = f'"{file.sha256}"' if file.etag is None else file.etag
        headers = {"ETag": etag} if etag else {}
        if file.linked_etag is not None:
            headers["X-Linked-ETag"] = file.linked_etag
        body, status = file.body, 200
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        fresh = self.headers.get("If-Range", etag) == etag
        if asked and file.ranges and fresh:
            start = int(asked[1])
            if start >= len(file.body):
                self._head(416, {"Content-Range": f"bytes */{len(file.body)}"}, 0)
                return
            end = min(int(asked[2]) + 1 if asked[2] else len(file.body), len(file.body))
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(file.body)}"
            body, status = file.body[start:end], 206
        self._head(status, headers, len(body) if file.length is None else file.length)
        if file.stall:
            self.wfile.write(body[: file.stall.pop(0)])
            self.server.stopping.wait(60)
            return
        if file.cut:
            self.wfile.write(body[: file.cut.pop(0)])
            self.wfile.flush()
            time.sleep(0.05)
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        step = max(1, len(body) // 20) if file.seconds else max(1, len(body))
        for start in range(0, len(body), step):
            self.wfile.write(body[start : start + step])
            time.sleep(file.seconds / 20)
