"""Designs for ``operators.py``: templates of an operator, solved for a shape, built and kept."""

import functools
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path

from formwright.base.diagnostics import InputError
from formwright.base.digest import digest
from formwright.chip.load import load_chip
from formwright.codegen import build, detect_target, emit_c
from formwright.contract.contract import Contract
from formwright.contract.operators import OPERATORS
from formwright.flow.choosing import choose
from formwright.flow.parameters import bind
from formwright.ir.template import Template
from formwright.ir.types import ElementTypeError, with_dtypes
from formwright.lang import load
from formwright.milp.solve import solve

KERNELS = Path(__file__).resolve().parent.parent / ".venv-bench" / "kernels"
WITHIN = Fraction(6, 5)
"""The model is not exact: a design so much dearer by it than the best may be the fastest."""


@dataclass(frozen=True)
class Design:
    """A built design: its name, the seconds that the cost model foretells, its library.

    ``ahead`` names the inputs that it packs ahead.
    """

    name: str
    predicted: float
    library: Path
    ahead: tuple[str, ...] = ()


def shipped(operator: str) -> tuple[str, ...]:
    """Templates of an operator, by the start of their names: the longest that is an operator."""
    folder = resources.files("formwright") / "templates"
    names = sorted(p.name.removesuffix(".fw") for p in folder.iterdir() if p.name.endswith(".fw"))
    return tuple(n for n in names if _operator(n) == operator)


def _operator(template: str) -> str:
    fitting = (o for o in OPERATORS if template == o or template.startswith(o + "_"))
    return max(fitting, key=len, default="")


def designs(
    contract: Contract,
    extents: Mapping[str, int],
    threads: int,
    templates: Sequence[str],
    count: int,
    assignment: Mapping[str, int] | None = None,
) -> list[Design]:
    """The ``count`` designs that the solver likes best, built; or the one that is given.

    Raises ``InputError`` where the templates have none for the shape.
    """
    chip = {**load_chip("local").parameters(), "chip.cores": threads}
    ranked: list[tuple[bool, Fraction, str, Template, Mapping[str, int]]] = []
    faults: list[Exception] = []
    for name in templates:
        if _packs(name) and not contract.ahead:
            continue
        try:
            template = typed(name, contract)
            values = bind(template, chip, extents, "local")
            if assignment is not None:
                ranked.append((False, Fraction(0), name, template, assignment))
                continue
            found = solve(template, values, limit=256)
        except (InputError, LookupError) as error:
            faults.append(error)
            continue
        chosen = choose(found.best, count, WITHIN)
        ranked += [(n > 0, o, name, template, d) for n, (d, o) in enumerate(chosen)]
    if not ranked:
        raise faults[0] if faults else LookupError("no design fits")
    least = min(r[1] for r in ranked)
    kept = sorted((r for r in ranked if r[1] <= WITHIN * least), key=lambda r: r[:2])[:count]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        libraries = list(pool.map(lambda r: _built(r[3], r[4]), kept))
    if not any(isinstance(library, Path) for library in libraries):
        raise next(library for library in libraries if isinstance(library, InputError))
    return [
        Design(f"{name} {_text(design)}", float(objective), library, _packed(name, contract))
        for (_, objective, name, _, design), library in zip(kept, libraries, strict=True)
        if isinstance(library, Path)
    ]


def _built(template: Template, design: Mapping[str, int]) -> Path | InputError:
    """A design that the emitter refuses leaves the others in the race."""
    try:
        return built(template, design)
    except InputError as error:
        return error


@functools.cache
def typed(name: str, contract: Contract) -> Template:
    """The template for the contract's element types. Raises ``InputError``."""
    template = load(name)[1]
    try:
        return with_dtypes(template, {o.name: o.dtype for o in contract.operands})
    except ElementTypeError as error:
        raise LookupError(f"{name}: {error}") from error


def built(template: Template, design: Mapping[str, int]) -> Path:
    """The library of a design, kept by the text of its C."""
    emitted = emit_c(template, design, detect_target())
    folder = KERNELS / digest(emitted.source)[:16]
    library = folder / "kernel.so"
    return library if library.exists() else build(emitted, folder).library


def _packs(name: str) -> bool:
    """Whether a template packs inputs before the call, by its name."""
    return name.removesuffix(".fw").endswith("_ahead")


def _packed(name: str, contract: Contract) -> tuple[str, ...]:
    return contract.ahead if _packs(name) else ()


def _text(design: Mapping[str, int]) -> str:
    return ",".join(f"{k}={v}" for k, v in design.items())
