"""The figures of this machine: what the system says of it, and what a small C program measures."""

import functools
import os
import platform
import re
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib import resources
from pathlib import Path

from formwright.base.diagnostics import InputError, fail
from formwright.base.host import find_compiler
from formwright.base.quantities import Quantity
from formwright.chip.chip import Field
from formwright.chip.fields import FIELDS

_DEFAULT_TLB = 512
"""Where the system does not say: no core of the last decade has a smaller second-level TLB."""
_VECTORS = (
    # words of the system, f32 lanes, registers, compiler flags
    (("avx512f", "avx512dq", "avx512bw", "avx512vl"), 16, 32, ("-mavx512f", "-mfma")),
    (("avx2", "fma"), 8, 16, ("-mavx2", "-mfma")),
    (("asimd",), 4, 32, ()),
)
_UNITS = (
    (("amx_tile", "amx_bf16", "avx512_bf16"), ("-mamx-tile", "-mamx-bf16")),
    (("avx512_bf16",), ("-mavx512f", "-mavx512bf16")),
)
"""Words of the system that code for units of bf16 needs, and compiler flags; tiles first."""
MEASURED = frozenset(
    {
        "clock",
        "flops",
        "core_flops",
        "core_matrix_flops",
        "dram_bandwidth",
        "core_dram_bandwidth",
        "l1_bandwidth",
        "l2_bandwidth",
        "l3_bandwidth",
    }
)
"""The fields that every chip measured here has; ``core_matrix_flops`` is 0 without such units."""
_TIMEOUT_SECONDS = 60.0
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@functools.cache
def _cpuinfo() -> tuple[dict[str, str], ...]:
    """What the system says of each core."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    return tuple(_pairs(part) for part in text.split("\n\n") if part.strip())


def _pairs(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _first_core() -> dict[str, str]:
    return next(iter(_cpuinfo()), {})


def cpu_name() -> str:
    """The CPU as the system names it, with family, model and stepping (names are reused)."""
    info = _first_core()
    name = info.get("model name") or info.get("CPU part") or platform.machine()
    numbers = [info[key] for key in ("cpu family", "model", "stepping") if key in info]
    return f"{name} ({'/'.join(numbers)})" if numbers else name


def isa_words() -> tuple[str, ...]:
    """The extensions that a kernel can use here, on any core, by the system's names."""
    texts = (core.get("flags") or core.get("Features") for core in _cpuinfo())
    # On some machines a part about the board follows those of the cores.
    cores = [set(text.split()) for text in texts if text]
    known = dict.fromkeys(word for words, *_ in (*_VECTORS, *_UNITS) for word in words)
    return tuple(word for word in known if cores and all(word in core for core in cores))


