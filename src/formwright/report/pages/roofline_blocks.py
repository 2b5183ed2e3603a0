"""Kernels under the roofs of their chip: the drawing, and a table by memory level."""

from pathlib import Path

from formwright.base.diagnostics import InputError
from formwright.flow.rooflining import Kernel, Roofline, roofline_of_run
from formwright.report.page import Block, Cell, Column, Drawing, Table, Text
from formwright.report.pages.units import bytes_cell, seconds_text
from formwright.report.roofline import NO_COUNTERS, scaled, shape_text
from formwright.report.roofline_svg import roofline_svg


def roofline_of_place(folder: Path) -> tuple[Block, ...]:
    """The blocks of every artifact in ``folder``; in words why there is no roofline of one."""
    try:
        found = roofline_of_run(folder)
    except InputError as error:
        return (Text(f"No roofline: {error.diagnostics[0].message}."),)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        # The model reads figures of a record that nobody hashed: what somebody changed in it
        # must not keep the rest of the page from being read.
        return (Text("No roofline: the figures of a record are not as they were written."),)
    return () if found is None else roofline_blocks(found)


def roofline_blocks(found: Roofline) -> tuple[Block, ...]:
    """The drawing where the chip has a peak, and for each kernel what each level moves."""
    blocks: list[Block] = []
    drawn = roofline_svg(found)
    says = " ".join(_says(k) for k in found.kernels)
    if drawn is not None:
        title = f"Roofline of {found.chip}, {found.roofs.threads} thread(s)"
        blocks.append(Drawing(title, says, drawn))
    if found.kernels:
        blocks.append(_levels(found))
    blocks += [Text(why) for why in found.roofs.missing]
    blocks += [Text(f"{name} is left out: {why}.") for name, why in found.left_out.items()]
    return tuple(blocks)


def _says(kernel: Kernel) -> str:
    verdict = kernel.point.verdict
    bound = "no figure of this chip says what bounds it" if verdict is None else verdict.says
    seconds = kernel.point.seconds
    time = "" if seconds is None else f"{seconds_text(seconds)} ({kernel.point.timed}): "
    return f"{kernel.point.name}: {time}{bound}{'' if bound.endswith('?') else '.'}"


def _levels(found: Roofline) -> Table:
    rows = []
    for kernel in found.kernels:
        for use in kernel.point.uses:
            share = use.share
            most = sorted(kernel.intensity.moved[use.level], key=lambda m: -m.both)[:2]
            rows.append(
                (
                    Cell(f"{kernel.point.name} ({shape_text(kernel)})"),
                    Cell(use.level),
                    bytes_cell(use.bytes),
                    Cell("–") if not use.intensity else Cell(f"{use.intensity:.3g}", use.intensity),
                    Cell("–")
                    if use.bandwidth is None
                    else Cell(scaled(use.bandwidth, "B/s"), use.bandwidth),
                    Cell("–") if share is None else Cell(f"{share:.0%}", share, None, "modelled"),
                    Cell(", ".join(f"{m.buffer} {scaled(m.both, 'B')}" for m in most) or "–"),
                )
            )
    return Table(
        title="What each memory level moves in a call",
        columns=(
            Column("kernel"),
            Column("from"),
            Column("moved", number=True),
            Column("operations per byte", number=True),
            Column("the level's bandwidth", number=True),
            Column("of that roof", number=True),
            Column("mostly"),
        ),
        rows=tuple(rows),
        says=NO_COUNTERS,
        shown=24,
    )
