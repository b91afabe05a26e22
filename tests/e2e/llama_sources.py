"""Vocabularies with cases and chat templates from the source package of llama-cpp-python, fetched once and never built.

pip insists on asking a source package for its metadata, which for this one would build CMake; a stand-in for its build
backend answers instead. The extracted folder is FOLIO_TEST_CACHE/llama-cpp-python-VERSION (default ~/.cache/folio-tests).
"""
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

VERSION = "0.3.36"
BACKEND = '''import os
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = "llama_cpp_python-%s.dist-info"
    os.makedirs(os.path.join(directory, name))
    with open(os.path.join(directory, name, "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\\nName: llama-cpp-python\\nVersion: %s\\n")
    return name
''' % (VERSION, VERSION)


def wanted(name):
    inside = name.split("/", 1)[-1]
    return inside.startswith("vendor/llama.cpp/models/") or inside == "vendor/llama.cpp/src/llama-vocab.cpp"


def fetch(target):
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        backend = Path(scratch) / "backend/scikit_build_core/build"
        backend.mkdir(parents=True)
        (backend.parent / "__init__.py").write_text("")
        (backend / "__init__.py").write_text(BACKEND)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation",
             "--disable-pip-version-check", "--dest", scratch, f"llama-cpp-python=={VERSION}"],
            check=True, env={**os.environ, "PYTHONPATH": str(Path(scratch) / "backend")}, timeout=600)
        archive, = Path(scratch).glob("*.tar.gz")
        out = Path(scratch) / "out"
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isfile() and wanted(member.name):
                    extract(tar, member, out / member.name.split("/", 1)[1])
        os.rename(out, target)


def extract(tar, member, path):
    """One file: Debian 12's Python has no extractall with a filter."""
    if ".." in path.parts:
        raise ValueError(f"{member.name}: leaves its folder")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tar.extractfile(member) as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)


def llama_cpp():
    """The folder vendor/llama.cpp of the package."""
    cache = Path(os.environ.get("FOLIO_TEST_CACHE") or Path.home() / ".cache/folio-tests")
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"llama-cpp-python-{VERSION}"
    if not target.is_dir():
        fetch(target)
    return target / "vendor/llama.cpp"


@pytest.fixture(scope="session")
def llama_cpp_folder():
    return llama_cpp()
