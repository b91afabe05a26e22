"""The text room without a model: tests/tools/text_driver.cc, one process for many requests."""
import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def driver_path():
    if os.environ.get("FOLIO_BUILD_DIR"):
        path = Path(os.environ["FOLIO_BUILD_DIR"]) / "bin/text_driver"
    elif os.environ.get("FOLIO_BIN"):
        path = Path(os.environ["FOLIO_BIN"]).parent / "text_driver"
    else:
        path = ROOT / "build/release/bin/text_driver"
    assert path.is_file(), f"{path} is not built; ./test builds it"
    return path


def ask(mode, model, requests, timeout=300):
    """The replies to all requests, in order."""
    done = subprocess.run([driver_path(), mode, model], input="".join(json.dumps(r) + "\n" for r in requests), text=True,
                          capture_output=True, timeout=timeout, check=False)
    replies = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert done.returncode == 0 and len(replies) == len(requests), (done.returncode, replies[-1:], done.stderr)
    return replies


def encode(model, lines, special=False):
    replies = ask("tokenizer", model, [{"text": line, "special": special} for line in lines])
    return [reply.get("ids", reply) for reply in replies]
