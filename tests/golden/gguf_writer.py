"""A minimal writer of GGUF v3 files, for models that tests make themselves. Needs numpy only.

The bytes depend on the arguments alone, so a file written twice, or on two machines, is the same.
"""

import dataclasses
import struct

ALIGNMENT = 32
FORMAT_VERSION = 3

# Metadata value types of the GGUF specification: name -> (id, struct format).
_SCALARS = {"u32": (4, "<I"), "i32": (5, "<i"), "f32": (6, "<f"), "bool": (7, "<?")}
_STRING_ID = 8
_ARRAY_ID = 9


@dataclasses.dataclass
class Tensor:
    """One tensor: `dims` in GGUF's order (fastest first), `data` its encoded bytes.

    Instead of bytes, `data` may be any object with a length whose iterator gives the bytes in
    pieces, for tensors that should not be in memory at once.
    """

    name: str
    dims: tuple
    type_id: int
    data: object

    def pieces(self):
        return [self.data] if isinstance(self.data, bytes) else self.data


def _string(text):
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def _scalar(kind, value):
    return _string(value) if kind == "str" else struct.pack(_SCALARS[kind][1], value)


def _type_id(kind):
    return _STRING_ID if kind == "str" else _SCALARS[kind][0]


def metadata(key, kind, value):
    """One key-value pair; `kind` is u32, i32, f32, bool or str, or a list of one of them for an array."""
    if isinstance(kind, list):
        head = struct.pack("<IIQ", _ARRAY_ID, _type_id(kind[0]), len(value))
        return _string(key) + head + b"".join(_scalar(kind[0], item) for item in value)
    return _string(key) + struct.pack("<I", _type_id(kind)) + _scalar(kind, value)


def write(path, pairs, tensors):
    """Writes a file with these metadata pairs (from `metadata`) and tensors."""
    infos, offset = [], 0
    for tensor in tensors:
        dims = b"".join(struct.pack("<Q", dim) for dim in tensor.dims)
        infos.append(_string(tensor.name) + struct.pack("<I", len(tensor.dims)) + dims
                     + struct.pack("<IQ", tensor.type_id, offset))
        offset += len(tensor.data) + -len(tensor.data) % ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", FORMAT_VERSION, len(tensors), len(pairs))
    head += b"".join(pairs) + b"".join(infos)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % ALIGNMENT))
        for tensor in tensors:
            for piece in tensor.pieces():
                file.write(piece)
            file.write(b"\0" * (-len(tensor.data) % ALIGNMENT))
