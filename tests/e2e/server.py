"""`folio serve`, started for a test on a free port or a unix socket, and ended as its users end it: by SIGTERM. Its log
is part of the contract: a line that no test expects fails the one that ends it."""
import hashlib
import http.client
import itertools
import json
import re
import signal
import socket
import subprocess
import threading
import time

import anthropic
import openai

REQUEST = r"/v1/[a-z/_]+ [0-9a-v]+( \[[^]]*\])? "
USUAL_LINES = re.compile(rf"serving \S+ at |loading on demand: |(un)?loaded \S+: |ending: waiting for \d+ connections$|ended$|\S+: the chat template (begins|leaves) |keys read again: \d+$|/\S* (\[\S+\] )?refused: \d\d\d|{REQUEST}(ok: |cancelled: )")
STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ")
MODEL = "a-name-of-the-clients-own"  # any name means the model that is served
_numbers = itertools.count(1)


def fresh_key():
    """A key that nobody has used: where no keys are asked for, each has a cache and stored responses of its own."""
    return f"key-{next(_numbers)}-{time.time_ns()}"


def key_line(name, key, *limits):
    """A line of a server's key file."""
    return " ".join([name, hashlib.sha256(key.encode()).hexdigest(), *limits]) + "\n"


class Reply:
    """What came back for one request without an SDK in between."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def exchange(connection, method, path, body=None, headers=None):
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


class Server:
    """One running server. `Server(...)` returns at once; `wait()` waits until it answers."""

    _clients = {}  # an HTTP client of each SDK's kind: making one costs more than a request

    def __init__(self, binary, model, *args, env=None):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            [str(binary), "serve", str(model), "--port", "0", *map(str, args)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        self.lines = []
        self.port = None
        self._ending = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            with self._news:
                self.lines.append(STAMP.sub("", line.rstrip("\n"), count=1))
                self._news.notify_all()
        with self._news:
            self.lines.append(None)
            self._news.notify_all()

    def wait_for_line(self, pattern, seconds=60):
        """The first line of the log that matches."""
        deadline = time.monotonic() + seconds
        at = 0
        with self._news:
            while True:
                for line in self.lines[at:]:
                    assert line is not None, f"the server ended: {self.lines}"
                    if found := re.search(pattern, line):
                        return found
                at = len(self.lines)
                assert self._news.wait(deadline - time.monotonic()), f"no line {pattern!r} in {self.lines}"

    def wait(self):
        self.port = int(self.wait_for_line(r"^serving \S+ at http://127\.0\.0\.1:(\d+):")[1])
        assert self.get("/ready").status == 200
        return self

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def request(self, method, path, body=None, headers=None):
        return exchange(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60), method, path, body, headers)

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def post(self, path, body, key=None, **headers):
        if key:
            headers["authorization"] = f"Bearer {key}"
        return self.request("POST", path, body, headers)

    def connect(self):
        """A socket on which nothing was sent."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def _http_client(self, sdk):
        if sdk not in self._clients:
            self._clients[sdk] = sdk.DefaultHttpxClient(trust_env=False, timeout=60)
        return self._clients[sdk]

    def openai(self, key=None, retries=0):
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=key or fresh_key(), max_retries=retries,
                             http_client=self._http_client(openai))

    def anthropic(self, key=None, retries=0):
        return anthropic.Anthropic(base_url=self.url, api_key=key or fresh_key(), max_retries=retries,
                                   http_client=self._http_client(anthropic))

    def metrics(self, key=None):
        """Name -> the sum over its labels."""
        values = {}
        headers = {"authorization": f"Bearer {key}"} if key else {}
        for line in self.request("GET", "/metrics", headers=headers).body.decode().splitlines():
            if not line.startswith("#"):
                name = re.split(r"[{ ]", line, maxsplit=1)[0]
                values[name] = values.get(name, 0) + float(line.rsplit(" ", 1)[1])
        return values

    def wait_for_metric(self, name, value, key=None, seconds=20):
        deadline = time.monotonic() + seconds
        while (now := self.metrics(key)[name]) != value:
            assert time.monotonic() < deadline, f"{name} is {now}, not {value}"
            time.sleep(0.01)

    def signal(self, number):
        self._ending = self._ending or number in (signal.SIGTERM, signal.SIGINT)
        self.process.send_signal(number)

    def stop(self, expected=None):
        """Ends it, and checks that its log has nothing but the usual lines and those that `expected` matches."""
        if self.process.poll() is None and not self._ending:  # a second signal would end it at once
            self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._reader.join()
            out = self.process.stdout.read()
            self.process.stdout.close()
            self.process.stderr.close()
        lines = [line for line in self.lines if line is not None]
        strange = [line for line in lines if not USUAL_LINES.match(line) and not (expected and re.search(expected, line))]
        assert (code, out, strange) == (0, "", []), lines[-20:]
        return lines
