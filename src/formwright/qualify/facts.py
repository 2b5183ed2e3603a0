"""What a qualification depended on besides the artifact: machine, tools, versions."""

import os
import platform
import subprocess
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

TOOLS = ("formwright", "numpy", "ml_dtypes", "z3-solver", "highspy")


@dataclass(frozen=True, slots=True)
class Facts:
    """``cpu`` is the model, ``isa`` a digest of its feature flags, ``cores`` those usable here.

    ``libc`` is the C library, which gives kernels their mathematical functions.
    """

    cpu: str
    isa: str
    microcode: str
    cores: int
    system: str
    libc: str
    python: str
    compiler: str
    tools: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """As it stands in the record."""
        return {
            "cpu": self.cpu,
            "isa": self.isa,
            "microcode": self.microcode,
            "cores": self.cores,
            "system": self.system,
            "libc": self.libc,
            "python": self.python,
            "compiler": self.compiler,
            "tools": self.tools,
        }


def gather(compiler: str) -> Facts:
    """The facts of this machine now; ``compiler`` is the program that built the library."""
    model, flags, microcode = _cpu()
    return Facts(
        cpu=model,
        isa=sha256(" ".join(sorted(flags)).encode()).hexdigest()[:16],
        microcode=microcode,
        cores=len(os.sched_getaffinity(0)),
        system=f"{platform.system()} {platform.machine()}",
        libc=" ".join(platform.libc_ver()).strip() or "unknown",
        python=platform.python_version(),
        compiler=compiler_version(compiler),
        tools={name: _version(name) for name in TOOLS},
    )


def compiler_version(compiler: str) -> str:
    """The first line of ``compiler --version``, or why there is none."""
    if not compiler:
        return "unknown"
    try:
        done = subprocess.run(
            [compiler, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "not installed"
    return (done.stdout.splitlines() or ["unknown"])[0]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cpu() -> tuple[str, frozenset[str], str]:
    """Model, feature flags and microcode of the first core, as Linux lists them."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown", frozenset(), "unknown"
    rows: dict[str, str] = {}
    for line in text.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        rows[name.strip()] = value.strip()
    model = rows.get("model name", platform.processor() or "unknown")
    flags = frozenset(rows.get("flags", rows.get("Features", "")).split())
    return model, flags, rows.get("microcode", "unknown")
