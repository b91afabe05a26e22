"""Requests that ask for far more than they are long: name -> (path, body as bytes, more header fields). None may cost the server
more than a moment and a few megabytes."""
import gzip
import json
import zlib

import zstandard

CHAT, TEXT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"
USER = {"role": "user", "content": "Hello"}
LIMIT = 16 << 20  # of a body
SIZE = 256  # MiB that a packed body unpacks to


def chat(**more):
    return CHAT, json.dumps({"messages": [USER], "max_tokens": 4, **more}).encode()


def raw(path, before, bomb, after):
    return path, before.encode() + bomb + after.encode()


def json_bombs():
    """JSON that is deep, wide or odd."""
    head, tail = '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":4,"metadata":', "}"
    for path in (CHAT, RESPONSES, MESSAGES, "/tokenize"):
        yield f"deep-lists-{path}", raw(path, head, b"[" * 10_000 + b"]" * 10_000, tail)
        yield f"deep-objects-{path}", raw(path, head, b'{"a":' * 10_000 + b"1" + b"}" * 10_000, tail)
    yield "open-lists", (CHAT, b"[" * (LIMIT - 1))
    yield "open-objects", (CHAT, b'{"":' * (LIMIT // 4 - 1))
    yield "eight-million-values", raw(CHAT, head, b"[" + b"0," * (7 << 20) + b"0]", tail)
    yield "a-million-members", raw(CHAT, head, b"{" + b",".join(b'"%x":0' % number for number in range(1_200_000)) + b"}", tail)
    yield "a-number-of-ten-million-digits", raw(CHAT, '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":', b"9" * 10_000_000, tail)
    yield "a-number-too-large", (CHAT, b'{"messages":[{"role":"user","content":"Hello"}],"temperature":1e999999999}')
    yield "a-role-of-ten-megabytes", chat(messages=[{"role": "x" * 10_000_000, "content": "Hello"}])
    for name, byte in [("nul", b"\0"), ("invalid", b"\xff"), ("cut", b"\xe2\x82"), ("overlong", b"\xc0\xaf"), ("surrogate-bytes", b"\xed\xa0\x80")]:
        yield f"text-{name}", raw(CHAT, '{"messages":[{"role":"user","content":"', b"Hello " + byte, '"}]}')
    for name, escape in [("lone-high", rb"\ud83d"), ("lone-low", rb"\ude00"), ("swapped", rb"\ude00\ud83d"), ("cut", rb"\ud8")]:
        yield f"surrogate-{name}", raw(CHAT, '{"messages":[{"role":"user","content":"', escape, '"}]}')
        yield f"surrogate-key-{name}", raw(MESSAGES, '{"max_tokens":4,"messages":[{"role":"user","content":"Hello"}],"metadata":{"', escape, '":1}}')


def number_bombs():
    """Fields whose values are out of all proportion."""
    for name in ("n", "max_tokens", "max_completion_tokens", "top_logprobs", "seed"):
        for value in (2**63, 2**64, 10**30, -(2**63) - 1, 1e300):
            if name != "seed" or isinstance(value, float):
                yield f"{name}-{value}", chat(**{name: value})
    yield "n-2147483647", chat(n=2**31 - 1)
    yield "n-100000", (TEXT, json.dumps({"prompt": "Hello", "n": 100_000, "max_tokens": 4}).encode())
    yield "best-of-everything", (TEXT, json.dumps({"prompt": ["Hello"] * 100_000, "n": 64, "max_tokens": 4}).encode())
    yield "responses-max", (RESPONSES, json.dumps({"input": "Hello", "max_output_tokens": 2**63}).encode())
    yield "messages-max", (MESSAGES, json.dumps({"messages": [USER], "max_tokens": 2**63}).encode())
    yield "messages-top-k", (MESSAGES, json.dumps({"messages": [USER], "max_tokens": 4, "top_k": 2**63}).encode())


def size_bombs():
    """Lists that are long."""
    yield "a-million-messages", raw(CHAT, '{"messages":[', b",".join([b'{"role":"user"}'] * 500_000), "]}")
    yield "a-hundred-thousand-turns", chat(messages=[USER, {"role": "assistant", "content": "Hi"}] * 60_000 + [USER])
    yield "a-million-parts", chat(messages=[{"role": "user", "content": [{"type": "text", "text": "a "}] * 300_000}])
    yield "long-text", chat(messages=[{"role": "user", "content": "word " * 3_000_000}])
    yield "one-long-word", chat(messages=[{"role": "user", "content": "a" * 1_000_000}])
    yield "spaces", (TEXT, json.dumps({"prompt": " \n" * 4_000_000}).encode())
    tool = {"type": "function", "function": {"name": "f", "description": "d" * 100, "parameters": {"type": "object", "properties": {}}}}
    yield "fifty-thousand-tools", chat(tools=[{**tool, "function": {**tool["function"], "name": f"f{number}"}} for number in range(50_000)])
    yield "a-hundred-thousand-stops", chat(stop=["x"] * 100_000)
    yield "a-long-stop", chat(stop="x" * 1_000_000)
    yield "a-wide-tool", chat(tools=[{"type": "function", "function": {"name": "f", "strict": True, "parameters": {
        "type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(100_000)}}}}], tool_choice="required")


def packed_bombs():
    """A few kilobytes that unpack to far more than a body may have, or ask for memory to unpack into."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(SIZE)) + packer.flush()
    yield "gzip-of-spaces", (CHAT, data, "gzip")
    packer = zstandard.ZstdCompressor(level=3).compressobj()
    data = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(SIZE)) + packer.flush()
    yield "zstd-of-spaces", (CHAT, data, "zstd")
    yield "gzip-in-gzip", (CHAT, gzip.compress(gzip.compress(b" " * (15 << 20))), "gzip")
    yield "a-million-gzip-members", (CHAT, gzip.compress(b"") * 400_000, "gzip")
    yield "a-million-zstd-frames", (CHAT, zstandard.ZstdCompressor().compress(b"") * 800_000, "zstd")
    yield "zstd-frames-to-skip", (CHAT, b"\x50\x2a\x4d\x18\0\0\0\0" * 1_000_000, "zstd")
    for log in (24, 27, 31):
        yield f"zstd-window-{log}", (CHAT, b"\x28\xb5\x2f\xfd" + bytes([0x00, (log - 10) << 3]) + b"\x01\x00\x00", "zstd")
    yield "zstd-that-promises-much", (CHAT, b"\x28\xb5\x2f\xfd\xe0" + b"\xff" * 8 + b"\x01\x00\x00", "zstd")
    yield "two-packings", (CHAT, gzip.compress(b"{}"), "gzip, gzip")


def nested(schema, depth):
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def schema_bombs():
    """JSON schemas that make automata explode."""
    text = {"type": "string"}
    yield "nested-60", nested(text, 60)
    yield "5000-optional", {"type": "object", "properties": {f"p{number}": text for number in range(5000)}}
    yield "400-optional", {"type": "object", "properties": {f"p{number}": text for number in range(400)}}
    yield "enum-of-50000", {"enum": [f"value {number}" for number in range(50_000)]}
    yield "enum-of-3000", {"enum": [f"value {number} {number * 7919 % 3001}" for number in range(3000)]}
    yield "pattern-of-a-megabyte", {"type": "string", "pattern": "a" * 1_000_000}
    yield "pattern-of-60-kilobytes", {"type": "string", "pattern": "(ab?c*|d+e)" * 5500}
    yield "pattern-of-powers", {"type": "string", "pattern": "^((((a{1,100}){1,100}){1,100}){1,100})$"}
    yield "pattern-of-choices", {"type": "string", "pattern": "^(a|b|ab|ba|aa)*" + "[ab]" * 40 + "$"}
    yield "pattern-deep", {"type": "string", "pattern": "(" * 20_000 + "a" + ")" * 20_000}
    yield "lookaround", {"type": "string", "pattern": "^(?=a)(?!b)a$"}
    yield "all-of-any-of", {"allOf": [{"anyOf": [{"type": "object", "properties": {f"p{a}{b}": text}, "required": [f"p{a}{b}"]} for b in range(12)]}
                                      for a in range(12)]}
    yield "all-of-all-of", {"allOf": [{"allOf": [{"allOf": [{"properties": {f"p{a}{b}{c}": text}} for c in range(8)]} for b in range(8)]} for a in range(8)]}
    yield "one-of-everything", {"oneOf": [{"type": "object", "properties": {f"p{number}": {"oneOf": [text, {"type": "number"}]}}} for number in range(300)]}
    yield "itself", {"$ref": "#"}
    yield "in-a-circle", {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}
    doubled = {f"d{number}": {"type": "object", "properties": {"l": {"$ref": f"#/$defs/d{number + 1}"}, "r": {"$ref": f"#/$defs/d{number + 1}"}},
                              "required": ["l", "r"]} for number in range(40)}
    yield "references-that-double", {"$defs": {**doubled, "d40": text}, "$ref": "#/$defs/d0"}
    yield "another-place", {"$ref": "http://127.0.0.1:1/schema.json"}
    yield "a-file", {"$ref": "file:///etc/passwd"}
    yield "long-lists", {"type": "array", "items": text, "minItems": 10**9, "maxItems": 2 * 10**9}
    yield "lists-of-lists", {"type": "array", "minItems": 500, "items": {"type": "array", "minItems": 500, "items": {"type": "array", "minItems": 500}}}
    yield "unique-items", {"type": "array", "items": {"enum": list(range(1000))}, "uniqueItems": True}
    yield "long-text", {"type": "string", "minLength": 10**9, "maxLength": 2**62}
    yield "multiples", {"allOf": [{"multipleOf": number} for number in (19_997, 19_993, 19_991)]}
    yield "a-multiple", {"type": "number", "multipleOf": 1e-300}
    yield "numbers-between", {"type": "integer", "minimum": -(10**300), "maximum": 10**300}
    yield "patterns-of-names", {"type": "object", "patternProperties": {f"^p{number}.*{number}$": text for number in range(1000)}}
    yield "no-schema", {"type": 5, "properties": [], "required": "a"}


def grammar_bombs():
    """Lark grammars and regular expressions that do."""
    yield "rules-in-a-chain", ("lark", "".join(f"r{number}: r{number + 1}\n" for number in range(3000)).replace("r0:", "start:", 1) + 'r3000: "a"\n')
    yield "terminals-in-a-chain", ("lark", "start: T0\n" + "".join(f"T{number}: T{number + 1}\n" for number in range(1500)) + 'T1500: "a"\n')
    yield "rules-of-nothing", ("lark", "start: a a a a a a a a\na: b?\nb: c? c? c? c?\nc: start?\n")
    yield "left-and-right", ("lark", 'start: start start start | "a" | \n')
    yield "deep-groups", ("lark", "start: " + "(" * 20_000 + '"a"' + ")" * 20_000 + "\n")
    yield "repeated", ("lark", 'start: ((("a"{1,1000}){1,1000}){1,1000}){1,1000}\n')
    yield "20000-rules", ("lark", "start: r1\n" + "".join(f'r{number}: "a{number}"\n' for number in range(20_000)))
    yield "json-in-lark", ("lark", 'start: %json {"type": "object", "properties": ' + '{"a": {"type": "object", "properties": ' * 2000 + "{}" + "}}" * 2000 + "}\n")
    yield "no-lark", ("lark", "start: \"a\" | %%% ( { \n")
    yield "regex-of-powers", ("regex", "((a{1,1000}){1,1000}){1,1000}")
    yield "regex-deep", ("regex", "(" * 30_000 + ")" * 30_000)


def long_grammar_bombs():
    """More of them, whose description alone is a prompt of seconds."""
    yield "terminals-that-double", ("lark", "start: T0\n" + "".join(f"T{number}: T{number + 1} T{number + 1}\n" for number in range(50)) + 'T50: "a"\n')
    yield "rules-that-double", ("lark", "start: r0\n" + "".join(f"r{number}: r{number + 1} r{number + 1}\n" for number in range(50)) + 'r50: "a"\n')
    yield "regex-classes", ("regex", r"[\p{L}\p{N}]{1,2000}" * 40)
