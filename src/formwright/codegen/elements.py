"""Element types in emitted C: their storage, and the helpers of ``runtime/elements.h`` and
``runtime/streaming.h``.

Values are f32 in registers: a load widens, a store rounds to nearest even, once.
"""

from dataclasses import dataclass

from formwright.base.diagnostics import fail
from formwright.base.source import Span


@dataclass(frozen=True, slots=True)
class Element:
    """``suffix`` ends the names of the helpers that load and store it; f32 has none."""

    dtype: str
    c_type: str
    size: int
    suffix: str = ""
    stored: bool = True

    def get(self, pointer: str) -> str:
        """C text of the value at ``pointer``."""
        return f"fw_get{self.suffix}({pointer})" if self.suffix else f"*({pointer})"

    def put(self, pointer: str, value: str) -> str:
        """C statement that stores ``value`` at ``pointer``."""
        if self.suffix:
            return f"fw_put{self.suffix}({pointer}, {value});"
        return f"*({pointer}) = {value};"

    def load(self, pointer: str) -> str:
        return f"fw_load{self.suffix}({pointer})"

    def load_part(self, pointer: str, count: str) -> str:
        return f"fw_load_part{self.suffix}({pointer}, {count})"

    def store(self, pointer: str, value: str) -> str:
        return f"fw_store{self.suffix}({pointer}, {value});"

    def stream(self, pointer: str, value: str) -> str:
        """Like :meth:`store`, past the caches where the address allows it."""
        return f"fw_stream{self.suffix}({pointer}, {value});"

    def store_part(self, pointer: str, value: str, count: str) -> str:
        return f"fw_store_part{self.suffix}({pointer}, {value}, {count});"


@dataclass(frozen=True, slots=True)
class Panel(Element):
    """bf16 that matrix units read: what is stored in the buffer ``name`` is looked at."""

    name: str = ""

    def put(self, pointer: str, value: str) -> str:
        return f"fw_put_watched({pointer}, {value}, FW_SEEN({self.name}));"

    def store(self, pointer: str, value: str) -> str:
        return f"fw_store_watched({pointer}, {value}, FW_SEEN({self.name}));"

    def stream(self, pointer: str, value: str) -> str:
        return self.store(pointer, value)

    def store_part(self, pointer: str, value: str, count: str) -> str:
        return f"fw_store_part_watched({pointer}, {value}, {count}, FW_SEEN({self.name}));"


F32 = Element("f32", "float", 4)
ELEMENTS = {
    e.dtype: e
    for e in (
        F32,
        Element("bf16", "uint16_t", 2, "_bf16"),
        Element("f16", "uint16_t", 2, "_f16"),
        Element("i8", "int8_t", 1, "_i8", stored=False),
    )
}


def element(name: str, dtype: str, span: Span | None) -> Element:
    """The element type of the buffer ``name``; one that C is not emitted for is an error."""
    if dtype not in ELEMENTS:
        raise fail(
            f"{name} is {dtype}: C is emitted for {', '.join(ELEMENTS)}",
            span,
            "sums are kept in f32 whatever the inputs are",
        )
    return ELEMENTS[dtype]


def stored(name: str, kind: Element, span: Span | None) -> Element:
    """``kind``, when emitted code can write it; i8 would need a rule for what does not fit."""
    if not kind.stored:
        raise fail(
            f"{name} is {kind.dtype}: emitted code reads {kind.dtype} and does not write it",
            span,
            "write bf16, f16 or f32",
        )
    return kind
