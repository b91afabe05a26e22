"""`folio chat` at a terminal and in a pipe."""

import os
import termios

import pytest
from cli_checks import refused
from terminal import Terminal

GREEDY = ["--temperature", "0", "--max-tokens", "24"]
UP, LEFT = "\x1b[A", "\x1b[D"
PROMPT = "> "


@pytest.fixture
def chat(folio, smollm2):
    """chat(*options) starts it at a terminal, past its greeting."""
    open_terminals = []

    def start(*options, columns=80):
        terminal = Terminal([str(folio.binary), "chat", str(smollm2), *options], {**os.environ, "TERM": "xterm"}, columns)
        open_terminals.append(terminal)
        terminal.expect("/help")
        terminal.expect(PROMPT)
        return terminal

    yield start
    for terminal in open_terminals:
        terminal.close()


def ask(terminal, text):
    """Sends a message and gives the reply."""
    terminal.type(text + "\r")
    terminal.expect("\r\n\x1b[?2004l")  # the input is finished
    return terminal.expect("\x1b[?2004h").rstrip("\r\n")


def test_it_answers_and_remembers(chat):
    terminal = chat(*GREEDY)
    assert "Paris" in ask(terminal, "What is the capital of France?")
    first = ask(terminal, "/stats")
    assert " 0 of them cached" in first
    ask(terminal, "And of Italy?")
    assert " 0 of them cached" not in ask(terminal, "/stats"), "the second turn reuses the first"
    terminal.type("/quit\r")
    assert terminal.wait() == 0


def test_a_reply_streams_before_it_is_done(chat):
    terminal = chat("--temperature", "0", "--max-tokens", "300")
    terminal.type("Count from one to one hundred.\r")
    terminal.expect("\r\n\x1b[?2004l")
    while len(terminal.screen) - terminal.seen < 5:
        terminal.read()
    assert "\x1b[?2004h" not in terminal.screen[terminal.seen :]


def test_ctrl_c_stops_the_reply_and_the_next_turn_works(chat):
    terminal = chat("--temperature", "0")
    terminal.type("Write a very long story about the sea.\r")
    terminal.expect("\r\n\x1b[?2004l")
    while len(terminal.screen) - terminal.seen < 20:
        terminal.read()
    terminal.interrupt()
    terminal.expect("[stopped]", 10)
    terminal.expect(PROMPT)
    assert "tokens/s" in ask(terminal, "/stats")


def test_ctrl_c_twice_on_an_empty_line_leaves(chat):
    terminal = chat(*GREEDY)
    terminal.type("half a line")
    terminal.interrupt()  # only clears the line
    terminal.expect(PROMPT)
    terminal.interrupt()
    terminal.expect("to leave")
    terminal.expect(PROMPT)
    terminal.interrupt()
    assert terminal.wait() == 0


def test_ctrl_d_leaves_and_the_terminal_is_as_before(chat):
    terminal = chat(*GREEDY)
    terminal.type("\x04")
    assert terminal.wait() == 0
    assert terminal.settings()[3] & termios.ECHO and terminal.settings()[3] & termios.ICANON


def test_editing_and_history(chat):
    terminal = chat(*GREEDY)
    terminal.type("/hlp" + LEFT + LEFT + "e\r")
    terminal.expect("this list")
    terminal.expect(PROMPT)
    terminal.type(UP + "\r")
    terminal.expect("this list")


@pytest.mark.parametrize("typed", ["one\\\rtwo\r", '"""\rone\rtwo"""\r', "one\ntwo\r", "one\x1b\rtwo\r",
                                   "\x1b[200~one\rtwo\x1b[201~\r"])
def test_several_lines_are_one_message(chat, typed):
    terminal = chat(*GREEDY)
    terminal.type(typed)
    terminal.expect("\r\n\x1b[?2004l")
    terminal.expect("\x1b[?2004h")
    two_lines = ask(terminal, "/stats")
    ask(terminal, "/reset")
    terminal.type("\x1b[200~one\ntwo\x1b[201~\r")
    terminal.expect("\r\n\x1b[?2004l")
    terminal.expect("\x1b[?2004h")
    pasted = ask(terminal, "/stats")
    assert two_lines.split(" tokens")[0] == pasted.split(" tokens")[0] != ""


def test_long_lines_wrap_and_wide_characters_stay_whole(chat):
    terminal = chat(*GREEDY, columns=30)
    terminal.type("日本語 " * 12 + "👋")
    terminal.expect("👋")
    terminal.type("\x15/help\r")
    terminal.expect("this list")


def test_undo_again_system_and_unknown_commands(chat):
    terminal = chat("--temperature", "1.5", "--max-tokens", "16", "--seed", "3")
    assert "nothing" in ask(terminal, "/undo") and "nothing" in ask(terminal, "/again")
    first = ask(terminal, "Tell me a word.")
    assert ask(terminal, "/again") != first
    assert "taken back" in ask(terminal, "/undo")
    assert "system message set" in ask(terminal, "/system Be brief.")
    assert "/sing" in ask(terminal, "/sing")


def test_a_conversation_that_no_longer_fits_says_so_and_goes_on(chat):
    terminal = chat("--temperature", "0", "--context", "64", "--max-tokens", "8")
    assert "64" in ask(terminal, "word " * 100)
    assert "more than" not in ask(terminal, "Hi")


def test_in_a_pipe_each_line_is_a_turn_and_only_replies_are_printed(folio, smollm2):
    one = folio("run", smollm2, "--chat", "--prompt", "What is the capital of France?", *GREEDY)
    outcome = folio("chat", smollm2, *GREEDY, stdin="What is the capital of France?\n")
    assert outcome.code == 0 and outcome.err == ""
    assert outcome.out == one.out.removesuffix("\n") + "\n"
    empty = folio("chat", smollm2, *GREEDY, stdin="")
    assert (empty.code, empty.out, empty.err) == (0, "", "")


def test_a_turn_that_fails_in_a_pipe_is_the_exit_code(folio, smollm2):
    refused(folio("chat", smollm2, "--context", "32", stdin="word " * 100 + "\n"), 2, "32")


def test_same_seed_same_conversation(folio, smollm2):
    args = ["chat", smollm2, "--max-tokens", "12", "--temperature", "1.2"]
    lines = "Tell me something.\nMore.\n"
    assert folio(*args, "--seed", "9", stdin=lines).out == folio(*args, "--seed", "9", stdin=lines).out
    assert folio(*args, "--seed", "9", stdin=lines).out != folio(*args, "--seed", "10", stdin=lines).out


def test_the_prefix_cache_changes_no_reply(folio, smollm2):
    lines = "What is the capital of France?\nAnd of Italy?\nThank you.\n"
    with_cache = folio("chat", smollm2, *GREEDY, stdin=lines)
    without = folio("chat", smollm2, *GREEDY, "--no-prefix-cache", stdin=lines)
    assert with_cache.code == 0 and with_cache.out == without.out
