"""Many clients of one server at once, without an SDK between: streams whose every event is timed, connections that say nothing,
clients that stall or vanish."""
import asyncio
import dataclasses
import json
import random
import re
import resource
import time
from pathlib import Path

from raw_http import request_bytes

PATHS = ("/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages")
ENDS = {"/v1/messages": (b"event: message_stop",), "/v1/responses": (b"event: response.completed", b"event: response.incomplete")}
FAILURES = (b'"error":{', b"event: error", b"event: response.failed")


def allow_files(count):
    """Connections are files; the usual limit may be lower than what is needed here and allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def body_of(path, text, tokens):
    body = {"temperature": 1.0, "seed": len(text), "stream": True}
    if path == "/v1/completions":
        return {**body, "prompt": text, "max_tokens": tokens}
    if path == "/v1/responses":
        return {**body, "input": text, "max_output_tokens": max(tokens, 1), "store": False}
    return {**body, "messages": [{"role": "user", "content": text}], "max_tokens": tokens}


@dataclasses.dataclass
class Load:
    """What clients saw."""

    gaps: list = dataclasses.field(default_factory=list)  # seconds between two pieces of one stream
    firsts: list = dataclasses.field(default_factory=list)  # seconds from request to the first piece
    whole: int = 0
    pieces: int = 0
    errors: list = dataclasses.field(default_factory=list)

    def percentile(self, share):
        ordered = sorted(self.gaps)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else 0.0


class Clients:
    def __init__(self, port, load=None, seed=1):
        self.port, self.load, self.random = port, load or Load(), random.Random(seed)

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)

    async def stream(self, path, text, tokens, begun=None):
        """One reply from its request to its end; `begun` is called when its head is there."""
        reader, writer = await self.connect()
        try:
            last = time.monotonic()
            writer.write(request_bytes("POST", path, json.dumps(body_of(path, text, tokens)).encode(), "Connection: close"))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200 "):
                self.load.errors.append(head + await reader.read())
                return
            if begun:
                begun()
            pieces, tail = 0, b""
            while data := await reader.read(65536):
                now = time.monotonic()
                if count := data.count(b"data: {"):
                    (self.load.gaps if pieces else self.load.firsts).append(now - last)
                    last, pieces = now, pieces + count
                    self.load.pieces += count
                tail = (tail + data)[-4096:]
            if any(end in tail for end in ENDS.get(path, (b"data: [DONE]",))) and not any(failure in tail for failure in FAILURES):
                self.load.whole += 1
            else:
                self.load.errors.append(tail)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.load.errors.append(repr(error).encode())
        finally:
            writer.close()

    async def vanish(self, path, text):
        """Sends some of a request, or reads some of a reply, then is gone: closed, or silent with an unread reply."""
        reader, writer = await self.connect()
        data = request_bytes("POST", path, json.dumps(body_of(path, text, 200)).encode())
        kind = self.random.choice(["half", "unread", "cut", "silent"])
        try:
            writer.write(data[: self.random.randrange(len(data))] if kind == "half" else data)
            if kind == "cut":
                await reader.read(self.random.randrange(1, 4000))
            await asyncio.sleep(self.random.random() * (3 if kind == "silent" else 0.5))
        except OSError:
            pass  # gone already
        finally:
            if kind == "cut":
                writer.transport.abort()
            else:
                writer.close()

    async def keep_asking(self, number, tokens, seconds):
        """One reply after the other, of one dialect after the other."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            await self.stream(PATHS[number % len(PATHS)], f"Hello {number}", tokens)
            number += 1

    async def hold(self, count, until, speak_after=60):
        """Connections that say nothing, until the event is set, but for a word now and then, so that they aren't taken for dead;
        how many were still open then."""
        pairs = [await self.connect() for _ in range(count)]
        while not until.is_set():
            try:
                await asyncio.wait_for(until.wait(), speak_after)
            except TimeoutError:
                for reader, writer in pairs:
                    writer.write(request_bytes("HEAD", "/health"))
                    await reader.readuntil(b"\r\n\r\n")
        for reader, writer in pairs:
            writer.write(request_bytes("HEAD", "/health"))
        heads = await asyncio.gather(*(reader.read(12) for reader, _ in pairs), return_exceptions=True)
        for _, writer in pairs:
            writer.close()
        return heads.count(b"HTTP/1.1 200")


def memory_of(pid):
    """(resident now, resident at most) in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return tuple(int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) * 1024 for name in ("VmRSS", "VmHWM"))
