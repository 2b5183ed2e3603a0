"""The C program that runs in the child, compiled once on this machine and kept by its digest."""

import functools
import os
import platform
import subprocess
import tempfile
from hashlib import sha256
from importlib import resources
from pathlib import Path

from formwright.base.host import cache_folder, find_compiler
from formwright.measure.outcome import MeasureError, Refused

FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra", "-fno-builtin-malloc", "-rdynamic")
"""``-rdynamic``: libraries find the functions of ``heap.h`` in the worker."""


@functools.cache
def worker_binary() -> Path:
    """The compiled worker. Raises ``MeasureError`` where it cannot be compiled."""
    native = resources.files("formwright.measure") / "native"
    sources = {name: (native / name).read_bytes() for name in ("worker.c", "confine.h", "heap.h")}
    compiler = find_compiler()
    if compiler is None:
        raise MeasureError(Refused("no C compiler: install gcc or clang"))
    key = sha256(b"\0".join([*sources.values(), compiler.encode(), platform.machine().encode()]))
    target = cache_folder() / "bin" / f"worker-{key.hexdigest()[:24]}"
    if not target.exists():
        _compile(compiler, sources, target)
    return target


def _compile(compiler: str, sources: dict[str, bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".build-") as scratch:
        for name, data in sources.items():
            Path(scratch, name).write_bytes(data)
        made = Path(scratch, "worker")
        command = [compiler, *FLAGS, "-o", str(made), str(Path(scratch, "worker.c")), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise MeasureError(Refused(f"the worker does not compile: {done.stderr.strip()}"))
        os.replace(made, target)
