"""Problem files: what to make a kernel for, on which chip, with which budget."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from formwright.base.diagnostics import Diagnostic, InputError, nearest
from formwright.base.source import Source, Span
from formwright.base.toml import Document, Place, read_toml_file
from formwright.contract.contract import MAX_EXTENT, MAX_TERMS, Contract
from formwright.contract.operators import OPERATORS, operator

DTYPES: Final = ("f32",)
BASELINES: Final = ("numpy", "torch", "onednn")

MAX_THREADS: Final = 1024
MAX_WORKLOADS: Final = 64
MAX_OPERAND_BYTES: Final = 1 << 36
"""The largest tensor a workload may have (64 GiB): beyond it is a slip, not a workload."""

LOWEST: Final[Mapping[str, int]] = {"M": 1, "N": 1, "K": 0}
HIGHEST: Final[Mapping[str, int]] = {"M": MAX_EXTENT, "N": MAX_EXTENT, "K": MAX_TERMS}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class Workload:
    """One shape to make a kernel for: ``extents`` has M, N and K."""

    name: str
    extents: dict[str, int]


@dataclass(frozen=True, slots=True)
class Budget:
    """``candidates`` are built and measured per workload and round; ``seconds`` is wall time."""

    candidates: int = 4
    rounds: int = 2
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem file, checked. ``threads`` is ``None`` for one thread per core of the chip.

    ``templates`` and ``chip`` are names that ship or paths; paths are relative to the file.
    """

    name: str
    contract: Contract
    templates: tuple[str, ...]
    chip: str
    threads: int | None
    workloads: tuple[Workload, ...]
    baselines: tuple[str, ...]
    budget: Budget


def load_problem(path: str | Path, overrides: Mapping[str, int] | None = None) -> Problem:
    """Read and check a problem file; ``overrides`` (M, N, K) replaces its workloads by one.

    Raises ``InputError`` with every fault of the file, each with line, column and hint.
    """
    document = read_toml_file(Path(path))
    reader = _Reader(document, Path(path).parent)
    problem = reader.problem()
    if overrides:
        reader.faults.extend(_override_faults(overrides))
    if reader.faults or problem is None:
        raise InputError(reader.faults, document.source)
    return replace(problem, workloads=(workload_of(overrides),)) if overrides else problem


def parse_overrides(text: str) -> dict[str, int]:
    """``"M=300,N=200,K=100"`` as extents. Raises ``InputError`` naming each fault."""
    source = Source("--set", text)
    values: dict[str, int] = {}
    faults: list[Diagnostic] = []
    for part in text.split(","):
        name, equals, digits = (p.strip() for p in part.partition("="))
        if not equals or not re.fullmatch(r"[+-]?\d{1,18}", digits):
            faults.append(
                Diagnostic(
                    f'"{part.strip()}" is not NAME=INTEGER', hint="write --set M=300,N=200,K=100"
                )
            )
        elif name in values:
            faults.append(Diagnostic(f"{name} is set twice", hint="give each extent once"))
        else:
            values[name] = int(digits)
    if not faults:
        faults.extend(_override_faults(values))
    if faults:
        raise InputError(faults, source)
    return values


def workload_of(extents: Mapping[str, int]) -> Workload:
    """The workload of ``--set``, named by its extents."""
    ordered = {n: extents[n] for n in LOWEST}
    return Workload("x".join(str(v) for v in ordered.values()), ordered)


def _override_faults(values: Mapping[str, int]) -> list[Diagnostic]:
    missing = [n for n in LOWEST if n not in values]
    faults = [
        Diagnostic(f'gemm has no extent "{n}"', hint=nearest(n, LOWEST) or "extents are M, N and K")
        for n in values
        if n not in LOWEST
    ]
    if missing:
        faults.append(
            Diagnostic(
                f"--set leaves out {', '.join(missing)}",
                hint="give all three: --set M=300,N=200,K=100",
            )
        )
    faults.extend(
        Diagnostic(fault, hint=_range(name))
        for name, value in values.items()
        if name in LOWEST and (fault := _extent_fault(name, value))
    )
    if not faults and (fault := _size_fault(values)):
        faults.append(Diagnostic(fault, hint="choose smaller extents"))
    return faults