def usable_cores() -> tuple[int, ...]:
    """The cores that this process may run on, but no more than its quota of CPU time pays for."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        paid = -(-int(quota) // int(period))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores
    return cores[-max(paid, 1) :]


def detect_fields() -> dict[str, Field]:
    """Every field of this machine, measured now (under 15 s).

    Raises ``InputError`` where there is no C compiler or a measurement fails.
    """
    lanes, registers, flags = _vector()
    fields = _described(lanes, registers)
    caches = {level: int(fields[f"l{level}_bytes"].value) for level in (1, 2, 3)}
    cores = usable_cores()
    one = cores[-1:]
    # Half a level leaves room for what else lives there; memory is well beyond the last level, but
    # not so far that a small machine has no room for a buffer for each core.
    memory = min(max(4 * caches[3], 64 << 20), 256 << 20)
    share = max(memory // len(cores), 2 * caches[3] // len(cores), 8 << 20)
    # A level that others share is probed at most at 8 MiB: a quarter of a large one is its own.
    third = max(2 * caches[2], min(caches[3] // 4, 8 << 20))
    plan = (
        ("clock", ["clock"], one),
        ("core_flops", ["flops", "1"], one),
        ("flops", ["flops", str(len(cores))], cores),
        ("l1_bandwidth", ["read", str(caches[1] // 2), "1"], one),
        ("l2_bandwidth", ["read", str(caches[2] // 2), "1"], one),
        ("l3_bandwidth", ["read", str(third), "1"], one),
        ("core_dram_bandwidth", ["read", str(memory), "1"], one),
        ("dram_bandwidth", ["read", str(share), str(len(cores))], cores),
    )
    with tempfile.TemporaryDirectory(prefix="formwright-probe-") as folder:
        probe = _compile(Path(folder), lanes, flags)
        matrix, lacking = _matrix_probe(Path(folder))
        rates = ""
        for number, (name, arguments, used) in enumerate(plan):
            fields[name] = _measured(name, probe, arguments, used)
            # Neighbours on a shared machine take most of a core's units for seconds at a time: the
            # best is of runs some time apart, on one core after another.
            rates += _matrix_rates(matrix, cores[-1 - number % len(cores)])
    fields["core_matrix_flops"] = _matrix(rates, lacking)
    return {name: fields[name] for name in FIELDS if name in fields}


def _vector() -> tuple[int, int, tuple[str, ...]]:
    words = set(isa_words())
    for needed, lanes, registers, flags in _VECTORS:
        if words.issuperset(needed):
            return lanes, registers, flags
    return 4, 16, ()


def _described(lanes: int, registers: int) -> dict[str, Field]:
    """What the system says without measuring."""
    isa = " ".join(isa_words()) or "baseline"
    tlb, tlb_source = _tlb()
    fields = {
        "cores": _stated("cores", len(usable_cores()), "cores this process may run on"),
        "vector_lanes": _stated("vector_lanes", lanes, f"instruction set: {isa}"),
        "vector_registers": _stated("vector_registers", registers, f"instruction set: {isa}"),
        "accumulators": _stated("accumulators", lanes * registers, "vector registers x lanes"),
        "line_bytes": _stated("line_bytes", *_line()),
        "page_bytes": _stated("page_bytes", os.sysconf("SC_PAGESIZE"), "sysconf PAGESIZE"),
        "tlb_entries": _stated("tlb_entries", tlb, tlb_source),
    }
    size, source = 32 << 10, "not stated by the system: a conservative default"
    for level in (1, 2, 3):
        found = _cache(level)
        if found is not None:
            size, source = found
        elif level > 1:
            size = max(size, 128 << 10 if level == 2 else 512 << 10)
            source = f"no level {level} is stated by the system: taken as the level below it"
        fields[f"l{level}_bytes"] = _stated(f"l{level}_bytes", size, source)
    return fields


def _stated(name: str, value: int, source: str) -> Field:
    return Field(Quantity(Fraction(value), FIELDS[name].dimension), source)


def _cache(level: int) -> tuple[int, str] | None:
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            found = int((folder / "level").read_text())
            kind = (folder / "type").read_text().strip()
            size = (folder / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        match = re.fullmatch(r"(\d+)([KM]?)", size)
        if found == level and kind != "Instruction" and match:
            return int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]], f"sysfs, {folder.name}"
    name = "SC_LEVEL1_DCACHE_SIZE" if level == 1 else f"SC_LEVEL{level}_CACHE_SIZE"
    size_by_libc = _sysconf(name)
    return (size_by_libc, f"sysconf {name}") if size_by_libc > 0 else None


def _line() -> tuple[int, str]:
    size = _sysconf("SC_LEVEL1_DCACHE_LINESIZE")
    return (size, "sysconf LEVEL1_DCACHE_LINESIZE") if size > 0 else (64, "default: 64 bytes")


def _sysconf(name: str) -> int:
    return os.sysconf(name) if name in os.sysconf_names else 0


def _tlb() -> tuple[int, str]:
    match = re.match(r"(\d+) 4K pages", _first_core().get("TLB size", ""))
    if match:
        return int(match[1]), "/proc/cpuinfo, TLB size"
    return _DEFAULT_TLB, "not stated by the system: a conservative default"


def _compile(folder: Path, lanes: int, flags: Sequence[str]) -> Path:
    compiler = find_compiler()
    if compiler is None:
        raise fail("measuring this machine needs a C compiler", hint="install gcc or clang")
    source = folder / "probe.c"
    text = (resources.files("formwright.chip") / "native" / "probe.c").read_text(encoding="utf-8")
    source.write_text(text, encoding="utf-8")
    program = folder / "probe"
    # Contraction makes the multiply-add one instruction; nothing here depends on rounding.
    options = ["-O2", "-ffp-contract=fast", "-Wno-psabi", f"-DLANES={lanes}", *flags]
    _run([compiler, *options, "-o", str(program), str(source), "-lpthread"], "compile the probe")
    return program


def _matrix_probe(folder: Path) -> tuple[Path | None, str]:
    """The program that measures matrix units, or ``None`` and why there is nothing to measure."""
    there = set(isa_words())
    flags = next((flags for words, flags in _UNITS if there.issuperset(words)), None)
    if flags is None:
        return None, f"no matrix units: not every core has {' and '.join(_UNITS[-1][0])}"
    compiler = find_compiler()
    source, program = folder / "matrix.c", folder / "matrix"
    native = resources.files("formwright.chip") / "native" / source.name
    source.write_text(native.read_text(encoding="utf-8"), encoding="utf-8")
    try:
        _run([str(compiler), "-O2", *flags, "-o", str(program), str(source)], "compile the probe")
    except InputError:
        return None, "the C compiler has no code for the matrix units"
    return program, "the system does not lend its matrix units to programs"


def _matrix_rates(program: Path | None, core: int) -> str:
    """The figures of the units of that core while no other is measured; none where it has none."""
    try:
        return "" if program is None else _run([str(program), str(core)], "measure matrix units")
    except InputError:
        return ""


def _matrix(rates: str, lacking: str) -> Field:
    name = "core_matrix_flops"
    return _best_of(name, rates, "matrix.c") if rates else _stated(name, 0, lacking)


def _measured(name: str, probe: Path, arguments: Sequence[str], cores: Sequence[int]) -> Field:
    output = _run([str(probe), *arguments, *map(str, cores)], f"measure {name}")
    return _best_of(name, output, f"probe.c {arguments[0]}")


def _best_of(name: str, output: str, program: str) -> Field:
    """The best of the runs: what else runs on the machine can only lower a figure."""
    figures = [int(line) for line in output.split()]
    if not figures or min(figures) <= 0:
        raise fail(f"measuring {name} gave no figure", hint="run it again")
    best = max(figures)
    spread = Fraction(best - int(statistics.median(figures)), best)
    kind = FIELDS[name]
    if not kind.admits(Fraction(best)):
        raise fail(f"measuring {name} gave {best}, which is absurd", hint="run it again")
    return Field(
        Quantity(Fraction(best), kind.dimension),
        f"measured: best of {len(figures)} runs of {program}",
        datetime.now(UTC).strftime("%Y-%m-%d"),
        Fraction(round(spread * 1000), 1000),
    )


def _run(command: Sequence[str], what: str) -> str:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(what, str(error)) from error
    if done.returncode != 0:
        raise _failed(what, done.stderr.strip() or f"exit status {done.returncode}")
    return done.stdout


def _failed(what: str, why: str) -> InputError:
    return fail(f"cannot {what}: {why}", hint="check the C compiler")
