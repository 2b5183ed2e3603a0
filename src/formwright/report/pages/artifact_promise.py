"""What an artifact promises, and where: the formula, the domain, the clauses of its contract."""

from collections.abc import Mapping
from typing import Any, Final

from formwright.qualify.artifact import RECORD
from formwright.report.page import Block, Cell, Facts, Source, Text
from formwright.report.pages.entries import Book, at, items, mapping, words
from formwright.report.pages.record_blocks import in_order


def promise_blocks(
    book: Book, record: Mapping[str, Any], contract: Mapping[str, Any]
) -> tuple[Block, ...]:
    domain = mapping(record.get("domain"))
    origin = book.part(RECORD, record, "domain")
    formula = items(at(record, "contract", "formula"))
    dtypes = mapping(domain.get("dtypes"))
    strides = mapping(domain.get("strides"))
    ahead = ", ".join(map(str, items(domain.get("ahead")))) or "nothing"
    rows = [
        (f"extent {n}", Cell(_range(v), origin=origin))
        for n, v in in_order(mapping(domain.get("extents")), formula).items()
    ]
    rows += [
        ("element types", Cell(", ".join(f"{n} {t}" for n, t in dtypes.items()), origin=origin)),
        ("strides", Cell(", ".join(f"{n} {v}" for n, v in strides.items()), origin=origin)),
        ("alignment", Cell(words(domain, "alignment") or "–", origin=origin)),
        ("aliasing", Cell(words(domain, "aliasing") or "–", origin=origin)),
        ("packed ahead", Cell(ahead, origin=origin)),
    ]
    promised = [
        (says, Cell(_clause(contract.get(key))))
        for key, says in _CLAUSES.items()
        if contract.get(key) is not None
    ]
    return (
        Source("The formula of its contract", "\n".join(map(str, formula))),
        Text("Its domain: a call with anything else is not computed by this kernel."),
        Facts(tuple(rows)),
        *(
            (Text("What the contract says beside the formula:"), Facts(tuple(promised)))
            if promised
            else ()
        ),
    )


_CLAUSES: Final = {
    "relation": "how close to the reference",
    "stages": "values between two sums may be rounded to",
    "special": "special values",
    "mutation": "what a call writes",
    "previous_output": "what the output held before",
    "repeatable": "the same call gives the same bits",
    "threads": "threads of a call",
    "caches": "caches, as timed",
}
"""Keys of ``contract.json`` with what they are about; the domain has the others."""


def _clause(value: Any) -> str:
    """A clause in words: limits that are not set are left out."""
    match value:
        case bool():
            return "yes" if value else "no"
        case dict():
            said = {n: v for n, v in value.items() if v not in (None, 0, "0", False)}
            if "kind" in said:
                kind = said.pop("kind")
                first = "within the operator's own bound from analysis" if kind == "bound" else kind
                order = (
                    "sums in any order" if said.pop("reassociate", False) else "one order of sums"
                )
                return "; ".join([str(first), order, *(f"{n} {v}" for n, v in said.items())])
            return ", ".join(f"{n.replace('_', ' ')} {v}" for n, v in said.items())
        case _:
            return str(value)


def _range(value: Any) -> str:
    ends = items(value)
    return f"{ends[0]} to {ends[1]}" if len(ends) == 2 else "–"