def _extent_fault(name: str, value: int) -> str | None:
    if LOWEST[name] <= value <= HIGHEST[name]:
        return None
    return f"{name} = {value} is outside the contract of gemm"


def _range(name: str) -> str:
    return f"{name} takes {LOWEST[name]} .. {HIGHEST[name]}"


def _size_fault(extents: Mapping[str, int]) -> str | None:
    m, n, k = (extents[e] for e in LOWEST)
    largest = 4 * max(m * k, k * n, m * n)
    if largest <= MAX_OPERAND_BYTES:
        return None
    return f"the largest operand of {m} x {n} x {k} has {largest / 2**30:.0f} GiB"


_KEYS: Final = (
    "name",
    "operator",
    "dtype",
    "templates",
    "chip",
    "threads",
    "baselines",
    "ahead",
    "workloads",
    "budget",
)


class _Reader:
    """Collects the faults of one document; a getter answers ``None`` after reporting one."""

    def __init__(self, document: Document, folder: Path) -> None:
        self.document = document
        self.folder = folder
        self.faults: list[Diagnostic] = []

    def problem(self) -> Problem | None:
        table = self.document.table
        self.faults.extend(self.document.unknown((), table, _KEYS))
        name = self._text(("name",), default=Path(self.document.source.name).stem)
        if name is not None and not _NAME.fullmatch(name):
            self._fault(
                f'"{name}" is not a name for a folder', ("name",), "use letters, digits, - _ ."
            )
        name_of = self._choice(("operator",), OPERATORS, "gemm")
        dtype = self._choice(("dtype",), DTYPES, "f32")
        templates = self._texts(("templates",), None)
        chip = self._text(("chip",), default="local")
        threads = self._whole(("threads",), 1, MAX_THREADS, default=0)
        baselines = self._chosen(("baselines",), BASELINES, ("numpy",))
        ahead = self._chosen(("ahead",), ("A", "B"), ())
        workloads = self._workloads()
        budget = self._budget()
        if name_of is None or name is None or dtype is None or templates is None:
            return None
        if chip is None or baselines is None or ahead is None or budget is None or self.faults:
            return None
        return Problem(
            name=name,
            contract=operator(name_of).contract(dtypes=dtype, ahead=ahead),
            templates=tuple(self._resolve(t, ".fw") for t in templates),
            chip=self._resolve(chip, ".toml"),
            threads=threads or None,
            workloads=tuple(workloads),
            baselines=baselines,
            budget=budget,
        )

    def _resolve(self, name: str, suffix: str) -> str:
        """A path in a problem file is relative to that file; a bare name ships with us."""
        if not name.endswith(suffix) and "/" not in name:
            return name
        return str(self.folder / name)

    def _workloads(self) -> list[Workload]:
        place: Place = ("workloads",)
        table = self.document.table.get("workloads")
        if not isinstance(table, dict) or not table:
            self._fault("the problem has no workloads", place, _WORKLOAD_HINT)
            return []
        if len(table) > MAX_WORKLOADS:
            self._fault(f"more than {MAX_WORKLOADS} workloads", place, "split the file")
            return []
        found = [self._workload(name, value) for name, value in table.items()]
        return [w for w in found if w is not None]

    def _workload(self, name: str, value: Any) -> Workload | None:
        place: Place = ("workloads", name)
        before = len(self.faults)
        if not isinstance(value, dict):
            self._fault(f'workload "{name}" is not a table', place, _WORKLOAD_HINT)
            return None
        if not _NAME.fullmatch(name):
            self._fault(f'"{name}" is not a name for a folder', place, "use letters, digits, - _ .")
        self.faults.extend(self.document.unknown(place, value, LOWEST))
        extents: dict[str, int] = {}
        for extent in LOWEST:
            if extent not in value:
                self._fault(f'workload "{name}" has no {extent}', place, f"add {extent} = …")
                continue
            number = self._whole((*place, extent), LOWEST[extent], HIGHEST[extent], default=None)
            if number is not None:
                extents[extent] = number
        if len(self.faults) == before and (fault := _size_fault(extents)):
            self._fault(fault, place, "choose smaller extents")
        return Workload(name, extents) if len(self.faults) == before else None

    def _budget(self) -> Budget | None:
        table = self.document.table.get("budget", {})
        if not isinstance(table, dict):
            self._fault("budget is not a table", ("budget",), "write [budget] on a line of its own")
            return None
        self.faults.extend(
            self.document.unknown(("budget",), table, ("candidates", "rounds", "seconds"))
        )
        usual = Budget()
        candidates = self._whole(("budget", "candidates"), 1, 1000, usual.candidates)
        rounds = self._whole(("budget", "rounds"), 1, 100, usual.rounds)
        seconds = self._seconds(("budget", "seconds"), usual.seconds)
        if candidates is None or rounds is None or seconds is None:
            return None
        return Budget(candidates, rounds, seconds)

    def _get(self, place: Place) -> Any:
        value: Any = self.document.table
        for step in place:
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def _fault(self, message: str, place: Place, hint: str | None) -> None:
        span = self.document.value(*place) or self._end()
        self.faults.append(Diagnostic(message, span, hint))

    def _end(self) -> Span:
        """Where a key that is missing would be written."""
        lines = self.document.source.text.splitlines() or [""]
        column = len(lines[-1]) + 1
        return Span(self.document.source.name, len(lines), column, column + 1)

    def _text(self, place: Place, default: str | None) -> str | None:
        value = self._get(place)
        if value is None:
            return default
        if not isinstance(value, str) or not value:
            self._fault(f"{place[-1]} is not a text", place, f'write {place[-1]} = "…"')
            return None
        return value

    def _texts(self, place: Place, default: tuple[str, ...] | None) -> tuple[str, ...] | None:
        value = self._get(place)
        if value is None and default is not None:
            return default
        good = isinstance(value, list) and all(isinstance(v, str) and v for v in value)
        if not good or (default is None and not value):
            message = f"{place[-1]} is not a list of names" if value is not None else None
            self._fault(
                message or f"the problem names no {place[-1]}", place, f'write {place[-1]} = ["…"]'
            )
            return None
        if len(set(value)) != len(value):
            self._fault(f"{place[-1]} names one thing twice", place, "name each once")
        return tuple(value)

    def _choice(self, place: Place, known: Iterable[str], default: str) -> str | None:
        value = self._text(place, default)
        if value is not None and value not in known:
            hint = nearest(value, known) or f"known: {', '.join(known)}"
            self._fault(f'unknown {place[-1]} "{value}"', place, hint)
            return None
        return value

    def _chosen(
        self, place: Place, known: tuple[str, ...], default: tuple[str, ...]
    ) -> tuple[str, ...] | None:
        values = self._texts(place, default)
        for number, value in enumerate(values or ()):
            if value not in known:
                hint = nearest(value, known) or f"known: {', '.join(known)}"
                self._fault(f'unknown name "{value}" in {place[-1]}', (*place, number), hint)
        return values

    def _whole(self, place: Place, low: int, high: int, default: int | None) -> int | None:
        value = self._get(place)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self._fault(f"{place[-1]} is not a whole number", place, f"it takes {low} .. {high}")
            return None
        if not low <= value <= high:
            self._fault(
                f"{place[-1]} = {value} is out of range", place, f"it takes {low} .. {high}"
            )
            return None
        return value

    def _seconds(self, place: Place, default: float) -> float | None:
        value = self._get(place)
        if value is None:
            return default
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 1 <= value <= 86400 * 30:
            self._fault(f"{place[-1]} is not a time in seconds", place, "it takes 1 .. 2592000")
            return None
        return float(value)


_WORKLOAD_HINT = "write [workloads.NAME] and under it M = …, N = …, K = …"
