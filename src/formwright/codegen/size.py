"""The size of a library's machine code, from its program headers (ELF, 64 bits, little endian)."""

import struct
from pathlib import Path
from typing import Final

_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = struct.Struct("<IIQQQQQQ")
_LOAD, _EXECUTE = 1, 1


def code_bytes(library: Path) -> int | None:
    """Bytes of the segments that may be executed; ``None`` for a file of another format.

    The thread runtime is part of them, since it is part of the library.
    """
    data = library.read_bytes()
    if len(data) < _HEADER.size or data[:6] != b"\x7fELF\x02\x01":
        return None
    fields = _HEADER.unpack_from(data)
    start, size, count = fields[5], fields[9], fields[10]
    if size < _SEGMENT.size or start + count * size > len(data):
        return None
    total = 0
    for number in range(count):
        kind, flags, _, _, _, in_file, *_ = _SEGMENT.unpack_from(data, start + number * size)
        if kind == _LOAD and flags & _EXECUTE:
            total += in_file
    return total
