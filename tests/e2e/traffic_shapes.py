#!/usr/bin/env python3
"""Shapes of real clients' traffic: what was asked in which order, of how many messages and tools, how long each text was and
where two texts that differ do so, but none of the texts. Requests of the same shape and size are made from them, with words
of our own. The shapes in traffic/ were written from captured sessions by

    tests/e2e/traffic_shapes.py CAPTURE.json...

where a capture is {client, requests: [{scenario, path, headers, mock_answer, body}]}.
"""
import json
import random
import sys
from pathlib import Path

SHAPES = Path(__file__).resolve().parent / "traffic"
HEADERS = {"anthropic-version", "session-id", "thread-id", "user-agent", "x-client-request-id", "x-codex-window-id", "x-session-affinity",
           "x-session-id", "accept", "content-type", "x-stainless-lang"}
# Members whose strings are names of the protocol or of tools, and stay.
NAMES = {"type", "role", "status", "object", "syntax", "ttl", "effort", "summary", "mode", "verbosity", "name", "tool_choice", "include", "required",
         "model", "$schema", "format", "phase", *HEADERS}
LEAST_SHARED = 16  # characters that two texts begin with alike, for one to be written as the other's like
WORDS = """about above across after again along always another answer around array because before begin below between branch bring
build call change check close code column command compare complete copy correct count create current data default define delete
describe directory document each early edit either empty end enough enter error every example expect explain false field file find
first follow format function general give group handle have height help here history however image include index inside into issue
item join keep kind large last later leave letter level line list little local long make many mark match mean member message method
model module more move must name near need never next nothing number object offer often only open order other output over page
parent part pass path pattern place plain point possible present print process project provide public question quick range rather
read ready reason record remove repeat replace report request result return right round rule running same save search second section
select send sentence separate series server several short should show simple single small some sort source space special start state
step still store string strong structure such support system table task tell term test text than that their them then there these
thing this those thread time together token total true turn type under until update upper use user value version very wait want watch
well what when where which while whole width will with within without word work world would write wrong year""".split()


def text_of(seed, length):
    """`length` characters of words, the same for the same seed."""
    draw = random.Random(seed)
    text = ""
    while len(text) < length:
        text += draw.choice(WORDS) + draw.choices([" ", ", ", ".\n", "\n- "], [12, 2, 1, 1])[0]
    return text[:length]


def grammar_of(text):
    """A Lark grammar of any text, of the same length as `text` if that isn't shorter; what is over is a comment."""
    grammar = "start: /(.|\\n)+/\n"
    return grammar + "#" * (len(text) > len(grammar)) + text[len(grammar) + 1 :].replace("\n", " ")


def shared(left, right):
    count = 0
    for a, b in zip(left, right):
        if a != b:
            break
        count += 1
    return count


class ShapeWriter:
    """Collects what the requests of one capture have in common."""

    def __init__(self):
        self.texts, self.numbers, self.lists = [], {}, []

    def text(self, text):
        """{"t": number} for a text; the table has its length, or what it shares with an earlier one."""
        if text not in self.numbers:
            likes = [(shared(text, other), number) for other, number in self.numbers.items()]
            begin, like = max(likes, default=(0, 0))
            row = [len(text)]
            if begin >= LEAST_SHARED:
                other = self.texts_as_they_are[like]
                end = min(shared(text[::-1], other[::-1]), len(text) - begin, len(other) - begin)
                row += [like, begin, end]
            self.numbers[text] = len(self.texts)
            self.texts.append(row)
        return {"t": self.numbers[text]}

    @property
    def texts_as_they_are(self):
        return list(self.numbers)

    def shape(self, value, name=""):
        if isinstance(value, dict):
            return {key: self.shape(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            shapes = [self.shape(inner, name) for inner in value]
            if name != "tools" or not value:
                return shapes
            if shapes not in self.lists:
                self.lists.append(shapes)
            return {"l": self.lists.index(shapes)}
        if not isinstance(value, str) or name in NAMES or not value:
            return value
        if name == "arguments":
            return {"json": self.shape(json.loads(value)), "spaced": '": ' in value}
        return self.text(value)

    def capture(self, capture):
        requests = []
        for request in capture["requests"]:
            headers = {name.lower(): value for name, value in request["headers"].items() if name.lower() in HEADERS}
            requests.append({"scenario": request["scenario"], "path": request["path"], "mock_answer": request["mock_answer"],
                             "headers": headers, "body": self.shape(request["body"])})
        return {"client": capture["client"], "texts": self.texts, "lists": self.lists, "requests": requests}


class ShapeReader:
    """Makes requests of a shape."""

    def __init__(self, shape):
        self.shape = shape
        self.texts = []
        for number, row in enumerate(shape["texts"]):
            length, like, begin, end = (row + [0, 0, 0])[:4]
            fill = text_of(f"{shape['client']} {number}", length - begin - end)
            other = self.texts[like] if begin or end else ""
            self.texts.append(other[:begin] + fill + other[len(other) - end :])

    def value(self, shape):
        if isinstance(shape, list):
            return [self.value(inner) for inner in shape]
        if not isinstance(shape, dict):
            return shape
        if list(shape) == ["t"]:
            return self.texts[shape["t"]]
        if list(shape) == ["l"]:
            return self.value(self.shape["lists"][shape["l"]])
        if list(shape) == ["json", "spaced"]:
            return json.dumps(self.value(shape["json"]), separators=None if shape["spaced"] else (",", ":"))
        values = {key: self.value(inner) for key, inner in shape.items()}
        return {**values, "definition": grammar_of(values["definition"])} if "definition" in shape else values

    def capture(self):
        requests = [{**request, "body": self.value(request["body"])} for request in self.shape["requests"]]
        return {"client": self.shape["client"], "requests": requests}


def read(name):
    """A capture of the shape traffic/NAME.json."""
    return ShapeReader(json.loads((SHAPES / f"{name}.json").read_text(encoding="utf-8"))).capture()


def names():
    return sorted(path.stem for path in SHAPES.glob("*.json"))


def main():
    for path in sys.argv[1:]:
        shape = ShapeWriter().capture(json.loads(Path(path).read_text(encoding="utf-8")))
        out = SHAPES / f"{shape['client']}.json"
        out.write_text(json.dumps(shape, separators=(",", ":")) + "\n")
        print(out, out.stat().st_size)


if __name__ == "__main__":
    main()
