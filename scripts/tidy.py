#!/usr/bin/env python3
"""tidy.py BUILD_DIR [BUDGET_SECONDS]: clang-tidy over src/, apps/ and tests/ with BUILD_DIR's compile commands.

With a budget, files are checked newest first (by the last commits where there is git) without the slow static
analyzer, and once it is spent the rest is counted, not checked. Without one everything is checked, by the analyzer
too. A file that passed is not checked again, in any checkout of this machine, until it, a header of ours that it
reaches, its flags or .clang-tidy change. Exit 1 on findings.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLANG_TIDY = "clang-tidy-19"
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def reached(source):
    """`source` and the headers of ours that it includes, directly or not."""
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in INCLUDE.findall(path.read_bytes()):
            for folder in (path.parent, *(ROOT / name for name in ("src", "include", "bridge", "apps", "tests"))):
                header = folder / os.fsdecode(name)
                if header.is_file():
                    todo.append(header.resolve())
                    break
    return sorted(seen)


def digest(paths, command):
    state = hashlib.sha256(" ".join(command).replace(str(ROOT), "").encode())
    for path in [ROOT / ".clang-tidy", *paths]:
        state.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()


def ages():
    """File -> how many changes ago the last commits touched it; uncommitted changes come first."""
    listings = (["git", "diff", "--name-only", "HEAD"], ["git", "log", "-n", "50", "--name-only", "--format="])
    order = []
    for command in listings:
        try:
            order += subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        except (OSError, subprocess.CalledProcessError):  # no git, or no repository
            pass
    return {ROOT / name: age for age, name in reversed(list(enumerate(order)))}


def tidy_command(build, source, analyzer):
    # The analyzer would walk through the test framework's macros: minutes, and no finds.
    checks = [] if analyzer and not source.name.endswith("_test.cc") else ["--checks=-clang-analyzer-*"]
    return [CLANG_TIDY, "-p", str(build), "--quiet", "--extra-arg=-Wno-deprecated-declarations",
            "--extra-arg=-Wno-unknown-warning-option", *checks, str(source)]


def main():
    build = Path(sys.argv[1]).resolve()
    budget = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
    deadline = time.monotonic() + budget
    passed = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "folio/tidy"
    passed.mkdir(parents=True, exist_ok=True)
    age, work = ages(), []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = Path(entry["file"])
        if not any(source.is_relative_to(ROOT / part) for part in ("src", "apps", "tests")) or not source.is_file():
            continue
        paths = reached(source)
        command = tidy_command(build, source, analyzer=budget == float("inf"))
        stamp = passed / digest(paths, [*command, entry["command"]])
        if not stamp.exists():
            work.append((min(age.get(path, len(age)) for path in paths), command, stamp))
    work.sort(key=lambda item: item[0])

    def check(item):
        _, command, stamp = item
        if time.monotonic() > deadline:
            return None
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            stamp.touch()
        else:
            print(done.stdout.strip() or done.stderr.strip(), flush=True)
        return done.returncode == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, work))
    failed = results.count(False)
    print(f"clang-tidy: {results.count(True)} files passed, {failed} failed, {results.count(None)} left for lack of time")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
