"""Checks that several command-line tests share."""


def refused(outcome, code, *words):
    """The command ended with `code`, one line on stderr that has these words, and nothing on stdout."""
    assert outcome.code == code, (outcome.code, outcome.err)
    assert outcome.out == ""
    assert outcome.err.startswith("folio: error: ") and outcome.err.count("\n") == 1, outcome.err
    for word in words:
        assert word in outcome.err, outcome.err
