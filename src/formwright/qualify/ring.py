"""A build over integers mod 2^64 run on random inputs and compared with the exact output."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from formwright.base.diagnostics import InputError
from formwright.codegen.ring import BITS, RingError
from formwright.contract.contract import Contract
from formwright.qualify.exact import NotExactError, Whole, exact_output
from formwright.qualify.program import (
    Call,
    NoAnswer,
    Program,
    build_program,
    call_program,
    program_command,
    shown,
)
from formwright.qualify.sanitized import Outcome

FLAGS: Final = ("-O1",)
_WORD: Final = np.dtype(np.uint64)
Words = NDArray[np.uint64]


def run_ring(
    source: str | RingError,
    command: Sequence[str],
    contract: Contract,
    shapes: Sequence[Mapping[str, int]],
    seed: int,
    threads: int,
    folder: Path,
) -> Outcome:
    """Build ``source`` and call it at ``shapes``; what cannot be built or is no polynomial is
    ``unresolved``, with the reason."""
    if isinstance(source, RingError):
        return Outcome("unresolved", str(source), 0, 0, (), "", "plain")
    sources = {"kernel.c": source}
    try:
        for shape in shapes[:1]:
            exact_output(contract, shape, _drawn(contract, shape, seed)[1], BITS)
    except NotExactError as error:
        return Outcome(
            "unresolved", f"the formula is no polynomial: {error}", 0, 0, (), "", "plain"
        )
    try:
        program = build_program(sources, command, FLAGS, folder)
    except InputError as error:
        build = program_command(sources, command, FLAGS)
        why = f"no build: {shown(error.diagnostics[0].message)}"
        return Outcome("unresolved", why, 0, 0, build, build[0], "plain")
    seen = runs = 0
    told = (program.command, program.compiler, program.level)
    for runs, shape in enumerate(shapes, 1):
        at = ", ".join(f"{n}={v}" for n, v in shape.items())
        found = _call(program, contract, shape, seed + runs - 1, threads)
        if isinstance(found, NoAnswer):
            why = shown(found.told) or f"the program ended with status {found.status}"
            return Outcome("unresolved", f"{why} (at {at})", runs, seen, *told)
        if isinstance(found, str):
            return Outcome("refuted", f"{found} (at {at})", runs, seen, *told)
        seen = max(seen, found)
    return Outcome("held", "", runs, seen, *told)


def _drawn(
    contract: Contract, shape: Mapping[str, int], seed: int
) -> tuple[list[Words], dict[str, Whole]]:
    """Inputs of any 64 bits in the order of the call, and by name as exact integers."""
    rng = np.random.default_rng([seed, 11])
    drawn = [rng.integers(0, 1 << BITS, contract.shape(o, shape), _WORD) for o in contract.inputs]
    names = [o.name for o in contract.inputs]
    return drawn, {n: a.astype(object) for n, a in zip(names, drawn, strict=True)}


def _call(
    program: Program, contract: Contract, shape: Mapping[str, int], seed: int, threads: int
) -> int | str | NoAnswer:
    """The threads of a call whose output is exact, or which cell of it is not."""
    sizes = [contract.shape(o, shape) for o in contract.operands]
    drawn, exact = _drawn(contract, shape, seed)
    wanted = exact_output(contract, shape, exact, BITS)
    call = Call(
        extents=tuple(shape[name] for name in contract.names),
        strides=tuple(s[-1] for s in sizes),
        sizes=tuple(_WORD.itemsize * int(np.prod(s)) for s in sizes),
        inputs=tuple(a.tobytes() for a in drawn),
        threads=threads,
    )
    answer = call_program(program, call, {})
    if isinstance(answer, NoAnswer):
        return answer
    output = np.frombuffer(answer.output, _WORD).reshape(sizes[-1])
    wrong = np.argwhere(output != wanted.astype(_WORD))
    if not len(wrong):
        return answer.threads
    cell = ", ".join(map(str, wrong[0]))
    return f"{len(wrong)} of {output.size} cells are not the exact sum, the first at [{cell}]"
