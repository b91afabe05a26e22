"""The vectors that the document shows and the C++ test expects are those of an independent implementation."""

import pathlib
import re

import block_hash

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEX = re.compile(r"\b[0-9a-f]{64}\b")


def test_the_documents_vectors_are_what_hashlib_gives():
    text = (ROOT / "docs/design/block-hash.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| (.+?) \|.*\| `([0-9a-f]{64})` \|$", text, re.MULTILINE))
    assert table == {name: digest.hex() for name, digest in block_hash.vectors().items()}


def test_the_unit_test_expects_the_same_vectors():
    expected = {digest.hex() for digest in block_hash.vectors().values()}
    source = (ROOT / "src/kvcache/block_hash_test.cc").read_text(encoding="utf-8")
    assert set(HEX.findall(source)) == expected
