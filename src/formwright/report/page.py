"""A page: what a report says, as data. Makers of pages fill it; ``report.html`` draws it.

A page is sections of blocks, a closed union. Nothing here knows of HTML, of a journal or of a
solver, so that every kind of report looks, sorts, prints and is read aloud the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Evidence = Literal["proved", "bounded", "tested", "measured", "simulated", "modelled"]
Standing = Literal["held", "refuted", "unresolved"]
"""How a verdict came out; a drawing has a word and a sign for each, never colour alone."""

Scale = Literal["linear", "log"]
Mark = Literal["points", "line", "steps"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a figure stands: a file, relative to the folder that the report is of, and in it the
    key of a journal's entry or a pointer into a JSON file (RFC 6901); both may be empty."""

    file: str
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure or word. ``value`` is what a table sorts by, ``text`` if it is missing."""

    text: str
    value: float | str | None = None
    origin: Origin | None = None
    evidence: Evidence | None = None
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph of plain words."""

    text: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with what stands for each: a short list, read from top to bottom."""

    items: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and unit; numbers stand right."""

    name: str
    unit: str = ""
    number: bool = False

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise ValueError("a column without a name says nothing to who hears the page")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows that a reader can sort. ``shown`` of them at first, all of them when asked for."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    says: str = ""
    shown: int = 50


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis counts. ``low`` and ``high`` are edges; from the data where they are missing."""

    name: str
    unit: str = ""
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """One mark of a chart, in the units of its axes; ``low`` and ``high`` are its spread in y."""

    x: float
    y: float
    label: str = ""
    low: float | None = None
    high: float | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind, told apart by shape or dash and by name. ``steps`` holds each y until
    the next x; ``lead`` is drawn above the others."""

    name: str
    points: tuple[Point, ...]
    mark: Mark = "points"
    evidence: Evidence | None = None
    lead: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through the whole plot: ``y = value`` or ``x = value``, or with ``along``
    the diagonal ``y = x``."""

    name: str
    axis: Literal["x", "y", "diagonal"]
    value: float = 0.0


@dataclass(frozen=True, slots=True)
class Chart:
    """Series over two axes. ``says`` is the finding in a sentence, and what is read aloud."""

    title: str
    says: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a bar, in the unit of the axis."""

    name: str
    value: float
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, from zero, of one part or several on top of each other."""

    name: str
    parts: tuple[Part, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars with their names, from top to bottom: a funnel, scenarios, shares, prices."""

    title: str
    says: str
    axis: Axis
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A distribution: all its values, in the unit of the axis."""

    name: str
    values: tuple[float, ...]
    evidence: Evidence | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Distributions:
    """Distributions one below another on one axis, each with quartiles and median."""

    title: str
    says: str
    axis: Axis
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph: ``parents`` are keys of others."""

    key: str
    label: str
    parents: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    standing: Standing | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """What came of what: lineage, or conditions and what each rests on. Parents stand above."""

    title: str
    says: str
    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG document of its own (a roofline, swim-lanes), with its words for who cannot see it."""

    title: str
    says: str
    svg: str


@dataclass(frozen=True, slots=True)
class Source:
    """A text as it stands: a template, a kernel, a record."""

    title: str
    text: str
    language: str = "text"


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are shown when asked for."""

    title: str
    blocks: tuple["Block", ...]


Block = Text | Facts | Table | Chart | Bars | Distributions | Graph | Drawing | Source | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks; ``key`` is its address within the page."""

    key: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """One report. ``answer`` is the first thing read: what came out, in a few sentences.

    ``entries`` has the JSON text of what origins name, so that a figure leads somewhere within
    the file itself; ``made`` says by which version, from which folder, when the work was done.
    ``folder`` is the address, seen from the written page, of the folder that origins are relative
    to: empty where the page stands in it.
    """

    title: str
    kind: str
    answer: tuple[str, ...]
    facts: Facts
    sections: tuple[Section, ...]
    made: str
    entries: Mapping[Origin, str]
    folder: str = ""
