"""Draws the picture of the README from the journal of one run, for light and for dark pages.

    python website/picture.py [JOURNAL]

Without an argument it reads the run that is kept in ``studies/attention-cpu``. Everything in the
picture is counted or read from the journal; nothing is typed in.
"""

import gzip
import json
import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "studies" / "attention-cpu" / "2026-11-30" / "journal.jsonl.gz"
PICTURES = ROOT / "docs" / "pictures"

WIDTH, HEIGHT = 880, 400
LEFT, RIGHT, TOP, BOTTOM = 66, 168, 136, 352
"""Edges of the chart: from the left, from the right, from the top, and its foot from the top."""

SCHEMES = {
    "light": {"ink": "#1f2328", "faint": "#59636e", "line": "#d1d9e0", "fill": "#f6f8fa"}
    | {"ours": "#0550ae", "theirs": "#953800", "bad": "#b3261e"},
    "dark": {"ink": "#f0f6fc", "faint": "#9198a1", "line": "#3d444d", "fill": "#151b23"}
    | {"ours": "#79c0ff", "theirs": "#ffa657", "bad": "#ff8a80"},
}


@dataclass(frozen=True, slots=True)
class Interval:
    """Seconds of a call: median with its 95 % interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Run:
    """What the picture shows of a run; times are seconds since its first entry."""

    texts: tuple[tuple[float, bool], ...]
    built: int
    validated: int
    measured: tuple[tuple[float, float], ...]
    distinct: int
    kernel: Interval
    baseline: str
    other: Interval
    ratio: Interval
    confirmed: float
    qualified: int
    seconds: float


def _interval(data: dict[str, float]) -> Interval:
    return Interval(data["median"], data["low"], data["high"])


def read_run(journal: Path) -> Run:
    """The facts of a run of one workload that has one baseline and a qualified kernel."""
    opened = gzip.open if journal.suffix == ".gz" else open
    with opened(journal, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    start = datetime.fromisoformat(entries[0]["time"])
    seconds = [(datetime.fromisoformat(e["time"]) - start).total_seconds() for e in entries]
    timed = list(zip(seconds, entries, strict=True))

    def of(kind: str) -> list[tuple[float, dict[str, Any]]]:
        return [(at, e["data"]) for at, e in timed if e["key"].split("/")[0] == kind]

    ((confirmed, confirm),) = of("confirm")
    (baseline,) = confirm["ratios"]
    programs = confirm["programs"]
    measured = [(at, data["programs"]) for at, data in of("measure")]
    return Run(
        texts=tuple((at, data["verdict"] == "proved") for at, data in of("judge")),
        built=len(of("build")),
        validated=sum(data["verdict"] == "held" for _, data in of("validate")),
        measured=tuple(
            (at, p["seconds"]["median"]) for at, all_ in measured for p in all_.values()
        ),
        distinct=len({key for _, all_ in measured for key in all_}),
        kernel=_interval(programs["kernel"]["seconds"]),
        baseline=baseline,
        other=_interval(programs[baseline]["seconds"]),
        ratio=_interval(confirm["ratios"][baseline]),
        confirmed=confirmed,
        qualified=sum(bool(data["artifact"]) for _, data in of("qualify")),
        seconds=seconds[-1],
    )


def drawn(run: Run, scheme: str) -> str:
    """The picture as SVG text."""
    c = SCHEMES[scheme]
    parts = [*_counts(run, c), *_axes(run, c), *_points(run, c), *_result(run, c)]
    said = (
        f"One run from a specification to a qualified kernel in {run.seconds:.0f} seconds: "
        f"{len(run.texts)} texts proposed, {_proved(run)} proved, {run.built} built, "
        f"{run.validated} validated, {run.distinct} measured, {run.qualified} qualified. "
        f"The kernel takes {_ms(run.kernel.median)}, {NAMES.get(run.baseline, run.baseline)} "
        f"{_ms(run.other.median)}: {run.ratio.median:.2f} times as fast."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'width="{WIDTH}" height="{HEIGHT}" font-family="system-ui,sans-serif" font-size="15">\n'
        f"<title>{escape(said)}</title>\n" + "\n".join(parts) + "\n</svg>\n"
    )


NAMES = {"numpy": "NumPy", "torch": "torch", "onednn": "oneDNN", "onnxruntime": "ONNX Runtime"}


def _proved(run: Run) -> int:
    return sum(proved for _, proved in run.texts)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.2f} ms"


def _text(x: float, y: float, text: str, color: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}"{more}>{escape(text)}</text>'


def _counts(run: Run, c: dict[str, str]) -> Iterable[str]:
    """The row above the chart: how many are left after each step, and by whose word."""
    steps = [
        (len(run.texts), "proposed", "by rules"),
        (_proved(run), "proved", "for every shape"),
        (run.built, "built", "best designs"),
        (run.validated, "validated", "in a sandbox"),
        (run.distinct, "measured", "interleaved"),
        (run.qualified, "qualified", "with its record"),
    ]
    wide, gap = 132, 17.6
    for number, (count, word, how) in enumerate(steps):
        x = number * (wide + gap)
        last = number == len(steps) - 1
        edge = c["ours"] if last else c["line"]
        yield (
            f'<rect x="{x + 0.5:.1f}" y="0.5" width="{wide - 1}" height="87" rx="8" '
            f'fill="{c["fill"]}" stroke="{edge}"/>'
        )
        middle = ' text-anchor="middle"'
        yield _text(x + wide / 2, 31, str(count), c["ink"], middle + ' font-size="24"')
        yield _text(x + wide / 2, 53, word, c["ink"], middle + ' font-weight="600"')
        yield _text(x + wide / 2, 74, how, c["faint"], middle + ' font-size="13"')
        if not last:
            yield _text(x + wide + gap / 2, 50, "›", c["faint"], middle + ' font-size="20"')


def _x(run: Run, at: float) -> float:
    return LEFT + (WIDTH - RIGHT - LEFT) * at / run.seconds


def _range(run: Run) -> tuple[float, float]:
    times = [seconds for _, seconds in run.measured]
    return min(times) / 1.25, max(times) * 1.25


def _y(run: Run, seconds: float) -> float:
    low, high = (math.log(v) for v in _range(run))
    return BOTTOM - (BOTTOM - TOP) * (math.log(seconds) - low) / (high - low)


def _axes(run: Run, c: dict[str, str]) -> Iterable[str]:
    yield _text(0, 118, "time of a call, ms", c["faint"], ' font-size="13"')
    low, high = _range(run)
    for ms in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50):
        if low <= ms / 1e3 <= high:
            y = _y(run, ms / 1e3)
            yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{c["line"]}"/>'
            yield _text(LEFT - 8, y + 5, f"{ms:g}", c["faint"], ' text-anchor="end" font-size="13"')
    for at in range(0, int(run.seconds) + 1, 50):
        x = _x(run, at)
        yield f'<path d="M{x:.1f} {BOTTOM}v5" stroke="{c["faint"]}"/>'
        middle = ' text-anchor="middle" font-size="13"'
        yield _text(x, BOTTOM + 20, f"{at} s", c["faint"], middle)
    yield f'<path d="M{LEFT} {BOTTOM}H{WIDTH - RIGHT}" stroke="{c["faint"]}"/>'


def _points(run: Run, c: dict[str, str]) -> Iterable[str]:
    """Texts along the foot, measured kernels as dots, the best so far as a line."""
    foot = BOTTOM + 39
    yield _text(LEFT - 8, foot + 4, "texts", c["faint"], ' text-anchor="end" font-size="13"')
    for at, proved in run.texts:
        x = _x(run, at)
        if proved:
            yield f'<path d="M{x:.1f} {foot - 5}v10" stroke="{c["ours"]}" stroke-width="2"/>'
        else:
            d = f"M{x - 4:.1f} {foot - 4}l8 8m0 -8l-8 8"
            yield f'<path d="{d}" stroke="{c["bad"]}" stroke-width="2"/>'
    right = WIDTH - RIGHT + 12
    yield _text(right, foot + 4, f"{_proved(run)} proved", c["ours"], ' font-size="13"')
    refuted = len(run.texts) - _proved(run)
    yield _text(right + 76, foot + 4, f"× {refuted} not", c["bad"], ' font-size="13"')
    for at, seconds in run.measured:
        yield (
            f'<circle cx="{_x(run, at):.1f}" cy="{_y(run, seconds):.1f}" r="3.5" '
            f'fill="{c["faint"]}" fill-opacity="0.55"/>'
        )
    at, best = run.measured[0]
    steps = [f"M{_x(run, at):.1f} {_y(run, best):.1f}"]
    for at, seconds in run.measured[1:]:
        best = min(best, seconds)
        steps.append(f"H{_x(run, at):.1f}V{_y(run, best):.1f}")
    yield f'<path d="{"".join(steps)}" fill="none" stroke="{c["ours"]}" stroke-width="2"/>'
    x, y = _x(run, run.measured[0][0]), _y(run, run.measured[0][1])
    yield _text(x + 10, y - 8, "best of the search so far", c["ours"], ' font-size="13"')


def _result(run: Run, c: dict[str, str]) -> Iterable[str]:
    """What was measured again at the end: the baseline across, the kernel at its place."""
    right = WIDTH - RIGHT
    top, bottom = _y(run, run.other.high), _y(run, run.other.low)
    yield (
        f'<rect x="{LEFT}" y="{top:.1f}" width="{right - LEFT}" height="{bottom - top:.1f}" '
        f'fill="{c["theirs"]}" fill-opacity="0.14"/>'
    )
    y = _y(run, run.other.median)
    yield (
        f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{c["theirs"]}" stroke-width="2" '
        'stroke-dasharray="6 5"/>'
    )
    name = NAMES.get(run.baseline, run.baseline)
    yield _text(right + 12, y - 4, f"{name} {_ms(run.other.median)}", c["theirs"])
    x, low, high = _x(run, run.confirmed), _y(run, run.kernel.low), _y(run, run.kernel.high)
    y = _y(run, run.kernel.median)
    yield f'<path d="M{x:.1f} {high:.1f}V{low:.1f}" stroke="{c["ours"]}" stroke-width="2"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{c["ours"]}"/>'
    yield _text(right + 12, y - 14, f"kernel {_ms(run.kernel.median)}", c["ours"])
    bold = ' font-weight="600"'
    yield _text(right + 12, y + 8, f"{run.ratio.median:.2f}× as fast", c["ours"], bold)
    interval = f"{run.ratio.low:.2f} to {run.ratio.high:.2f}, measured"
    yield _text(right + 12, y + 28, interval, c["faint"], ' font-size="13"')


def main(arguments: list[str]) -> None:
    run = read_run(Path(arguments[0]) if arguments else KEPT)
    PICTURES.mkdir(exist_ok=True)
    for scheme in SCHEMES:
        (PICTURES / f"run-{scheme}.svg").write_text(drawn(run, scheme), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
