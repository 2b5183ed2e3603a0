"""Calls that refused a candidate, made small and kept: later candidates meet them first.

A store is a file of JSON lines beside a run's journal. It holds no outputs: a call is made
again from its seed, so it can refuse another library and never the judgement of one.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

from formwright.contract.contract import Contract, contract_digest, outside
from formwright.contract.inputs import kinds as kinds_of
from formwright.qualify.plan import Group, Trial
from formwright.qualify.shapes import is_empty

MOST: Final = 64
"""Calls of one contract that are tried first: the latest ones."""

MOST_TRIES: Final = 40
"""Calls that making one counterexample small may cost; each is a child of its own."""

SIMPLEST: Final = ("integer", "select", "normal")
"""Kinds in which an error is easiest to read, the simplest first."""


@dataclass(frozen=True, slots=True)
class Store:
    """Where the counterexamples of all contracts are kept; the file need not be there yet."""

    path: Path

    def trials(self, contract: Contract) -> tuple[Trial, ...]:
        """Those of ``contract`` that its domain still has, the latest last."""
        found: list[Trial] = []
        for line in _lines(self.path):
            trial = _trial(line, contract)
            if trial is not None and trial not in found:
                found.append(trial)
        return tuple(found[-MOST:])

    def keep(self, contract: Contract, clause: str, trial: Trial) -> None:
        """Append one call, unless it is there; a line is written whole."""
        if trial in self.trials(contract):
            return
        line = json.dumps(_data(contract, clause, trial), sort_keys=True) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self.path, flags, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def shrunk(
    contract: Contract, trial: Trial, clause: str, fails: Callable[[Trial], str | None]
) -> Trial:
    """The smallest call found in which ``clause`` fails still; ``fails`` names the clause.

    One kind is left, the simplest that will do; then extents are lowered one at a time, by
    halves and then by ones. It gives up after ``MOST_TRIES`` calls.
    """
    left = MOST_TRIES
    best = trial
    for smaller in _simpler(contract, trial):
        left -= 1
        if fails(smaller) == clause:
            best = smaller
            break
    changed = True
    while changed and left > 0:
        changed = False
        for extents in _lower(contract, best):
            if left <= 0:
                break
            left -= 1
            if fails(replace(best, extents=extents)) == clause:
                best, changed = replace(best, extents=extents), True
                break
    return best


def _simpler(contract: Contract, trial: Trial) -> Iterator[Trial]:
    known = kinds_of(contract)
    if not is_empty(contract, trial.extents):
        for kind in SIMPLEST:
            if kind in known:
                yield replace(trial, kinds=(kind,))
    for kind in trial.kinds:
        if kind not in SIMPLEST:
            yield replace(trial, kinds=(kind,))


def _lower(contract: Contract, trial: Trial) -> Iterator[dict[str, int]]:
    now = dict(trial.extents)
    for step in ("least", "half", "one"):
        for extent in contract.extents:
            least = max(extent.low, min(1, now[extent.name]))
            value = now[extent.name]
            wanted = {"least": least, "half": (value + least) // 2, "one": value - 1}[step]
            lower = now | {extent.name: wanted}
            if least <= wanted < value and outside(contract, lower) is None:
                yield lower


def _data(contract: Contract, clause: str, trial: Trial) -> dict[str, Any]:
    return {
        "schema": 1,
        "contract": contract_digest(contract),
        "clause": clause,
        "group": trial.group,
        "extents": dict(trial.extents),
        "kinds": list(trial.kinds),
        "seed": trial.seed,
        "padding": list(trial.padding),
        "placement": trial.placement,
        "threads": trial.threads,
        "repeats": trial.repeats,
        "ahead": trial.ahead,
        "relations": trial.relations,
        "poison": trial.poison,
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every line that is a JSON object; one cut off by a crash is none."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def _trial(data: dict[str, Any], contract: Contract) -> Trial | None:
    """The call of a line, or ``None`` for another contract's and for what is no call of ours."""
    if data.get("schema") != 1 or data.get("contract") != contract_digest(contract):
        return None
    known = kinds_of(contract)
    try:
        trial = Trial(
            group=data["group"],
            extents={n: int(data["extents"][n]) for n in contract.names},
            kinds=tuple(k for k in data["kinds"] if k in known),
            seed=int(data["seed"]),
            padding=tuple(int(p) for p in data["padding"]),
            placement=data["placement"],
            threads=int(data["threads"]),
            repeats=int(data["repeats"]),
            ahead=bool(data["ahead"]),
            relations=bool(data["relations"]),
            poison=bool(data.get("poison", True)),
        )
    except (KeyError, TypeError, ValueError):
        return None
    fits = len(trial.padding) in (0, len(contract.operands)) and min(trial.padding, default=0) >= 0
    right = trial.group in get_args(Group)
    right &= trial.placement in ("start", "end") and trial.threads >= 1 and trial.repeats >= 1
    inside = outside(contract, trial.extents) is None
    return trial if trial.kinds and fits and right and inside else None
