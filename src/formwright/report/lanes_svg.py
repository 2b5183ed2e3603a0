"""Interleavings as SVG: the paper's Figure 7. One file, no script, readable in light and dark."""

from dataclasses import dataclass
from textwrap import wrap
from xml.sax.saxutils import escape

from formwright.proof.interleaving import Event, Interleaving

LINE = 16
"""Pixels of a line of text."""

CHARACTERS = 37
"""Characters of a line in a lane of ``LANE`` pixels."""

LANE = 290
GAP = 24
MARGIN = 20
PAD = 8

_STYLE = """
  svg { font: 12px ui-monospace, monospace; background: #fff; color: #1a1a1a }
  .lane { fill: none; stroke: #888; stroke-dasharray: 2 4 }
  .name, .title { font-weight: bold; fill: currentColor }
  .box { fill: #eef3fb; stroke: #4a6fa5 }
  .wait { fill: #f3f3f3; stroke: #777 }
  .odd { fill: #fdecec; stroke: #b3261e; stroke-width: 2 }
  text { fill: currentColor }
  .note { fill: #8c1d18; font-weight: bold }
  @media (prefers-color-scheme: dark) {
    svg { background: #15181c; color: #e6e6e6 }
    .box { fill: #1f2a3a; stroke: #7fa3d8 }
    .wait { fill: #262626; stroke: #999 }
    .odd { fill: #3a1c1c; stroke: #f2867e }
    .note { fill: #ffb4ab }
  }
"""


@dataclass(frozen=True, slots=True)
class _Box:
    """One event, laid out: pixels from the top, its lines, each with a class of the style."""

    event: Event
    top: int
    lines: tuple[tuple[str, str], ...]

    @property
    def height(self) -> int:
        return len(self.lines) * LINE + PAD


def lanes_svg(shown: Interleaving) -> str:
    """A whole SVG document; events run down, each in the column of its lane."""
    width = max(2 * MARGIN + len(shown.lanes) * (LANE + GAP) - GAP, 2 * MARGIN + 2 * LANE)
    heading = [("title", t) for t in wrap(shown.title, width // 8)]
    top = MARGIN + (len(heading) + 2) * LINE
    boxes: list[_Box] = []
    for event in shown.events:
        box = _Box(event, top, _lines(event))
        boxes.append(box)
        top += box.height + 6
    foot = [("note", t) for t in wrap(f"✗ {shown.defect}", width // 8)]
    height = top + (len(foot) + 1) * LINE + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img" aria-labelledby="t d">',
        f'<title id="t">{escape(shown.title)}</title>',
        f'<desc id="d">{escape(_told(shown))}</desc>',
        f"<style>{_STYLE}</style>",
        *_texts(heading, MARGIN, MARGIN + LINE),
        *(_lane(name, n, len(heading), top) for n, name in enumerate(shown.lanes)),
        *(_drawn(box, shown.lanes.index(box.event.lane)) for box in boxes),
        *_texts(foot, MARGIN, top + LINE),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _told(shown: Interleaving) -> str:
    steps = "; ".join(f"{e.lane}: {e.text}" for e in shown.events)
    return f"{steps}. {shown.defect}"


def _left(lane: int) -> int:
    return MARGIN + lane * (LANE + GAP)


def _lane(name: str, lane: int, heading: int, bottom: int) -> str:
    x, y = _left(lane) + LANE // 2, MARGIN + (heading + 1) * LINE
    return (
        f'<text class="name" x="{_left(lane)}" y="{y}">{escape(name)}</text>'
        f'<line class="lane" x1="{x}" y1="{y + 6}" x2="{x}" y2="{bottom}"/>'
    )


def _lines(event: Event) -> tuple[tuple[str, str], ...]:
    found = [("", t) for t in wrap(event.text, CHARACTERS)]
    for word, items in (("reads", event.reads), ("writes", event.writes)):
        for item in items:
            text = wrap(f"{word} {item}", CHARACTERS, subsequent_indent="  ")
            found += [("", t) for t in text]
    if event.note:
        found += [("note", t) for t in wrap(f"✗ {event.note}", CHARACTERS, subsequent_indent="  ")]
    return tuple(found)


def _drawn(box: _Box, lane: int) -> str:
    waits = box.event.text.startswith(("barrier", "wait", "await", "arrive", "pass"))
    kind = "odd" if box.event.note else "wait" if waits else "box"
    rect = (
        f'<rect class="{kind}" x="{_left(lane)}" y="{box.top}" rx="4" width="{LANE}"'
        f' height="{box.height}"/>'
    )
    return rect + "".join(_texts(list(box.lines), _left(lane) + PAD, box.top + LINE))


def _texts(lines: list[tuple[str, str]], x: int, y: int) -> list[str]:
    return [
        f'<text{f" class={chr(34)}{kind}{chr(34)}" if kind else ""} xml:space="preserve" x="{x}"'
        f' y="{y + n * LINE}">{escape(text)}</text>'
        for n, (kind, text) in enumerate(lines)
    ]
