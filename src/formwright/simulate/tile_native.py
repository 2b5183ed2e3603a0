"""The events of :mod:`formwright.simulate.tile_events` as compiled C, some fifty times faster.

The C text follows the Python one line by line and is held to the same answers, to the last bit.
Without a C compiler the Python text runs.
"""

import ctypes
import functools
import os
import platform
import subprocess
import tempfile
from hashlib import sha256
from importlib import resources
from pathlib import Path

import numpy as np

from formwright.base.host import cache_folder, find_compiler
from formwright.simulate import tile_events
from formwright.simulate.tile_events import Memory
from formwright.simulate.tile_machine import Launch

# Contraction would round a product and a sum at once, as Python does not.
_FLAGS = ("-O2", "-std=c11", "-ffp-contract=off", "-fPIC", "-shared")
_MOST_SECONDS = 120
_INTS = ctypes.POINTER(ctypes.c_int32)


class _Task(ctypes.Structure):
    _fields_ = (
        *((n, ctypes.c_int32) for n in ("sms", "steps", "rows", "columns", "blocks")),
        *((n, ctypes.c_int32) for n in ("ahead", "trailing", "keep_a", "keep_b", "keep_c")),
        *((n, ctypes.c_double) for n in ("dram_bandwidth", "port_bandwidth", "barrier")),
        *((n, ctypes.c_double) for n in ("latency", "l2_bytes", "compute", "start", "free")),
        *((n, _INTS) for n in ("row", "column", "depth", "block")),
    )


_BYTES_AND_SECONDS = (
    "dram_bytes",
    "l2_bytes",
    "port_bytes",
    "compute_seconds",
    "waited_seconds",
)
_COUNTS = ("tiles", "barriers", "blocks")


class _Found(ctypes.Structure):
    _fields_ = (
        *((n, ctypes.c_double) for n in ("end", "free", *_BYTES_AND_SECONDS)),
        *((n, ctypes.c_int64) for n in _COUNTS),
    )


def follow(launch: Launch, memory: Memory, start: float) -> float:
    """As :func:`formwright.simulate.tile_events.follow`, for a memory whose L2 is empty."""
    library = _library()
    if library is None or memory.held:
        return tile_events.follow(launch, memory, start)
    machine, counters, tiles = memory.machine, memory.counters, launch.tiles
    sizes = [np.asarray(s, dtype=np.int32) for s in (tiles.rows, tiles.columns, tiles.depths)]
    rows, columns, depths = sizes
    blocks = np.ascontiguousarray(launch.blocks, dtype=np.int32)
    arrays = [a.ctypes.data_as(_INTS) for a in (rows, columns, depths, blocks)]
    task = _Task(
        *(machine.sms, len(depths), len(rows), len(columns), len(blocks)),
        *(launch.ahead, launch.trailing, launch.keep_a, launch.keep_b, launch.keep_c),
        *(machine.dram_bandwidth, machine.port_bandwidth, machine.barrier),
        *(machine.latency, machine.l2_bytes, launch.compute, start, memory.free),
        *arrays,
    )
    found = _Found(start, memory.free)
    if library.follow(ctypes.byref(task), ctypes.byref(found)) != 0:
        raise MemoryError("no room for the tiles of a launch")
    memory.free = found.free
    for name in (*_BYTES_AND_SECONDS, *_COUNTS):
        setattr(counters, name, getattr(counters, name) + getattr(found, name))
    return float(found.end)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """The compiled events, kept by the digest of their text; ``None`` without a compiler."""
    compiler = find_compiler()
    if compiler is None:
        return None
    text = (resources.files("formwright.simulate") / "native" / "tile_events.c").read_bytes()
    key = sha256(b"\0".join([text, compiler.encode(), platform.machine().encode()]))
    target = cache_folder() / "bin" / f"tile-events-{key.hexdigest()[:24]}.so"
    if not target.exists() and not _compiled(compiler, text, target):
        return None
    library = ctypes.CDLL(str(target))
    library.follow.restype = ctypes.c_int32
    library.follow.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library


def _compiled(compiler: str, text: bytes, target: Path) -> bool:
    """Written beside and renamed; ``False`` where the compiler refuses."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as scratch:
        source, made = Path(scratch, "tile_events.c"), Path(scratch, "tile_events.so")
        source.write_bytes(text)
        command = [compiler, *_FLAGS, "-o", str(made), str(source)]
        done = subprocess.run(command, capture_output=True, timeout=_MOST_SECONDS, check=False)
        if done.returncode != 0:
            return False
        os.replace(made, target)
    return True
