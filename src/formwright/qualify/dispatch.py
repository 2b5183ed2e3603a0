"""Several qualified kernels of one operator behind one callable: a table over shapes.

``dispatch.json`` beside the artifacts names them with the extents that each was timed at. A call
goes to the kernel of the nearest extents whose domain holds it, then to the next ones, and to
NumPy last. Nearest is a rule and no promise of speed: what was measured stands in the records.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import log2
from pathlib import Path
from typing import Any, Final

from formwright.base.files import write_json
from formwright.qualify.arrays import Given, given, returned
from formwright.qualify.artifact import ArtifactError, read_artifact
from formwright.qualify.kernel import FallbackWarning, Kernel, differs
from formwright.qualify.operands import Reason, check_numbers, extents_of
from formwright.qualify.reference import by_reference

SCHEMA: Final = 1
NAME: Final = "dispatch.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel of a table. ``seconds`` is the median at ``extents``, where it was timed."""

    kernel: Kernel
    extents: Mapping[str, int]
    seconds: float | None


def load_dispatch(folder: str | Path) -> "Dispatch":
    """The table that ``formwright run`` wrote in ``folder``, with all its kernels loaded.

    Raises ``ArtifactError`` for a table that is none, a kernel that is not the one the table
    was made of, and everything that :func:`formwright.load` raises.
    """
    place = Path(folder)
    path = place / NAME
    try:
        table = json.loads(path.read_bytes())
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror}", _WHERE) from None
    except (ValueError, RecursionError):
        raise ArtifactError(f"{path} is not JSON", _WHERE) from None
    if not isinstance(table, dict) or table.get("schema") != SCHEMA or not table.get("kernels"):
        raise ArtifactError(f"{path} is no dispatch table of this version", _WHERE)
    return Dispatch([_entry(place, path, row) for row in table["kernels"]])


_WHERE: Final = "give the folder `artifacts` of a run"


def _entry(place: Path, path: Path, row: Any) -> Entry:
    try:
        name, library, extents = str(row["artifact"]), row["library"], dict(row["extents"])
    except (KeyError, TypeError, ValueError):
        raise ArtifactError(f"{path}: an entry lacks its keys", _WHERE) from None
    if not all(isinstance(size, int) and size >= 0 for size in extents.values()):
        raise ArtifactError(f"{path}: the extents of {name!r} are no sizes", _WHERE)
    if Path(name).name != name:
        raise ArtifactError(f"{path}: {name!r} is no folder beside it", _WHERE)
    artifact = read_artifact(place / name)
    if sha256(artifact.library).hexdigest() != library:
        raise ArtifactError(
            f"{place / name} holds another library than the table names", "run again"
        )
    return Entry(Kernel(artifact), extents, row.get("seconds"))


def write_dispatch(folder: Path, names: Sequence[str]) -> Path:
    """Write the table of the artifacts ``names`` in ``folder``; whole or not at all.

    Raises ``ArtifactError`` for artifacts that are no kernels of one operator.
    """
    rows = []
    artifacts = [read_artifact(folder / name) for name in names]
    for artifact in artifacts:
        unlike = differs(artifacts[0].contract, artifact.contract)
        if unlike is not None:
            raise ArtifactError(f"{artifact.folder.name} fits in no table: {unlike}")
        timing = artifact.record.get("timing") or {}
        ours = timing.get("programs", {}).get("kernel", {})
        rows.append(
            {
                "artifact": artifact.folder.name,
                "library": sha256(artifact.library).hexdigest(),
                "extents": artifact.record["workload"]["extents"],
                "seconds": ours.get("seconds", {}).get("median"),
            }
        )
    path = folder / NAME
    write_json(
        path, {"schema": SCHEMA, "operator": artifacts[0].contract.operator, "kernels": rows}
    )
    return path


class Dispatch:
    """Called as a :class:`Kernel` is: the entries' kernels share operator and element types."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = tuple(entries)
        self.contract = entries[0].kernel.contract
        self._warned: set[str] = set()
        for entry in entries:
            unlike = differs(self.contract, entry.kernel.contract)
            if unlike is not None:
                raise ArtifactError(f"{entry.kernel.folder.name} fits in no table: {unlike}")

    def choose(self, extents: Mapping[str, int]) -> tuple[Kernel, ...]:
        """All kernels, the one for the nearest extents first."""
        ranked = sorted(self.entries, key=lambda entry: _distance(entry.extents, extents))
        return tuple(entry.kernel for entry in ranked)

    def __call__(self, *inputs: Given, out: Given | None = None) -> Any:
        """The operator; raises ``ValueError`` as a kernel does. Warns once where NumPy computes."""
        operands = self.contract.inputs
        if out is None and len(inputs) == len(operands) + 1:
            out, inputs = inputs[-1], inputs[:-1]
        if len(inputs) != len(operands):
            names = ", ".join(o.name for o in operands)
            raise ValueError(f"{self.contract.operator} takes {names}: {len(inputs)} were given")
        tensors = tuple(given(value) for value in inputs)
        into = None if out is None else given(out)
        check_numbers(self.contract, tensors, into)
        reason: Reason | None = None
        for kernel in self.choose(extents_of(self.contract, tensors, into)):
            result = kernel.attempt(tensors, into)
            if not isinstance(result, Reason):
                return returned(result, inputs, out)
            reason = reason or result
        assert reason is not None
        self._warn(reason)
        return returned(by_reference(self.contract, tensors, into), inputs, out)

    def _warn(self, reason: Reason) -> None:
        if reason.kind in self._warned:
            return
        self._warned.add(reason.kind)
        named = self.contract.operator
        warnings.warn(
            f"{named}: NumPy computes this call, and others like it: {reason.text}",
            FallbackWarning,
            stacklevel=3,
        )


def _distance(there: Mapping[str, int], here: Mapping[str, int]) -> float:
    """How many doublings lie between two shapes, over all extents."""
    return sum(abs(log2((there.get(n, 1) + 1) / (size + 1))) for n, size in here.items())
