"""The encoding of docs/design/block-hash.md, written from that text with hashlib alone, and its test vectors.

Run as a script it prints the vectors as the document's table has them.
"""

import hashlib
import struct


def u64(value):
    return struct.pack("<Q", value)


def u32(value):
    return struct.pack("<I", value)


def string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return u64(len(data)) + data


def context_hash(*, model="", block_size=16, positions="", prompt="", generated="", kv_type="bf16", salt=""):
    message = b"FKC1" + string(model) + u32(block_size)
    message += b"".join(map(string, (positions, prompt, generated, kv_type, salt)))
    return hashlib.sha256(message).digest()


def block_hash(parent, tokens, adapter="", media=(), generated_rows=b""):
    keys = []
    if adapter:
        keys.append(u32(1) + string(adapter))
    keys += [u32(2) + string(digest) for digest in media]
    if any(generated_rows):
        keys.append(u32(3) + string(bytes(generated_rows)))
    message = b"FKB1" + parent + u64(len(tokens)) + struct.pack(f"<{len(tokens)}i", *tokens)
    return hashlib.sha256(message + u64(len(keys)) + b"".join(keys)).digest()


def vectors():
    empty = context_hash(block_size=16)
    root = context_hash(model="sha256:00ff", block_size=16, positions="yarn 4", prompt="bf16", generated="int16",
                        kv_type="q8_0", salt="key é")
    first = block_hash(root, range(16))
    return {
        "context, all empty": empty,
        "context": root,
        "block 0": first,
        "block 1": block_hash(first, range(16, 32)),
        "tokens -1, 2^31 - 1": block_hash(first, [-1, 2**31 - 1]),
        "adapter": block_hash(first, range(16), adapter="lora-a"),
        "two media": block_hash(first, range(16), media=["m1", "m2"]),
        "rows 1, 10 generated": block_hash(first, range(16), generated_rows=bytes([0b10, 0b100])),
        "all keys": block_hash(first, range(16), "lora-a", ["m1", "m2"], bytes([0b10, 0b100])),
    }


if __name__ == "__main__":
    for name, digest in vectors().items():
        print(f"| {name} | `{digest.hex()}` |")
