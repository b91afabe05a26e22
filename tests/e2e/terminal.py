"""A program at a pseudo-terminal, driven as a person would: type, look, wait."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    """Starts `args` with its three streams at a terminal of `columns`."""

    def __init__(self, args, env, columns=80):
        self.screen = ""  # everything that was printed so far
        self.seen = 0  # up to where `expect` has looked
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(args[0], args, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, seconds=0.1):
        """What is printed within `seconds`; "" at the end or if there is nothing."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return ""
        try:
            text = os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            return ""
        self.screen += text
        return text

    def expect(self, text, seconds=60):
        """Waits until `text` is printed after what the last `expect` saw; gives what stood before it."""
        deadline = time.monotonic() + seconds
        while text not in self.screen[self.seen :]:
            assert time.monotonic() < deadline, f"{text!r} did not come; there is {self.screen[self.seen:]!r}"
            self.read()
        at = self.screen.index(text, self.seen)
        before = self.screen[self.seen : at]
        self.seen = at + len(text)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def interrupt(self):
        """Ctrl-C, by the terminal's line discipline if that is on, else as a byte for the program."""
        self.type("\x03")

    def wait(self, seconds=20):
        """The exit code."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = None
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(f"still running; {self.screen[self.seen:]!r}")

    def settings(self):
        return termios.tcgetattr(self.fd)

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)
