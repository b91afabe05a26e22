"""The header of reference values is the one that its script writes."""

import pathlib

import make_position_references


def test_the_header_is_what_the_script_writes():
    assert pathlib.Path(make_position_references.HEADER).read_text(encoding="utf-8") == make_position_references.header()
