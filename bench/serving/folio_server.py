"""`folio serve` for the measurements of this folder."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLIO = os.environ.get("FOLIO_BIN") or str(ROOT / "build/release/bin/folio")


class FolioServer:
    """Runs while the `with` block does; `port` is where it listens."""

    def __init__(self, model, *options):
        command = [FOLIO, "serve", model, "--port", 0, *options]
        self.process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port, self._rest = None, None

    def __enter__(self):
        for line in self.process.stderr:
            if found := re.search(r"serving \S+ at http://127\.0\.0\.1:(\d+):", line):
                self.port = int(found[1])
                break
        else:
            sys.exit("folio serve did not start")
        self._rest = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *unused):
        self.process.terminate()
        self.process.wait()
        self._rest.wait()

    def cpu(self):
        """Seconds of CPU time of each thread."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        return {task.name: int((task / "schedstat").read_text(encoding="ascii").split()[0]) / 1e9 for task in tasks.iterdir()}
