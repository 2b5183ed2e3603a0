"""Instruction sets that C is emitted for: vector width, registers, compiler flags, CPUID guard."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from formwright.base.diagnostics import fail, nearest

CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Target:
    """``lanes`` f32 lanes in a vector register, ``registers`` of them.

    ``flags`` name the instruction set for gcc and clang alike (never ``-march=native``: a
    compiler may take this machine for another). ``features`` are the CPU flags that
    ``fw_cpu_ok`` asks for, by their names in ``/proc/cpuinfo``. ``units``: features beyond these of
    programs that multiply panels of bf16 (``matrix.py``); their flags go with them.
    """

    name: str
    lanes: int
    registers: int
    flags: tuple[str, ...]
    features: tuple[str, ...]
    units: tuple[str, ...] = ()


AVX512 = Target(
    "avx512",
    16,
    32,
    ("-mavx512f", "-mavx512vl", "-mavx512dq", "-mavx512bw", "-mavx2", "-mfma"),
    ("avx2", "fma", "avx512f", "avx512vl", "avx512dq", "avx512bw"),
)
BF16 = replace(AVX512, name="avx512_bf16", units=("avx512_bf16",))
AMX = replace(AVX512, name="amx", units=("avx512_bf16", "amx_tile", "amx_bf16"))
AVX2 = Target("avx2", 8, 16, ("-mavx2", "-mfma"), ("avx2", "fma"))
PLAIN = Target("plain", 4, 16, (), ())

F16C = "f16c"
_UNIT_FLAGS = {
    "avx512_bf16": "-mavx512bf16",
    "amx_tile": "-mamx-tile",
    "amx_bf16": "-mamx-bf16",
}


def with_halves(target: Target, dtypes: Collection[str]) -> Target:
    """The target of a program with these element types: eight lanes of f16 are converted by F16C.

    Every CPU with AVX2 that is known has it; the guard asks nevertheless. Sixteen lanes have their
    own, and ``plain`` converts by integers, with the same bits.
    """
    if target.lanes != AVX2.lanes or "f16" not in dtypes:
        return target
    return replace(target, flags=(*target.flags, "-mf16c"), features=(*target.features, F16C))


def without_units(target: Target) -> Target:
    """The target of a program that has nothing for them: then it is any other's."""
    return replace(target, name=AVX512.name, units=()) if target.units else target


def with_units(target: Target) -> Target:
    """The target of a program that uses them: what it asks of compiler and CPU."""
    flags = tuple(_UNIT_FLAGS[unit] for unit in target.units)
    return replace(
        target, flags=(*target.flags, *flags), features=(*target.features, *target.units)
    )


TARGETS = {t.name: t for t in (AMX, BF16, AVX512, AVX2, PLAIN)}


def target_named(name: str) -> Target:
    """A target by name; an unknown name is an :class:`InputError`."""
    if name not in TARGETS:
        hint = nearest(name, TARGETS) or f"the targets are {', '.join(TARGETS)}"
        raise fail(f'there is no target "{name}"', hint=hint)
    return TARGETS[name]


def detect_target(cpu_info: Path = CPU_INFO) -> Target:
    """The widest target that every core of this machine supports."""
    try:
        lines = cpu_info.read_text().splitlines()
    except OSError:
        return PLAIN
    flags = [set(line.split(":", 1)[1].split()) for line in lines if line.startswith("flags")]
    for target in (AMX, BF16, AVX512, AVX2):
        asked = {*target.features, *target.units}
        if flags and all(asked <= core for core in flags):
            return target
    return PLAIN
