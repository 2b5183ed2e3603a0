"""A kernel's source built as a program of its own, which makes one call: for other builds of it.

Sanitizers need a program, since their runtime must start first; a build over other numbers than
floats has no library to be compared with.
"""

import re
import struct
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from formwright.base.files import write_text
from formwright.codegen.build import compiler_version, run_compiler
from formwright.measure.sandbox import bubblewrap_command, bubblewrap_works

SECONDS: Final = 60.0
"""For one call."""

_COUNT: Final = struct.Struct("=i")
_LIBRARY_ONLY: Final = frozenset({"-shared", "-fPIC"})


@dataclass(frozen=True, slots=True)
class Program:
    """A built program. ``level``: how far its calls are confined (``plain`` is not at all)."""

    path: Path
    command: tuple[str, ...]
    compiler: str
    level: str


@dataclass(frozen=True, slots=True)
class Call:
    """What one call is given: row strides in elements, sizes in bytes of all tensors, inputs.

    The output comes last in ``strides`` and ``sizes`` and has no data.
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    sizes: tuple[int, ...]
    inputs: tuple[bytes, ...]
    threads: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The bytes of the output. ``threads``: the caller and those that the kernel made."""

    output: bytes
    threads: int


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """``status`` is that of the program, ``None`` where it did not end or did not start."""

    status: int | None
    told: str


def build_program(
    sources: Mapping[str, str], command: Sequence[str], flags: Sequence[str], folder: Path
) -> Program:
    """Build ``sources`` (C text by file name) in ``folder`` with ``flags`` added.

    ``command`` built the library: its compiler and flags are kept, but for those that make a
    library. Raises ``InputError`` with what the compiler says.
    """
    for name, text in {**sources, "driver.c": DRIVER}.items():
        write_text(folder / name, text)
    build = program_command(sources, command, flags)
    run_compiler(build, folder, "this build")
    level = "bubblewrap" if bubblewrap_works() else "plain"
    return Program(folder / "program", build, compiler_version(build[:1]), level)


def program_command(
    sources: Mapping[str, str], command: Sequence[str], flags: Sequence[str]
) -> tuple[str, ...]:
    """What :func:`build_program` runs."""
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
    usual = [p for p in kept if p not in links]
    counted = "-Wl,--wrap=pthread_create"
    return (*usual, *flags, counted, "-o", "program", *sources, "driver.c", *links)


def shown(text: str, most: int = 300) -> str:
    """What a record may say of ``text``: no folders of this machine and no addresses."""
    plain = re.sub(r"0x[0-9a-f]{4,}", "an address", re.sub(r"/\S*/", "", text))
    return plain.strip()[:most]


def call_program(program: Program, call: Call, environment: Mapping[str, str]) -> Answer | NoAnswer:
    """One call in a process of its own, with nothing but ``environment``."""
    confined = program.level == "bubblewrap"
    prefix = bubblewrap_command([program.path]) if confined else []
    try:
        done = subprocess.run(
            [*prefix, str(program.path)],
            input=_message(call),
            capture_output=True,
            env=dict(environment),
            timeout=SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return NoAnswer(None, f"no answer within {SECONDS:.0f} s")
    except OSError as error:
        return NoAnswer(None, f"it does not start: {error.strerror}")
    if done.returncode != 0:
        return NoAnswer(done.returncode, done.stderr.decode("utf-8", "replace"))
    length = call.sizes[-1]
    if len(done.stdout) != length + _COUNT.size:
        return NoAnswer(None, "it gave no whole output")
    return Answer(done.stdout[:length], int(_COUNT.unpack(done.stdout[length:])[0]))


def _message(call: Call) -> bytes:
    """What ``driver.c`` reads: counts, extents, row strides and bytes of tensors, the inputs."""
    counts = (len(call.sizes), len(call.extents), call.threads)
    numbers = (*counts, *call.extents, *call.strides, *call.sizes)
    return struct.pack(f"={len(numbers)}q", *numbers) + b"".join(call.inputs)


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
