"""The emitted C with words of 64 bits in the place of f32: other builds, for the loop nest.

Only the element type, its vectors and their arithmetic differ; loops, tiles, packing and threads
are the emitter's own.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from formwright.codegen.driver import runtime_text
from formwright.codegen.emit import Emitted
from formwright.ir.program import Alloc, Buffer, For, If, Par, Stmt
from formwright.ir.template import Template, Tensor

BITS: Final = 64

_REPLACED: Final = ("vectors.h", "lanes.h", "elements.h", "exponential.h")
_STREAMING: Final = "streaming.h"
"""In the source of programs that store past the caches only."""

_NOTHING: Final = "/* words */"
_LITERAL: Final = re.compile(r"(?<![\w.])(\d+)\.0*f\b")
_OTHER_LITERAL: Final = re.compile(r"(?<![\w.])(0x)?[\d.]+[\d.]*([ep][+-]?\d+)?f\b")
_SCRATCH: Final = re.compile(r"(bytes \+= fw_bytes\(.*), 4\);")


class NumbersError(Exception):
    """The source has something that these words do not stand for."""


def of_floats(template: Template) -> Template:
    """``template`` with f32 tensors and buffers, whatever its text has: words take their place."""
    workload, names = template.scope.workload, {b.name for b in template.globals}

    def of(tensor: Tensor) -> Tensor:
        return replace(tensor, dtype="f32", also=()) if tensor.name in names else tensor

    changed = replace(
        workload, output=of(workload.output), inputs=tuple(of(t) for t in workload.inputs)
    )
    return replace(
        template,
        scope=replace(template.scope, workload=changed),
        globals=tuple(_word(b) for b in template.globals),
        program=_words(template.program),
    )


def _words(block: Sequence[Stmt]) -> tuple[Stmt, ...]:
    changed = list[Stmt]()
    for stmt in block:
        match stmt:
            case Alloc(buffers):
                changed.append(replace(stmt, buffers=tuple(_word(b) for b in buffers)))
            case For() | If() | Par():
                changed.append(replace(stmt, body=_words(stmt.body)))
            case _:
                changed.append(stmt)
    return tuple(changed)


def _word(buffer: Buffer) -> Buffer:
    return replace(buffer, dtype="f32")


def word_source(emitted: Emitted, headers: Sequence[str]) -> str:
    """The C text of ``emitted`` (of f32 tensors) with ``headers`` in the place of those of f32.

    Tensors are then ``uint64_t``, their strides and extents as before. Raises
    :class:`NumbersError`.
    """
    source = emitted.source
    own = "".join(runtime_text(name) for name in ("words.h", *headers))
    for number, name in enumerate(_REPLACED):
        text = runtime_text(name)
        if text not in source:
            raise NumbersError(f"the emitted code does not have {name} as it ships")
        source = source.replace(text, _NOTHING if number == 0 else "", 1)
    if "fw_stream_end" in source:
        source = source.replace(runtime_text(_STREAMING), "", 1)
    source = source.replace(_NOTHING, own, 1)
    source = re.sub(r"\bfloat\b", "fw_word", source)
    source = _LITERAL.sub(r"\1u", source)
    other = _OTHER_LITERAL.search(source)
    if other is not None:
        raise NumbersError(f"{other[0]} is no integer")
    # Scratch is laid out by the bytes of an element.
    return _SCRATCH.sub(r"\1, 8);", source)
