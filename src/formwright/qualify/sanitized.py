"""The source built again with the compiler's sanitizers, as a program, and run on a few calls.

A sanitizer changes what the compiler emits, so this is another build: it says that the *source*
made no access outside its tensors, no undefined operation and no race in these calls, and nothing
of the library that ships. It is a program and not a library since its runtime must start first.
"""

import os
import re
import signal
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np

from formwright.base.diagnostics import InputError
from formwright.base.files import write_text
from formwright.codegen.build import compiler_version, run_compiler
from formwright.contract.contract import Contract
from formwright.contract.inputs import inputs
from formwright.contract.judge import judge
from formwright.contract.numbers import Array, format_of
from formwright.measure.sandbox import bubblewrap_command, bubblewrap_works

KIND: Final = "normal"
"""The kind of inputs: dense and of ordinary size; every operator has it."""

_FOUND: Final = 86
"""The exit status by which a sanitizer tells that it found something."""

_SECONDS: Final = 60.0
_COUNT: Final = struct.Struct("=i")


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
        # Twice as quick to compile, and no fault of the source hides behind it.
        "-O1",
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
    ("-O1", "-fsanitize=thread", "-g1"),
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

    ``command`` built the library: its compiler and flags are kept, but for those that make a
    library. What the compiler or the system cannot do is ``unresolved``, with the reason.
    """
    names = [*sources, "driver.c"]
    for name, text in {**sources, "driver.c": DRIVER}.items():
        write_text(folder / name, text)
    program = folder / "program"
    build = _command(command, sanitizer, names)
    confined = bubblewrap_works()
    level = "bubblewrap" if confined else "limits"
    try:
        run_compiler(build, folder, "the sanitizer build")
    except InputError as error:
        why = error.diagnostics[0].message
        return Outcome("unresolved", f"no build: {why}", 0, 0, build, build[0], level)
    version = compiler_version(build[:1])
    prefix = bubblewrap_command([program]) if confined else []
    threads = 0
    for number, shape in enumerate(shapes):
        found = _call(program, prefix, sanitizer, contract, shape, seed + number)
        if isinstance(found, _Fault):
            at = ", ".join(f"{n}={v}" for n, v in shape.items())
            told = f"{found.detail} (at {at})"
            return Outcome(found.verdict, told, number + 1, threads, build, version, level)
        threads = max(threads, found)
    alone = sanitizer.threads > 1 and threads < 2
    verdict: Verdict = "unresolved" if alone else "held"
    detail = "no call had more than one thread, so no race could be seen" if alone else ""
    return Outcome(verdict, detail, len(shapes), threads, build, version, level)


@dataclass(frozen=True, slots=True)
class _Fault:
    verdict: Verdict
    detail: str


_LIBRARY_ONLY: Final = frozenset({"-shared", "-fPIC"})


def _command(command: Sequence[str], sanitizer: Sanitizer, names: list[str]) -> tuple[str, ...]:
    kept: list[str] = []
    skip = False
    for part in command:
        if skip or part in _LIBRARY_ONLY or part.endswith((".c", ".so")):
            skip = False
        elif part == "-o":
            skip = True
        else:
            kept.append(part)
    links = [p for p in kept if p.startswith(("-l", "-Wl,"))]
    flags = [p for p in kept if p not in links]
    counted = "-Wl,--wrap=pthread_create"
    return (*flags, *sanitizer.flags, counted, "-o", "program", *names, *links)


def _call(
    program: Path,
    prefix: Sequence[str],
    sanitizer: Sanitizer,
    contract: Contract,
    shape: Mapping[str, int],
    seed: int,
) -> int | _Fault:
    """How many threads there were after a call that went well and gave the right output."""
    arrays = inputs(contract, KIND, shape, seed)
    try:
        done = subprocess.run(
            [*prefix, str(program)],
            input=_message(contract, shape, arrays, sanitizer.threads),
            capture_output=True,
            env=_ENVIRONMENT,
            timeout=_SECONDS,
            preexec_fn=_quiet_end,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _Fault("unresolved", f"no answer within {_SECONDS:.0f} s")
    except OSError as error:
        return _Fault("unresolved", f"it does not start: {error.strerror}")
    told = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        return _ended(done.returncode, told)
    output = contract.output
    kind = format_of(output.dtype).numpy
    size = contract.shape(output, shape)
    length = int(np.prod(size)) * kind.itemsize
    if len(done.stdout) != length + _COUNT.size:
        return _Fault("unresolved", "it gave no whole output")
    wrong = judge(contract, KIND, arrays, np.frombuffer(done.stdout[:length], kind).reshape(size))
    if wrong is not None:
        return _Fault("refuted", f"{wrong.clause}: {wrong.detail}")
    threads: int = _COUNT.unpack(done.stdout[length:])[0]
    return threads


def _ended(status: int, told: str) -> _Fault:
    report = re.search(r"(SUMMARY: .*|.*runtime error: .*|FATAL: .*|ERROR: .*)", told)
    said = _shown(report[0]) if report else ""
    if status == _FOUND and "FATAL" not in said:
        return _Fault("refuted", said or "the sanitizer reported a fault")
    if "runtime error" in said or "SUMMARY" in said:
        return _Fault("refuted", said)
    if 0 < status < 16:
        return _Fault("unresolved", f"the call returned error {status}")
    return _Fault("unresolved", said or f"the program ended with status {status}")


def _shown(line: str) -> str:
    """Without folders of this machine and addresses."""
    return re.sub(r"/\S*/", "", re.sub(r"0x[0-9a-f]+", "an address", line)).strip()[:300]


_OPTIONS: Final = f"exitcode={_FOUND}:abort_on_error=0:halt_on_error=1"
_ENVIRONMENT: Final = {
    # Leaks are no fault of a call: the runtime keeps its threads and its memory.
    "ASAN_OPTIONS": f"{_OPTIONS}:detect_leaks=0",
    "UBSAN_OPTIONS": f"{_OPTIONS}:print_stacktrace=0",
    "TSAN_OPTIONS": _OPTIONS,
}


def _quiet_end() -> None:
    """In the child: it dies with us, and leaves no core behind."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.setsid()


