"""What a library says of itself in its symbol table, before anything of it runs.

ELF, 64 bits, as the System V ABI lays it out (figures 4-3 to 4-16 of its generic part). A
library can hide what it does from this; the sandbox is what holds it back.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

ENVIRONMENT: Final = frozenset(
    {"getenv", "secure_getenv", "environ", "__environ", "setenv", "putenv", "unsetenv"}
)
CLOCK: Final = frozenset(
    {"clock_gettime", "gettimeofday", "time", "clock", "clock_getres", "ftime", "times"}
)

_DYNAMIC_SYMBOLS: Final = 11
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names that the dynamic linker gives a library (``needs``) and gets of it (``defines``)."""

    needs: frozenset[str]
    defines: frozenset[str]


def symbols_of(library: bytes) -> Symbols | None:
    """The dynamic symbols; ``None`` for what is no whole 64-bit little-endian ELF file."""
    try:
        if library[:6] != b"\x7fELF\x02\x01":
            return None
        found = [s for section in _sections(library) for s in _names(library, *section)]
    except (struct.error, IndexError, UnicodeDecodeError):
        return None
    return Symbols(
        frozenset(name for name, defined in found if not defined),
        frozenset(name for name, defined in found if defined),
    )


def objection(library: bytes) -> str | None:
    """Why a kernel with these symbols is not one that can be qualified."""
    found = symbols_of(library)
    if found is None:
        return None  # it does not load either, and is told so by the loader's own words
    asked = sorted(found.needs & ENVIRONMENT)
    if asked:
        return (
            f"it uses environment variables ({', '.join(asked)}): what is tested here would say"
            " nothing of other environments"
        )
    patched = sorted(found.defines & CLOCK)
    if patched:
        return f"it defines {', '.join(patched)} of its own: a kernel may not patch the clock"
    return None


def _sections(library: bytes) -> Iterator[tuple[int, int, int]]:
    """Place and size of each table of dynamic symbols, and the place of its names."""
    (table,) = struct.unpack_from("<Q", library, 0x28)
    size, count = struct.unpack_from("<2H", library, 0x3A)
    rows = [_SECTION.unpack_from(library, table + i * size) for i in range(count)]
    for _, kind, _, _, place, length, link, *_ in rows:
        if kind == _DYNAMIC_SYMBOLS:
            yield place, length, rows[link][4]


def _names(library: bytes, place: int, length: int, names: int) -> Iterator[tuple[str, bool]]:
    for at in range(place, place + length, _SYMBOL.size):
        name, _, _, section, _, _ = _SYMBOL.unpack_from(library, at)
        start = names + name
        text = library[start : library.index(b"\0", start)].decode()
        if text:
            yield text, section != 0
