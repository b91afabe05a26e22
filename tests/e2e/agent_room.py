"""A place where coding agents run headless: a network of nothing but loopback, so that what works there needs no
internet, and in it `folio serve` with the model that follows a script."""
import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

from server import Server, UnixConnection, exchange

ENDED = ("vllm:e2e_request_latency_seconds_count", "folio_requests_failed_total", "folio_requests_cancelled_total")
RUNNING = ("vllm:num_requests_running", "vllm:num_requests_waiting")

# Brings loopback up, says so, and stays until its standard input ends.
HOLD_NETWORK = """
import fcntl, socket, struct, sys
up = socket.socket()
flags = struct.unpack("16xh", fcntl.ioctl(up, 0x8913, struct.pack("16sh14x", b"lo", 0))[:18])[0]
fcntl.ioctl(up, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))
print("up", flush=True)
sys.stdin.read()
"""


class Network:
    """A network namespace. Where the system gives none, as in some containers, the commands have the network that is
    there: `is_private` tells."""

    def __init__(self):
        self._holder = subprocess.Popen(  # pylint: disable=consider-using-with
            ["unshare", "--map-root-user", "--net", sys.executable, "-c", HOLD_NETWORK], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.is_private = self._holder.stdout.readline() == "up\n"

    def command(self, *args):
        """These words, run in the network."""
        words = [str(arg) for arg in args]
        if not self.is_private:
            return words
        return ["nsenter", "--preserve-credentials", "--user", "--net", "--target", str(self._holder.pid), *words]

    def close(self):
        self._holder.stdin.close()
        self._holder.stdout.close()
        self._holder.wait()


class RoomServer(Server):
    """A server in a network of its own, asked from outside through a unix socket."""

    def __init__(self, network, folder, binary, *args):
        launcher = folder / "serve"
        launcher.write_text("#!/bin/sh\nexec " + shlex.join(network.command(binary)) + ' "$@"\n')
        launcher.chmod(0o755)
        self._socket = folder / "socket"
        super().__init__(launcher, *args, "--unix-socket", self._socket)

    def request(self, method, path, body=None, headers=None):
        return exchange(UnixConnection(self._socket), method, path, body, headers)


@dataclasses.dataclass
class Turn:
    """What the server's log says of one request."""

    endpoint: str
    prompt: int
    cached: int
    generated: int

    @staticmethod
    def of(line):
        found = re.match(r"(\S+) \S+(?: \[[^]]*\])? ok: prompt (\d+) \((\d+) cached[^)]*\), (\d+) generated", line)
        return Turn(found[1], *(int(found[group]) for group in (2, 3, 4))) if found else None


@dataclasses.dataclass
class Run:
    """How one run of a client ended, and the requests that it made."""

    code: int
    out: str
    err: str
    seconds: float
    turns: list

    def events(self):
        """The lines of its output, for clients that write JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


class Room:
    """A server and a home for one client."""

    def __init__(self, folio, model, folder):
        self.folio, self.network = folio.binary, Network()
        self.home, self.work = folder / "home", folder / "work"
        for path in (self.home, self.work):
            path.mkdir()
        self.turns = []  # of all runs
        self.server = RoomServer(self.network, folder, folio.binary, model, "--memory", "1GiB").wait()

    def run(self, *args, env=None, seconds=60):
        """Runs a command to its end in the room, with nothing of this user's settings."""
        clean = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "dumb", "CI": "1", **(env or {})}
        seen = len(self.server.lines)
        start = time.monotonic()
        with subprocess.Popen(self.network.command(*args), cwd=self.work, env=clean, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                raise AssertionError(f"not ended after {seconds} s: {out[-2000:]}{err[-2000:]}") from None
        took = time.monotonic() - start
        self._wait_for_log()
        turns = [turn for turn in map(Turn.of, self.server.lines[seen:]) if turn]
        self.turns += turns
        return Run(process.returncode, out, err, took, turns)

    def _wait_for_log(self, seconds=10):
        """A request's line may come after the client has had its reply: waits until each request has one."""
        deadline = time.monotonic() + seconds
        while True:
            metrics = self.server.metrics()
            asked = sum(re.match(r"/v1/\S+ \S+ .*(ok|cancelled|failed)", line) is not None for line in self.server.lines)
            counted = sum(metrics[name] for name in ENDED)
            if asked == counted and not any(metrics[name] for name in RUNNING):
                return
            assert time.monotonic() < deadline, f"{asked} requests in the log, {counted} counted"
            time.sleep(0.05)

    def close(self):
        try:
            return self.server.stop()
        finally:
            self.network.close()
