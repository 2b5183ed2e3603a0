"""Small matrix products in C with our ABI, each wrong in one way; compiled where a test asks."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from formwright.base.host import find_compiler
from formwright.measure.programs import Native
from formwright.measure.tensors import Case, Tensor

M, N, K = 13, 17, 9

_SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int32_t fw_abi(void) { return ABI; }
int32_t fw_cpu_ok(void) { return CPU_OK; }
int64_t fw_scratch_bytes(const int64_t *e, int32_t threads) { return SCRATCH; }

static void product(void *const *T, const int64_t *st, const int64_t *e, int64_t m, int64_t n,
                    int64_t k) {
    const float *A = T[0], *B = T[1];
    float *C = T[2];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t l = 0; l < k; l++) sum += A[i * st[0] + l] * B[l * st[1] + j];
            C[i * st[2] + j] = sum;
        }
}
static void right(void *const *T, const int64_t *st, const int64_t *e) {
    product(T, st, e, e[0], e[1], e[2]);
}

%(globals)s

int32_t fw_call(void *const *T, const int64_t *st, const int64_t *e, void *scratch, int64_t bytes,
                int32_t threads) {
    const float *A = T[0], *B = T[1];
    float *C = T[2];
    %(body)s
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """``body`` is what ``fw_call`` does (A, B, C, T, st, e are at hand)."""

    body: str
    globals: str = ""
    abi: int = 1
    cpu_ok: int = 1
    scratch: int = 1024


def compiled(candidate: Candidate, folder: Path, name: str = "candidate") -> Path:
    """The candidate as a shared library in ``folder``."""
    source = folder / f"{name}.c"
    text = _SOURCE % {"body": candidate.body, "globals": candidate.globals}
    source.write_text(text, encoding="utf-8")
    library = folder / f"{name}.so"
    defines = [
        f"-DABI={candidate.abi}",
        f"-DCPU_OK={candidate.cpu_ok}",
        f"-DSCRATCH={candidate.scratch}L",
    ]
    flags = ["-O1", "-w", "-shared", "-fPIC", *defines, "-o", str(library)]
    command = [find_compiler() or "cc", *flags, str(source), "-lpthread"]
    subprocess.run(command, check=True, timeout=60)
    return library


def native(body: str, folder: Path, globals: str = "", threads: int = 1) -> Native:
    """A candidate ready to run."""
    return Native(compiled(Candidate(body, globals), folder), threads)


def tensors(shape: Sequence[int] = (M, N, K), pad: int = 2) -> tuple[Tensor, ...]:
    """A, B and C, the rows of B and C padded."""
    m, n, k = shape
    return (
        Tensor("A", (m, k)),
        Tensor("B", (k, n), row_stride=n + pad),
        Tensor("C", (m, n), row_stride=n + pad, output=True),
    )


def case(seed: int = 0, shape: Sequence[int] = (M, N, K)) -> Case:
    """Random inputs, the product in float64, a tolerance for float32 in any order."""
    m, n, k = shape
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(m, k)).astype(np.float32)
    b = rng.normal(size=(k, n)).astype(np.float32)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return Case((a, b), wide_a @ wide_b, (k + 1) * 2.0**-24 * (np.abs(wide_a) @ np.abs(wide_b)))
