"""Emitted C to a shared library: explicit flags, byte-identical from any folder."""

import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from formwright.base.diagnostics import fail
from formwright.base.files import write_bytes, write_text
from formwright.base.host import find_compiler as first_compiler
from formwright.codegen.emit import Emitted

FLAGS = (
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-shared",
    "-fno-math-errno",
    "-ffp-contract=fast",
    "-fno-strict-aliasing",
    "-fno-ident",
    "-pthread",
    "-Wno-psabi",
)
LINK = ("-Wl,--build-id=none", "-lm")
MOST_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Built:
    """``command`` as run in the folder of ``source``; ``compiler`` is its own first line."""

    library: Path
    source: Path
    command: tuple[str, ...]
    compiler: str
    seconds: float


def find_compiler(name: str | None = None) -> tuple[str, ...]:
    """The command of a C compiler; ``InputError`` when there is none."""
    found = shutil.which(name) if name else first_compiler()
    if found:
        return (found,)
    if name is None:
        zig = shutil.which("python-zig") or shutil.which("zig")
        if zig:
            return (zig, "cc")
    raise fail(
        f"there is no C compiler: {name or 'gcc or clang'} was not found",
        hint="install gcc or clang, or pip install ziglang",
    )


def build(emitted: Emitted, directory: Path, compiler: str | None = None) -> Built:
    """``kernel.c`` and ``kernel.so`` in ``directory``; each is written whole or not at all.

    The library depends on the source, the flags and the compiler alone. A fault of the
    compiler is an :class:`InputError` with its first lines.
    """
    started = time.perf_counter()
    source, library = directory / "kernel.c", directory / "kernel.so"
    write_text(source, emitted.source)
    command = find_compiler(compiler)
    with tempfile.TemporaryDirectory(prefix="formwright-build-") as folder:
        write_text(Path(folder) / "kernel.c", emitted.source)
        arguments = (
            *FLAGS,
            *emitted.target.flags,
            f"-ffile-prefix-map={folder}=.",
            "-o",
            "kernel.so",
            "kernel.c",
            *LINK,
        )
        run_compiler((*command, *arguments), Path(folder), "the emitted code")
        write_bytes(library, (Path(folder) / "kernel.so").read_bytes())
    library.chmod(0o755)
    shown = tuple(a for a in (*command, *arguments) if not a.startswith("-ffile-prefix-map"))
    return Built(library, source, shown, compiler_version(command), time.perf_counter() - started)


def compiler_version(command: tuple[str, ...]) -> str:
    """The first line of ``--version``."""
    done = subprocess.run(
        [*command, "--version"], capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout.splitlines()[0] if done.stdout else command[0]


def run_compiler(command: tuple[str, ...], folder: Path, what: str) -> None:
    """Compile in ``folder``. A fault is an :class:`InputError` with the compiler's first lines."""
    environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TMPDIR": str(folder)}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise fail(f"the compiler ran longer than {MOST_SECONDS:.0f} s") from error
    if done.returncode != 0:
        lines = "\n".join(done.stderr.splitlines()[:12])
        raise fail(f"the compiler refused {what}:\n{lines}")
