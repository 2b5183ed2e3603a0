"""The source built again with the compiler's sanitizers, as a program, and run on a few calls.

A sanitizer changes what the compiler emits, so this is another build: it says that the *source*
made no access outside its tensors, no undefined operation and no race in these calls, and nothing
of the library that ships. It is a program and not a library since its runtime must start first.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from formwright.base.diagnostics import InputError
from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.numbers import format_of
from formwright.qualify.program import (
    Answer,
    Call,
    NoAnswer,
    Program,
    build_program,
    call_program,
    program_command,
    shown,
)

KIND: Final = "normal"
"""The kind of inputs: dense and of ordinary size; every operator has it."""

_FOUND: Final = 86
"""The exit status by which a sanitizer tells that it found something."""


@dataclass(frozen=True, slots=True)
class Sanitizer:
    """``flags`` are added to those of the library; ``threads`` that it is worth running with."""

    name: str
    flags: tuple[str, ...]
    says: str
    threads: int


MEMORY: Final = Sanitizer(
    "address and undefined behaviour",
    (
        # Nothing that the source does is left out, and it compiles in half of the time of -O1.
        "-O0",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        # Rows and scratch are cut into pieces of other types by the source itself.
        "-fno-sanitize=alignment",
        "-fno-omit-frame-pointer",
        "-g1",
    ),
    "no access outside a tensor or the scratch memory, none after it was freed, no undefined"
    " operation (overflow of integers, shifts, null pointers)",
    1,
)
RACES: Final = Sanitizer(
    "threads",
    ("-O0", "-fsanitize=thread", "-g1"),
    "no two threads touch one place without an order between them, one of them writing",
    2,
)
SANITIZERS: Final = (MEMORY, RACES)

Verdict = Literal["held", "refuted", "unresolved"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """``runs`` calls were made; ``detail`` says what was found, or why there is no answer.

    ``threads``: the caller and those that the kernel made, in the call with most of them.
    """

    verdict: Verdict
    detail: str
    runs: int
    threads: int
    command: tuple[str, ...]
    compiler: str
    sandbox: str


def run_sanitized(
    sanitizer: Sanitizer,
    sources: Mapping[str, str],
    command: Sequence[str],
    contract: Contract,
    shapes: Sequence[Mapping[str, int]],
    seed: int,
    folder: Path,
) -> Outcome:
    """Build ``sources`` (C text by file name) with ``sanitizer`` and call them at ``shapes``.

    ``command`` built the library. What the compiler or the system cannot do is ``unresolved``,
    with the reason. The seed of a call is ``seed`` plus its number.
    """
    try:
        program = build_program(sources, command, sanitizer.flags, folder)
    except InputError as error:
        build = program_command(sources, command, sanitizer.flags)
        why = f"no build: {shown(error.diagnostics[0].message)}"
        return Outcome("unresolved", why, 0, 0, build, build[0], "plain")
    verdict: Verdict = "held"
    detail, threads, runs = "", 0, 0
    for runs, shape in enumerate(shapes, 1):
        found = _call(program, sanitizer, contract, shape, seed + runs - 1)
        if isinstance(found, _Fault):
            at = ", ".join(f"{n}={v}" for n, v in shape.items())
            verdict, detail = found.verdict, f"{found.detail} (at {at})"
            break
        threads = max(threads, found)
    if verdict == "held" and threads < sanitizer.threads:
        verdict = "unresolved"
        detail = "no call had more than one thread, so no race could be seen"
    return Outcome(verdict, detail, runs, threads, program.command, program.compiler, program.level)


@dataclass(frozen=True, slots=True)
class _Fault:
    verdict: Verdict
    detail: str


def _call(
    program: Program,
    sanitizer: Sanitizer,
    contract: Contract,
    shape: Mapping[str, int],
    seed: int,
) -> int | _Fault:
    """How many threads there were in a call that went well and gave the right output."""
    arrays = inputs(contract, KIND, shape, seed)
    dimensions = [contract.shape(o, shape) for o in contract.operands]
    kinds = [format_of(o.dtype).numpy for o in contract.operands]
    call = Call(
        extents=tuple(shape[name] for name in contract.names),
        strides=tuple(d[-1] for d in dimensions),
        sizes=tuple(int(np.prod(d)) * k.itemsize for d, k in zip(dimensions, kinds, strict=True)),
        inputs=tuple(a.tobytes() for a in arrays),
        threads=sanitizer.threads,
    )
    match call_program(program, call, _ENVIRONMENT):
        case NoAnswer(status, told):
            return _Fault("unresolved", told) if status is None else _ended(status, told)
        case Answer(data, threads):
            output = np.frombuffer(data, kinds[-1]).reshape(dimensions[-1])
            wrong = judge(contract, KIND, arrays, output)
            return (
                threads if wrong is None else _Fault("refuted", f"{wrong.clause}: {wrong.detail}")
            )


def _ended(status: int, told: str) -> _Fault:
    report = re.search(r"(SUMMARY: .*|.*runtime error: .*|FATAL: .*|ERROR: .*)", told)
    said = shown(report[0]) if report else ""
    if status == _FOUND and "FATAL" not in said:
        return _Fault("refuted", said or "the sanitizer reported a fault")
    if "runtime error" in said or "SUMMARY" in said:
        return _Fault("refuted", said)
    if 0 < status < 16:
        return _Fault("unresolved", f"the call returned error {status}")
    return _Fault("unresolved", said or f"the program ended with status {status}")


_OPTIONS: Final = f"exitcode={_FOUND}:abort_on_error=0:halt_on_error=1"
_ENVIRONMENT: Final = {
    # Leaks are no fault of a call: the runtime keeps its threads and its memory.
    "ASAN_OPTIONS": f"{_OPTIONS}:detect_leaks=0",
    "UBSAN_OPTIONS": f"{_OPTIONS}:print_stacktrace=0",
    "TSAN_OPTIONS": _OPTIONS,
}
