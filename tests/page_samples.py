"""Pages with every kind of block, of made facts: for tests of how pages look."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import cycle
from math import sin
from typing import Any

from formwright.report.page import (
    Axis,
    Bar,
    Bars,
    Block,
    Cell,
    Chart,
    Column,
    Distributions,
    Drawing,
    Facts,
    Fold,
    Graph,
    Line,
    Node,
    Origin,
    Page,
    Part,
    Point,
    Sample,
    Section,
    Series,
    Source,
    Table,
    Text,
)

HOSTILE = (
    "</script><script>document.title='taken'</script>",
    '"><img src=x onerror="document.title=\'taken\'">',
    "' onfocus='document.title=1' autofocus='",
    "<!--",
    "]]>",
    "</textarea></style></title></template></details>",
    "javascript:document.title='taken'",
    "reads \u202eesrever\u202c, \x00 and \x1b[31m",
)

ONE = Origin("journal.jsonl", "measure/k1")
TWO = Origin("square/journal.jsonl", "confirm/k1")
FILE = Origin("record.json", "/times/0")
"""An origin whose entry a page does not hold: its figures lead to the file."""

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="120" viewBox="0 0 860 120">'
    "<style>text { fill: #1a1a1a } svg { background: #fff }"
    "@media (prefers-color-scheme: dark) { text { fill: #eee } svg { background: #15181c } }"
    '</style><text x="20" y="40">a drawing: 100 % of #1 &lt; "two"</text></svg>'
)


def chart() -> Chart:
    """Scattered points, a line with spread, steps that lead with labels; one point outside."""
    measured = tuple(
        Point(
            1e-5 * (1 + n / 3), 1e-5 * (1 + n / 3) * (1 + 0.3 * sin(n)), f"design {n}", origin=ONE
        )
        for n in range(24)
    )
    path = tuple(
        Point(1e-5 * 1.6**n, 3e-5 * 0.9**n, label, 2.5e-5 * 0.9**n, 3.6e-5 * 0.9**n, TWO)
        for n, label in enumerate(
            ("the smallest chip", "a scratchpad of twice the size", "two more banks", "a wider bus")
        )
    )
    outside = Point(-1.0, 2e-5, "no place on this axis")
    return Chart(
        "Predicted against measured",
        "The model's order of the 24 designs is that of the clock; `beta=1` stands apart.",
        Axis("predicted time", "s", "log"),
        Axis("measured time", "s", "log"),
        (
            Series("packed_gemm", (*measured, outside), evidence="measured"),
            Series("purchases", path, mark="steps", evidence="modelled", lead=True),
        ),
        (Line("equal", "diagonal"), Line("a budget of 40 µs", "y", 4e-5)),
    )


def bars() -> Bars:
    kinds = ("proposed", "refused by the screen", "refuted", "solved")
    return Bars(
        "Candidates, step by step",
        "Of 312 proposed texts 41 were measured.",
        Axis("candidates"),
        tuple(
            Bar(
                f"{name} and what became of each of them",
                (Part("kept", 312.0 / (n + 1), ONE), Part("lost", 40.0 + n)),
                "lost: no proof within `60 s`" if n else "",
            )
            for n, name in enumerate(kinds)
        ),
    )


def distributions() -> Distributions:
    def values(middle: float, count: int) -> tuple[float, ...]:
        return tuple(
            middle * (1 + 0.05 * sin(n * 12.9898) + 0.02 * sin(n * 78.233)) for n in range(count)
        )

    return Distributions(
        "Latency, 64 x 4096 x 4096",
        "The kernel is ahead of NumPy in every one of its calls but one.",
        Axis("time of a call", "s"),
        (
            Sample("this kernel", (*values(51e-6, 200), 9e-3), "measured", TWO),
            Sample(
                "NumPy 2.4 with a name that is rather long for its place",
                values(63e-6, 180),
                "measured",
                FILE,
            ),
            Sample("one call", (58e-6,), "measured"),
            Sample("nothing", ()),
        ),
    )


def graph() -> Graph:
    return Graph(
        "Lineage",
        "The winner has two parents.",
        (
            Node(
                "a",
                "plain template",
                cells=(Cell("612 µs", 6.12e-4, ONE, "measured"),),
                standing="held",
            ),
            Node("b", "tiled", ("a",), (Cell("80 µs", 8e-5, TWO, "measured"),), "held"),
            Node("c", "tiled, with a queue", ("a",), (), "refuted"),
            Node("d", "packed", ("b",), (), "unresolved"),
            Node(
                "e", "packed and tiled, joined", ("b", "d"), (Cell("51 µs", 5.1e-5, TWO),), "held"
            ),
            Node("f", "of a parent that is not here", ("gone",)),
            Node("g", "in a circle", ("h",)),
            Node("h", "the other of the circle", ("g",)),
        ),
    )


def table(rows: int = 30, shown: int = 10, title: str = "Candidates") -> Table:
    columns = (
        Column("candidate"),
        Column("assignment"),
        Column("predicted", "µs", True),
        Column("measured", "µs", True),
        Column("verdict"),
        Column("validated", number=True),
        Column("why it was left, in a sentence"),
    )
    standings = ("held", "refuted", "unresolved")
    return Table(
        title,
        columns,
        tuple(
            (
                Cell(f"k{n}", origin=ONE if n % 2 else FILE),
                Cell(
                    f"Tm={16 << n % 5}, Tn={16 << n % 4}, Tk={8 << n % 3}, S={n % 3 + 1}, P={n % 2}"
                ),
                Cell(f"{50 + n * 7 % 113}", float(50 + n * 7 % 113), evidence="modelled"),
                Cell(f"{51 + n * 11 % 127}", float(51 + n * 11 % 127), TWO, "measured"),
                Cell(standings[n % 3], standing=standings[n % 3]),
                Cell(
                    "" if n % 7 == 0 else f"{n % 41} of 41", None if n % 7 == 0 else float(n % 41)
                ),
                Cell(
                    "behind on the middle quantile"
                    if n % 2
                    else "the lifetime of slot 2 ends early"
                ),
            )
            for n in range(rows)
        ),
        "Every one that was built.",
        shown,
    )


def every_block() -> tuple[Block, ...]:
    return (
        Text("A paragraph with `code` in it, and a digest: " + "0123456789abcdef" * 4),
        Facts(
            (
                ("chip", Cell("AVX2, 2 cores")),
                ("objective", Cell("51.2 µs", 5.12e-5, TWO, "measured", "held")),
            )
        ),
        table(),
        chart(),
        bars(),
        distributions(),
        graph(),
        Drawing("Roofline", "The kernel is at 81 % of the roof.", SVG),
        Source("Template", "template t : operator -> mapping\n" + "  x" * 120 + "\n", "fw"),
        Fold(
            "More of decode_attention_plain_apart_1753b954_and_a_name_without_end_or_hyphen",
            (Text("Folded away."), table(3, title="Folded"), Facts((("a", Cell("b")),))),
        ),
    )


def page(
    blocks: tuple[Block, ...] | None = None, title: str = "A run with every kind of block"
) -> Page:
    return Page(
        title,
        "run",
        (
            "The kernel takes 51.2 µs, 1.24 times as fast as NumPy.",
            "It was validated on 41 inputs.",
        ),
        Facts(
            (("problem", Cell("gemm, f32")), ("kernel", Cell("held", standing="held", origin=ONE)))
        ),
        (
            Section("first", "What came out", blocks if blocks is not None else every_block()),
            Section("second", "What was not tested", (Text("Shapes beyond 8192."),)),
        ),
        "formwright 0.1.0, from demo-out, 2026-11-30",
        {ONE: '{"key": "measure/k1", "seconds": 5.12e-05}', TWO: '{"key": "confirm/k1"}'},
    )


def cloud(points: int) -> Chart:
    """So many points, none with an origin of its own."""
    spots = tuple(Point(1.0 + n % 997, 1.0 + n * 31 % 1009, f"k{n}") for n in range(points))
    return Chart("A cloud", "It has no shape.", Axis("x"), Axis("y"), (Series("all", spots),))


FREE = {"scale", "mark", "axis", "evidence", "standing", "svg", "key", "parents", "folder"}
"""Fields whose text is ours, or a key that must go on naming the same."""


def _other(value: Any, texts: Iterator[str]) -> Any:
    """``value`` with every free text of it replaced by the next of ``texts``."""
    match value:
        case str():
            return next(texts)
        case tuple():
            return tuple(_other(v, texts) for v in value)
        case Origin():
            return value
        case _ if is_dataclass(value) and not isinstance(value, type):
            changed = {
                f.name: _other(getattr(value, f.name), texts)
                for f in fields(value)
                if f.name not in FREE or is_dataclass(getattr(value, f.name))
            }
            return replace(value, **changed)
        case _:
            return value


def written(texts: tuple[str, ...]) -> Page:
    """The sample page with all texts of others in it replaced: origins and entries too."""
    source = cycle(texts)
    plain = page()
    moved = {o: Origin(f"{next(source)}-{n}", next(source)) for n, o in enumerate(plain.entries)}

    def follow(value: Any) -> Any:
        if isinstance(value, Origin):
            return moved.get(value, value)
        if isinstance(value, tuple):
            return tuple(follow(v) for v in value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{f.name: follow(getattr(value, f.name)) for f in fields(value)})
        return value

    written = _other(replace(plain, entries={}), source)
    entries = {moved[o]: next(source) for o in plain.entries}
    return replace(follow(written), entries=entries)
