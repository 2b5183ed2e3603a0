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
LOADER: Final = frozenset({"dlopen", "dlmopen", "dlsym", "dlvsym"})
RUNTIME: Final = ("libc", "libm", "libmvec", "libpthread", "librt", "libdl", "libgcc_s", "libgomp")
"""Libraries that a kernel may need: those of the compiler, which facts of the machine name."""

_DYNAMIC: Final = 6
_ENTRY: Final = struct.Struct("<QQ")
_NEEDED, _PATHS = 1, (15, 29)
_DYNAMIC_SYMBOLS: Final = 11
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")


@dataclass(frozen=True, slots=True)
class Symbols:
    """Names that the dynamic linker gives a library (``needs``) and gets of it (``defines``)."""

    needs: frozenset[str]
    defines: frozenset[str]
    libraries: tuple[str, ...] = ()
    """That it needs, and folders in which it looks for them."""


def symbols_of(library: bytes) -> Symbols | None:
    """The dynamic symbols; ``None`` for what is no whole 64-bit little-endian ELF file."""
    try:
        if library[:6] != b"\x7fELF\x02\x01":
            return None
        tables = list(_sections(library, _DYNAMIC_SYMBOLS))
        found = [s for section in tables for s in _names(library, *section)]
        others = [o for d in _sections(library, _DYNAMIC) for o in _libraries(library, *d)]
    except (struct.error, IndexError, ValueError):
        return None
    return Symbols(
        frozenset(name for name, defined in found if not defined),
        frozenset(name for name, defined in found if defined),
        tuple(others),
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
    loads = sorted(found.needs & LOADER)
    others = sorted(n for n in found.libraries if n.split(".so")[0] not in RUNTIME)
    others = [n for n in others if not n.startswith("ld-linux")]
    if loads or others:
        return (
            f"it needs other code when it runs ({', '.join([*loads, *others])}), which is not in"
            " this file: what is tested would not be what runs; link it in"
        )
    return None


def _sections(library: bytes, wanted: int) -> Iterator[tuple[int, int, int]]:
    """Place and size of each section of this kind, and the place of its names."""
    (table,) = struct.unpack_from("<Q", library, 0x28)
    size, count = struct.unpack_from("<2H", library, 0x3A)
    rows = [_SECTION.unpack_from(library, table + i * size) for i in range(count)]
    for _, kind, _, _, place, length, link, *_ in rows:
        if kind == wanted:
            yield place, length, rows[link][4]


def _names(library: bytes, place: int, length: int, names: int) -> Iterator[tuple[str, bool]]:
    for at in range(place, place + length, _SYMBOL.size):
        name, _, _, section, _, _ = _SYMBOL.unpack_from(library, at)
        start = names + name
        text = _text(library, start)
        if text:
            yield text, section != 0


def _libraries(library: bytes, place: int, length: int, names: int) -> Iterator[str]:
    """Names of libraries and folders in the dynamic table (figure 5-10)."""
    for at in range(place, place + length, _ENTRY.size):
        tag, value = _ENTRY.unpack_from(library, at)
        if tag == _NEEDED or tag in _PATHS:
            yield _text(library, names + value)


def _text(library: bytes, start: int) -> str:
    return library[start : library.index(b"\0", start)].decode()
