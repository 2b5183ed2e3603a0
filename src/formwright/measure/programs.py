"""What can run in the child: a compiled library with our ABI, or a library that people use now."""

import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from formwright.measure.tensors import Tensor

BaselineName = Literal["numpy", "torch", "onednn", "onnxruntime"]


@dataclass(frozen=True, slots=True)
class Native:
    """A shared library with the ABI of the emitted code (``fw_abi`` 1).

    With ``ahead`` the inputs named there are packed by ``fw_prepare`` outside the clock, and the
    timed call is ``fw_call_ahead``.
    """

    library: Path
    threads: int = 1
    ahead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Baseline:
    """An operator of a library that is installed here, called from Python.

    ``operator`` is the name of a contract's family, its operands in the family's order. With
    ``ahead`` oneDNN and ONNX Runtime pack those inputs outside the clock; the others have no
    such call. ``constants`` are those of the formula that a library takes as arguments.
    """

    name: BaselineName
    threads: int = 1
    ahead: tuple[str, ...] = ()
    operator: str = "gemm"
    constants: tuple[tuple[str, float], ...] = ()


Program = Native | Baseline


def description(program: Baseline, tensors: Sequence[Tensor]) -> str:
    """What a peer's child is told beside the layout of its memory, as JSON."""
    library = onednn_library() if program.name == "onednn" else None
    told = {
        "peer": program.name,
        "operator": program.operator,
        "names": [t.name for t in tensors],
        "shapes": [t.shape for t in tensors],
        "dtypes": [t.dtype for t in tensors],
        "ahead": program.ahead,
        "constants": dict(program.constants),
        "library": str(library or ""),
    }
    return json.dumps(told)


def packs(program: Program) -> bool:
    """Whether it packs inputs ahead at all; a library without such a call has nothing to pack."""
    match program:
        case Native(ahead=ahead):
            return bool(ahead)
        case Baseline(name=name, ahead=ahead):
            return bool(ahead) and name in ("onednn", "onnxruntime")
        case _:
            assert_never(program)


def missing(program: Program) -> str | None:
    """Why ``program`` cannot run here at all, or ``None``; a missing peer is always reported."""
    match program:
        case Native(library=library):
            return None if library.is_file() else f"{library} does not exist"
        case Baseline(name=name):
            return _missing_peer(name)
        case _:
            assert_never(program)


def _missing_peer(name: BaselineName) -> str | None:
    match name:
        case "numpy" | "torch":
            return None if importlib.util.find_spec(name) else f"{name} is not installed"
        case "onnxruntime":
            lacking = [m for m in ("onnx", "onnxruntime") if not importlib.util.find_spec(m)]
            return f"{' and '.join(lacking)} not installed" if lacking else None
        case "onednn":
            return None if onednn_library() else "the onednn wheel is not installed"
        case _:
            assert_never(name)


def onednn_library() -> Path | None:
    """The shared library of a oneDNN wheel in this environment, if there is one."""
    for prefix in _environment_folders():
        found = sorted(prefix.glob("libdnnl.so*"))
        if found:
            return found[0]
    return None


def _environment_folders() -> list[Path]:
    spec = importlib.util.find_spec("numpy")
    if spec is None or spec.origin is None:
        return []
    packages = Path(spec.origin).parent.parent
    return [packages.parent.parent, packages.parent, packages]
