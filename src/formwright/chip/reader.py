"""Chip files: TOML with units, read strictly and written back the same."""

from fractions import Fraction
from pathlib import Path

from formwright.base.diagnostics import Diagnostic, InputError
from formwright.base.files import write_text
from formwright.base.quantities import (
    BASE,
    Quantity,
    QuantityError,
    parse_quantity,
    show_quantity,
)
from formwright.base.toml import Document
from formwright.chip.chip import Chip, Field
from formwright.chip.fields import FIELDS

_TOP = ("chip", "fields")
_CHIP = ("name", "description", "cpu", "isa")
_ENTRY = ("value", "source", "date", "spread")


def read_chip(document: Document) -> Chip:
    """The chip of a TOML file. Raises ``InputError`` with every fault of the file."""
    faults = document.unknown((), document.table, _TOP)
    head = _table(document, "chip", faults)
    faults += document.unknown(("chip",), head, _CHIP)
    name = _text(document, ("chip", "name"), head.get("name", ""), faults)
    if not name:
        hint = 'write [chip] and name = "…"'
        faults.append(Diagnostic("a chip needs a name", document.key("chip"), hint))
    entries = _table(document, "fields", faults)
    faults += document.unknown(("fields",), entries, FIELDS)
    if not entries:
        hint = f"write [fields] with some of {', '.join(sorted(FIELDS))}"
        faults.append(Diagnostic("a chip needs fields", document.key("fields"), hint))
    fields = {}
    for key, entry in entries.items():
        field = _field(document, key, entry, faults) if key in FIELDS else None
        if field is not None:
            fields[key] = field
    isa = head.get("isa", [])
    if not isinstance(isa, list) or not all(isinstance(word, str) for word in isa):
        faults.append(
            Diagnostic("isa is a list of texts", document.value("chip", "isa"), 'as in ["avx2"]')
        )
        isa = []
    description = _text(document, ("chip", "description"), head.get("description", ""), faults)
    cpu = _text(document, ("chip", "cpu"), head.get("cpu", ""), faults)
    if faults:
        raise InputError(faults, document.source)
    return Chip(name, fields, description, cpu, tuple(isa))


def _table(document: Document, key: str, faults: list[Diagnostic]) -> dict[str, object]:
    value = document.table.get(key, {})
    if isinstance(value, dict):
        return value
    faults.append(Diagnostic(f"{key} is a table", document.key(key), f"write [{key}] on a line"))
    return {}


def _text(
    document: Document, place: tuple[str, ...], value: object, faults: list[Diagnostic]
) -> str:
    if isinstance(value, str):
        return value
    faults.append(Diagnostic(f"{place[-1]} is a text", document.value(*place), "put it in quotes"))
    return ""


def _field(document: Document, key: str, entry: object, faults: list[Diagnostic]) -> Field | None:
    place = ("fields", key)
    where: tuple[str, ...] = place
    if not isinstance(entry, dict):
        entry = {"value": entry}
    else:
        faults += document.unknown(place, entry, _ENTRY)
        where = (*place, "value")
    if "value" not in entry:
        hint = f'as in {key} = {{ value = "…", source = "…" }}'
        faults.append(Diagnostic(f"{key} has no value", document.key(*place), hint))
        return None
    quantity = _quantity(document, where, key, entry["value"], faults)
    source = _text(
        document,
        (*place, "source"),
        entry.get("source", f"stated in {document.source.name} without a source"),
        faults,
    )
    date = entry.get("date")
    spread = _spread(document, (*place, "spread"), entry.get("spread"), faults)
    if quantity is None:
        return None
    return Field(quantity, source, None if date is None else str(date), spread)


def _quantity(
    document: Document,
    where: tuple[str, ...],
    key: str,
    value: object,
    faults: list[Diagnostic],
) -> Quantity | None:
    kind = FIELDS[key]
    span = document.value(*where)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        example = show_quantity(Quantity(kind.low, kind.dimension))
        faults.append(
            Diagnostic(f"{key} ({kind.meaning}) is no quantity", span, f'as in "{example}"')
        )
        return None
    try:
        quantity = parse_quantity(str(value), kind.dimension)
    except QuantityError as error:
        faults.append(Diagnostic(f"{key}: {error}", span, error.hint))
        return None
    if not kind.admits(quantity.value):
        message = f"{key} ({kind.meaning}) of {show_quantity(quantity)} is absurd"
        faults.append(Diagnostic(message, span, kind.told))
        return None
    return quantity


def _spread(
    document: Document, place: tuple[str, ...], value: object, faults: list[Diagnostic]
) -> Fraction | None:
    if value is None:
        return None
    try:
        spread = parse_quantity(str(value), "ratio").value
    except QuantityError as error:
        faults.append(Diagnostic(f"spread: {error}", document.value(*place), 'as in "3.5 %"'))
        return None
    if not 0 <= spread <= 1:
        faults.append(Diagnostic("a spread lies between 0 % and 100 %", document.value(*place)))
    return spread


def write_chip(chip: Chip, path: Path) -> None:
    """Write ``chip`` as a file that :func:`read_chip` reads back as it is."""
    isa = ", ".join(_quoted(word) for word in chip.isa)
    rows = ["[chip]", f"name = {_quoted(chip.name)}"]
    rows += [f"description = {_quoted(chip.description)}"] if chip.description else []
    rows += [f"cpu = {_quoted(chip.cpu)}"] if chip.cpu else []
    rows += [f"isa = [{isa}]"] if chip.isa else []
    rows += ["", "[fields]"]
    for name, field in chip.fields.items():
        parts = [f"value = {_exact(field.quantity)}", f"source = {_quoted(field.source)}"]
        parts += [f"date = {_quoted(field.date)}"] if field.date else []
        if field.spread is not None:
            parts.append(f'spread = "{float(field.spread * 100):.1f} %"')
        rows.append(f"{name} = {{ {', '.join(parts)} }}")
    write_text(path, "\n".join(rows) + "\n")


def _exact(quantity: Quantity) -> str:
    """The value in its base unit; it is a whole number or a decimal fraction."""
    value = quantity.value
    if value.denominator != 1:
        raise ValueError(f"{value} is written as a whole number of its base unit")
    unit = BASE[quantity.dimension]
    return f'"{value.numerator} {unit}"' if unit else str(value.numerator)


def _quoted(text: str) -> str:
    plain = "".join(c if c.isprintable() else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
