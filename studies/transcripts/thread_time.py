"""CPU time of one thread for designs of recorded texts, interleaved: the figures of the READMEs.

    python studies/transcripts/thread_time.py gemm SECONDS copied_panels:Mr=6,Nr=16,Np=8 …

A design is the name of a template of the transcript (or one that ships) and its decisions. Each
result is compared with NumPy in float64. Printed: median and least, in milliseconds.
"""

import ctypes
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from formwright.agent.recorded import Recorded
from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.codegen import build, detect_target, emit_c
from formwright.ir.template import Template
from formwright.lang import load, parse

HERE = Path(__file__).parent
EXTENTS = {
    "gemm": {"M": 128, "N": 896, "K": 896},
    "decode-attention": {"H": 2, "G": 7, "S": 2048, "D": 64},
}
Tensor = NDArray[np.float32]


def texts(problem: str) -> dict[str, Template]:
    """The recorded templates by name; of one name the last."""
    found = {}
    for proposal in Recorded(HERE / problem / "transcript.jsonl").proposals:
        try:
            template = parse(Source("recorded.fw", proposal.text))
        except InputError:
            continue
        found[template.name] = template
    return found


def aligned(*shape: int) -> Tensor:
    """Uniform values on a line of a cache."""
    size = int(np.prod(shape)) * 4
    store = np.zeros(size + 64, np.uint8)
    start = -store.ctypes.data % 64
    values = store[start : start + size].view(np.float32).reshape(shape)
    values[...] = np.random.default_rng(1).random(shape) - 0.5
    return values


def inputs(problem: str) -> tuple[list[Tensor], NDArray[np.float64]]:
    """Inputs with the output behind them, and what the output should be."""
    if problem == "gemm":
        a, b = aligned(128, 896), aligned(896, 896)
        return [a, b, aligned(128, 896)], a.astype(np.float64) @ b
    q, k, v = aligned(2, 7, 64), aligned(2, 2048, 64), aligned(2, 2048, 64)
    scores = np.einsum("hgd,hsd->hgs", q.astype(np.float64), k) / 8
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return [q, k, v, aligned(2, 7, 64)], np.einsum("hgs,hsd->hgd", weights, v)


def kernel(
    template: Template, decisions: dict[str, int], tensors: list[Tensor], extents: dict[str, int]
) -> Callable[[], None]:
    """One call of the built design on ``tensors``."""
    emitted = emit_c(template, decisions, detect_target())
    library = ctypes.CDLL(str(build(emitted, Path(tempfile.mkdtemp())).library))
    library.fw_scratch_bytes.restype = ctypes.c_int64
    sizes = (ctypes.c_int64 * len(extents))(*(extents[n] for n in emitted.extents))
    needed = library.fw_scratch_bytes(sizes, 1)
    scratch = np.zeros(needed + 64, np.uint8)
    place = ctypes.c_void_p((scratch.ctypes.data + 63) // 64 * 64)
    data = (ctypes.c_void_p * len(tensors))(*(t.ctypes.data for t in tensors))
    strides = (ctypes.c_int64 * len(tensors))(*(t.shape[-1] for t in tensors))

    def call() -> None:
        assert scratch.size  # lives as long as the call
        if library.fw_call(data, strides, sizes, place, ctypes.c_int64(needed), 1):
            raise RuntimeError("the kernel refused the call")

    return call


def main(problem: str, seconds: float, designs: list[str]) -> None:
    tensors, right = inputs(problem)
    known = texts(problem)
    calls: dict[str, Callable[[], object]] = {}
    if problem == "gemm":
        calls["numpy"] = lambda: np.matmul(tensors[0], tensors[1], out=tensors[2])
    for design in designs:
        name, _, chosen = design.partition(":")
        decisions = {k: int(v) for k, v in (one.split("=") for one in chosen.split(","))}
        template = known[name] if name in known else load(name)[1]
        calls[design] = kernel(template, decisions, tensors, EXTENTS[problem])
    times: dict[str, list[float]] = {name: [] for name in calls}
    for name, call in calls.items():
        tensors[-1][...] = np.nan
        call()
        assert np.abs(tensors[-1] - right).max() < 1e-3, name
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, call in calls.items():
            start = time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID)
            call()
            times[name].append(time.clock_gettime(time.CLOCK_THREAD_CPUTIME_ID) - start)
    for name, taken in times.items():
        print(f"{name}: {median(taken) * 1e3:.3f} ms, least {min(taken) * 1e3:.3f}, {len(taken)}")


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