def _message(
    contract: Contract, shape: Mapping[str, int], arrays: Sequence[Array], threads: int
) -> bytes:
    """What ``driver.c`` reads: counts, extents, row strides and bytes of tensors, the inputs."""
    numbers = [len(contract.operands), len(contract.names), threads]
    numbers += [shape[name] for name in contract.names]
    sizes = []
    for operand in contract.operands:
        dimensions = contract.shape(operand, shape)
        numbers.append(dimensions[-1])
        sizes.append(int(np.prod(dimensions)) * format_of(operand.dtype).bytes)
    head = struct.pack(f"={len(numbers) + len(sizes)}q", *numbers, *sizes)
    return head + b"".join(a.tobytes() for a in arrays)


DRIVER: Final = r"""/* One call of a kernel on inputs from standard input; to standard output
   its output and how many threads there were: the caller, and those that the kernel made.
   Each tensor is an allocation of its own and exactly as large as its elements. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t fw_scratch_bytes(const int64_t *extents, int32_t threads);
int32_t fw_call(void *const *tensors, const int64_t *strides, const int64_t *extents,
                void *scratch, int64_t scratch_bytes, int32_t threads);

enum { MOST = 64 };

static void take(void *to, size_t size) {
    if (size && fread(to, 1, size, stdin) != size) exit(20);
}

static _Atomic int32_t made;

/* The linker puts it in the place of the kernel's calls; a sanitizer's own threads do not pass. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *to, const pthread_attr_t *how, void *(*run)(void *),
                          void *given) {
    made++;
    return __real_pthread_create(to, how, run, given);
}

int main(void) {
    int64_t head[3], extents[MOST], strides[MOST], sizes[MOST];
    void *tensors[MOST];
    take(head, sizeof head);
    const int64_t count = head[0];
    if (count < 1 || count > MOST || head[1] < 0 || head[1] > MOST) return 21;
    take(extents, (size_t)head[1] * sizeof *extents);
    take(strides, (size_t)count * sizeof *strides);
    take(sizes, (size_t)count * sizeof *sizes);
    for (int64_t i = 0; i < count; i++) {
        tensors[i] = malloc((size_t)sizes[i]);
        if (sizes[i] && !tensors[i]) return 22;
        if (i + 1 < count) take(tensors[i], (size_t)sizes[i]);
        else memset(tensors[i], 0xFF, (size_t)sizes[i]);
    }
    const int32_t threads = (int32_t)head[2];
    const int64_t bytes = fw_scratch_bytes(extents, threads);
    void *scratch = NULL;
    if (bytes < 0 || posix_memalign(&scratch, 4096, (size_t)bytes)) return 23;
    const int32_t code = fw_call(tensors, strides, extents, scratch, bytes, threads);
    if (code) return code;
    const size_t size = (size_t)sizes[count - 1];
    if (size && fwrite(tensors[count - 1], 1, size, stdout) != size) return 24;
    const int32_t seen = made + 1;
    fwrite(&seen, 1, sizeof seen, stdout);
    fflush(stdout);
    for (int64_t i = 0; i < count; i++) free(tensors[i]);
    free(scratch);
    return 0;
}
"""
