"""The emitted C with integers mod 2^64 in the place of f32: another build, for the loop nest.

Sums and products of these integers are exact, whatever their order, so the output of a program
without division and functions must be the workload's polynomial in its inputs, bit for bit. Only
the element type and its vectors differ; loops, tiles, packing and threads are the emitter's own.
"""

import re
from typing import Final

from formwright.codegen.driver import runtime_text
from formwright.codegen.emit import Emitted

BITS: Final = 64

_REPLACED: Final = ("vectors.h", "lanes.h", "elements.h", "exponential.h")
_LITERAL: Final = re.compile(r"(?<![\w.])(\d+)\.0*f\b")
_OTHER_LITERAL: Final = re.compile(r"(?<![\w.])(0x)?[\d.]+[\d.]*([ep][+-]?\d+)?f\b")
_SCRATCH: Final = re.compile(r"(bytes \+= fw_bytes\(.*), 4\);")


class RingError(Exception):
    """The source has something that is no sum and no product of integers."""


def ring_source(emitted: Emitted) -> str:
    """The C text of ``emitted`` (of f32 tensors) over integers mod 2^64.

    Tensors are then ``uint64_t``, their strides and extents as before. Raises :class:`RingError`.
    """
    source = emitted.source
    for number, name in enumerate(_REPLACED):
        text = runtime_text(name)
        if text not in source:
            raise RingError(f"the emitted code does not have {name} as it ships")
        source = source.replace(text, runtime_text("ring.h") if number == 0 else "", 1)
    source = re.sub(r"\bfloat\b", "fw_word", source)
    source = _LITERAL.sub(r"\1u", source)
    other = _OTHER_LITERAL.search(source)
    if other is not None:
        raise RingError(f"{other[0]} is no integer")
    # Scratch is laid out by the bytes of an element.
    return _SCRATCH.sub(r"\1, 8);", source)
