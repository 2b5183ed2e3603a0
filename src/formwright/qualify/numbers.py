"""A build over exact numbers run on random inputs and compared with the exact output."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from formwright.base.diagnostics import InputError
from formwright.codegen.words import NumbersError
from formwright.contract.contract import Contract
from formwright.qualify.exact import NotExactError
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

WORD: Final = np.dtype(np.uint64)
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Inputs in the order of the call and the output; ``mask``: the bits of it that count."""

    inputs: tuple[Words, ...]
    output: Words
    mask: int


class Numbers(Protocol):
    """What the words of a build stand for."""

    @property
    def flags(self) -> tuple[str, ...]:
        """For the compiler."""

    def wanted(self, contract: Contract, shape: Mapping[str, int], seed: int) -> Wanted:
        """Random inputs and their exact output.

        Raises :class:`NotExactError` for a formula that these numbers do not have.
        """


def run_numbers(
    numbers: Numbers,
    source: str | NumbersError,
    command: Sequence[str],
    contract: Contract,
    shapes: Sequence[Mapping[str, int]],
    seed: int,
    threads: int,
    folder: Path,
) -> Outcome:
    """Build ``source`` and call it at ``shapes``; what cannot be built or has no exact output is
    ``unresolved``, with the reason."""
    if isinstance(source, NumbersError):
        return Outcome("unresolved", str(source), 0, 0, (), "", "plain")
    sources = {"kernel.c": source}
    try:
        calls = [numbers.wanted(contract, s, seed + n) for n, s in enumerate(shapes)]
    except NotExactError as error:
        return Outcome("unresolved", str(error), 0, 0, (), "", "plain")
    try:
        program = build_program(sources, command, numbers.flags, folder)
    except InputError as error:
        build = program_command(sources, command, numbers.flags)
        why = f"no build: {shown(error.diagnostics[0].message)}"
        return Outcome("unresolved", why, 0, 0, build, build[0], "plain")
    seen = runs = 0
    told = (program.command, program.compiler, program.level)
    for runs, (shape, wanted) in enumerate(zip(shapes, calls, strict=True), 1):
        at = ", ".join(f"{n}={v}" for n, v in shape.items())
        found = _call(program, contract, shape, wanted, threads)
        if isinstance(found, NoAnswer):
            why = shown(found.told) or f"the program ended with status {found.status}"
            return Outcome("unresolved", f"{why} (at {at})", runs, seen, *told)
        if isinstance(found, str):
            return Outcome("refuted", f"{found} (at {at})", runs, seen, *told)
        seen = max(seen, found)
    return Outcome("held", "", runs, seen, *told)


def _call(
    program: Program, contract: Contract, shape: Mapping[str, int], wanted: Wanted, threads: int
) -> int | str | NoAnswer:
    """The threads of a call whose output is exact, or which cell of it is not."""
    sizes = [contract.shape(o, shape) for o in contract.operands]
    call = Call(
        extents=tuple(shape[name] for name in contract.names),
        strides=tuple(s[-1] for s in sizes),
        sizes=tuple(WORD.itemsize * int(np.prod(s)) for s in sizes),
        inputs=tuple(a.tobytes() for a in wanted.inputs),
        threads=threads,
    )
    answer = call_program(program, call, {})
    if isinstance(answer, NoAnswer):
        return answer
    mask = np.uint64(wanted.mask)
    output = np.frombuffer(answer.output, WORD).reshape(sizes[-1])
    wrong = np.argwhere((output & mask) != (wanted.output & mask))
    if not len(wrong):
        return answer.threads
    cell = ", ".join(map(str, wrong[0]))
    return f"{len(wrong)} of {output.size} cells are not the exact value, the first at [{cell}]"
