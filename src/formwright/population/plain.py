"""What is kept, as plain JSON data and back; data from a file is believed in nothing but its form.

Each kind of thing has a table of its keys with what stands under them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from formwright.base.diagnostics import Diagnostic
from formwright.population.chips import ChipKey
from formwright.population.entries import SEEN, Design, Fact, Held, Met, Step, Work
from formwright.population.rows import is_storable

TEXT = 64 * 1024
"""Characters of one text under a key."""
NAME = 64
"""Characters of a word that a column has."""
MANY = 4096
"""Values in one list or mapping."""

Seen = Fact | Design | Held | Met


@dataclass(slots=True)
class Reading:
    """A file that is being read: every fault of it, with the key where it stands."""

    file: str
    faults: list[Diagnostic] = field(default_factory=list)

    def fault(self, place: str, message: str, hint: str | None = None) -> None:
        self.faults.append(Diagnostic(f"{self.file}: {place}: {message}", None, hint))


Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= TEXT and is_storable(value)


def _name(value: Any) -> bool:
    return _text(value) and len(value) <= NAME


def _digest(value: Any) -> bool:
    return _text(value) and len(value) == 64 and not set(value) - set("0123456789abcdef")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _count(value: Any) -> bool:
    return _whole(value) and 0 <= value < 1 << 31


def _number(value: Any) -> bool:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return isfinite(value)
    except OverflowError:  # an integer that no float is
        return False


def _mapping(of: Check) -> Check:
    return lambda v: (
        isinstance(v, dict) and len(v) <= MANY and all(_text(k) and of(x) for k, x in v.items())
    )


def _perhaps(of: Check) -> Check:
    return lambda v: v is None or of(v)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MANY and all(map(_text, value))


_KINDS: Mapping[str, tuple[Check, str]] = {
    "text": (_text, "a text"),
    "name": (_name, f"a text of at most {NAME} characters"),
    "digest": (_digest, "a digest of 64 hexadecimal digits"),
    "parent": (lambda v: v == "" or _digest(v), "a digest, or empty"),
    "count": (_count, "an integer from 0 to 2^31 - 1"),
    "number": (_number, "a finite number"),
    "number?": (_perhaps(_number), "a finite number or null"),
    "truth": (lambda v: isinstance(v, bool), "true or false"),
    "texts": (_texts, "a list of texts"),
    "wholes": (_mapping(_whole), "integers by name"),
    "words": (_mapping(_text), "texts by name"),
    "point": (_mapping(lambda v: _whole(v) or _text(v)), "integers or texts by name"),
    "seen": (lambda v: v in SEEN, "one of " + ", ".join(SEEN)),
    "chip": (_mapping(_text), "a chip"),
    "work": (_mapping(lambda v: True), "a workload"),
}

_CHIP = {"name": "text", "digest": "digest"}
_WORK = {
    "contract": "digest",
    "operator": "text",
    "extents": "wholes",
    "dtypes": "words",
    "threads": "count",
}
STEP = {
    "child": "digest",
    "parent": "parent",
    "rule": "text",
    "proposer": "text",
    "why": "text",
    "run": "text",
    "created": "text",
}
_AROUND = {"template": "digest", "chip": "chip", "work": "work", "source": "text"}
FACT = _AROUND | {
    "assignment": "wholes",
    "machine": "text",
    "quantity": "text",
    "value": "number",
    "low": "number?",
    "high": "number?",
    "unit": "text",
    "evidence": "seen",
}
DESIGN = _AROUND | {
    "assignment": "wholes",
    "objective": "number?",
    "bound": "number?",
    "qualified": "truth",
    "artifact": "text",
}
HELD = _AROUND | {"structure": "text", "held": "truth", "detail": "text"}
MET = {
    "template": "digest",
    "condition": "name",
    "text": "text",
    "values": "point",
    "replayed": "truth",
    "source": "text",
    "trace": "texts",
}


def told(thing: Seen | Step) -> dict[str, Any]:
    """``thing`` as JSON data, without whether it was imported."""
    match thing:
        case Fact():
            keys = FACT
        case Design():
            keys = DESIGN
        case Held():
            keys = HELD
        case Met():
            keys = MET
        case Step():
            keys = STEP
    return {key: _told(getattr(thing, key)) for key in keys}


def _told(value: Any) -> Any:
    match value:
        case ChipKey():
            return {"name": value.name, "digest": value.digest}
        case Work():
            return {key: _told(getattr(value, key)) for key in _WORK}
        case tuple():
            return list(value)
        case Mapping():
            return dict(value)
        case _:
            return value


def checked(reading: Reading, place: str, data: Any, keys: Mapping[str, str]) -> Any:
    """``data`` if it has these keys with what belongs there, else ``None`` and faults."""
    before = len(reading.faults)
    if not isinstance(data, dict):
        reading.fault(place, "an object is needed")
        return None
    for key in sorted(data.keys() - keys.keys()):
        reading.fault(place, f'unknown key "{key[:64]}"', f"known here: {', '.join(keys)}")
    for key, kind in keys.items():
        check, needed = _KINDS[kind]
        if key not in data:
            reading.fault(place, f'"{key}" is missing', f"it is {needed}")
        elif not check(data[key]):
            reading.fault(f"{place}.{key}", f"{needed} is needed")
        elif kind in ("chip", "work"):
            checked(reading, f"{place}.{key}", data[key], _CHIP if kind == "chip" else _WORK)
    return data if len(reading.faults) == before else None


def step_from(data: Mapping[str, Any]) -> Step:
    """Of data that was :func:`checked`; so are those below."""
    return Step(**data)


def fact_from(data: Mapping[str, Any]) -> Fact:
    return Fact(**_around(data))


def design_from(data: Mapping[str, Any]) -> Design:
    return Design(**_around(data))


def held_from(data: Mapping[str, Any]) -> Held:
    return Held(**_around(data))


def met_from(data: Mapping[str, Any]) -> Met:
    return Met(**{**data, "trace": tuple(data["trace"]), "imported": True})


def _around(data: Mapping[str, Any]) -> dict[str, Any]:
    floats = {k: None if data[k] is None else float(data[k]) for k in _FIGURES if k in data}
    chip, work = ChipKey(**data["chip"]), Work(**data["work"])
    return {**data, **floats, "chip": chip, "work": work, "imported": True}


_FIGURES = ("value", "low", "high", "objective", "bound")
