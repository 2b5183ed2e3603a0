"""Kernels under their roofs as text, and the figures of both as they are printed."""

from rich.console import Console

from formwright.flow.rooflining import Kernel, Roofline
from formwright.report.tables import print_table
from formwright.roofline import LevelUse, Roofs

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

NO_COUNTERS = "Bytes are modelled from the program text; no counter was read. 100 % is the roof."


def scaled(value: float, unit: str) -> str:
    """Three digits and a decimal prefix: ``184 Gflop/s``."""
    for scale, prefix in _PREFIXES:
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def shape_text(kernel: Kernel) -> str:
    return " ".join(f"{n}={v}" for n, v in kernel.extents.items())


def rate_text(kernel: Kernel, roofs: Roofs) -> str:
    """Time and rate, with where the time is from and which peak is the operator's."""
    point = kernel.point
    if point.seconds is None or point.rate is None:
        return "no time is known"
    told = f"{point.seconds * 1e3:.3f} ms {point.timed}, {scaled(point.rate, 'flop/s')}"
    if point.peak_share is None:
        return told
    return f"{told} ({point.peak_share:.0%} of the peak{_units(kernel, roofs)})"


def _units(kernel: Kernel, roofs: Roofs) -> str:
    return " of matrix units" if roofs.matrix_for(kernel.intensity.narrow) else ""


def print_roofline(console: Console, found: Roofline) -> None:
    """The roofs, then each kernel with a row for each level, and what bounds it."""
    roofs = found.roofs
    parts = [] if roofs.peak is None else [f"peak {scaled(roofs.peak, 'flop/s')}"]
    if roofs.matrix is not None:
        parts.append(f"of matrix units with bf16 {scaled(roofs.matrix, 'flop/s')}")
    parts += [f"{v.name} {scaled(v.bandwidth, 'B/s')}" for v in roofs.levels if v.bandwidth]
    console.print(
        f"Roofs of {found.chip}, {roofs.threads} thread(s): {', '.join(parts)}",
        markup=False,
        soft_wrap=True,
    )
    for why in roofs.missing:
        console.print(f"  {why}", markup=False, soft_wrap=True)
    for kernel in found.kernels:
        _print_kernel(console, kernel, roofs)
    for name, why in found.left_out.items():
        console.print(f"\n{name} is left out: {why}", markup=False, soft_wrap=True)
    console.print(f"\n{NO_COUNTERS}", markup=False, soft_wrap=True)


def print_bounds(console: Console, found: Roofline) -> None:
    """A line for each kernel: what bounds it, or the question that is left."""
    console.print("\nWhat bounds each, bytes modelled from the program text:", soft_wrap=True)
    for kernel in found.kernels:
        verdict = kernel.point.verdict
        says = "no figure of this chip says" if verdict is None else verdict.says
        told = f"  {kernel.point.name}: {rate_text(kernel, found.roofs)}; {says}"
        console.print(told, markup=False, soft_wrap=True)


def _print_kernel(console: Console, kernel: Kernel, roofs: Roofs) -> None:
    console.print(
        f"\n{kernel.point.name} ({shape_text(kernel)}): {rate_text(kernel, roofs)}",
        markup=False,
        soft_wrap=True,
    )
    rows = [
        (
            use.level,
            scaled(use.bytes, "B"),
            "-" if use.intensity is None else f"{use.intensity:.3g}",
            "-" if use.share is None else f"{use.share:.0%}",
            _mostly(kernel, use),
        )
        for use in kernel.point.uses
    ]
    headings = ("from", "moved", "flop/byte", "of roof", "mostly")
    print_table(console, headings, rows, frozenset((1, 2, 3)))
    if kernel.note:
        console.print(f"  {kernel.note}", markup=False, soft_wrap=True)
    if kernel.point.verdict is not None:
        console.print(f"  {kernel.point.verdict.says}", markup=False, soft_wrap=True)


def _mostly(kernel: Kernel, use: LevelUse) -> str:
    """The two buffers that move most there."""
    most = sorted(kernel.intensity.moved[use.level], key=lambda m: -m.both)[:2]
    return ", ".join(f"{m.buffer} {scaled(m.both, 'B')}" for m in most)
