"""Programs with stages, edited at random: what is proved computes the workload when it is run."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from formwright.base.diagnostics import InputError
from formwright.base.source import Source
from formwright.ir.template import Template
from formwright.lang.parser import parse
from formwright.replay import run
from formwright.smt.prove import prove

TEXTS = Path(__file__).parents[1] / "stages"
NAMES = ("softmax", "rmsnorm", "layernorm", "epilogue", "rotary", "decode_attention")
EDITS = 25
"""Programs for one seed; most are refused or not proved."""

_WORDS = {"par", "grid", "in", "for", "alloc", "register", "over", "clip", "min", "max"}
_WORDS |= {"ceil", "exp", "rsqrt", "index", "scratch"}
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+|[-+*/]")


def _edited(text: str, rng: random.Random) -> str:
    """One line of the program dropped, moved or clipped, or one word of it changed."""
    head, program = text.split("\nprogram\n")
    body, blank, rest = program.partition("\n\n")
    lines = body.split("\n")
    at = rng.randrange(len(lines))
    match rng.choice(["drop", "swap", "clip", "box", "word", "word", "word", "word"]):
        case "drop" if len(lines) > 3:
            del lines[at]
        case "swap" if at + 1 < len(lines):
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
        case "clip":
            lines[at] = (
                lines[at].removesuffix(" clip") if "clip" in lines[at] else f"{lines[at]} clip"
            )
        case "box":
            lines[at] = re.sub(r" over \(.*\)", "", lines[at])
        case _:
            lines[at] = _reworded(lines[at], _TOKEN.findall(body), rng)
    return f"{head}\nprogram\n" + "\n".join(lines) + blank + rest


def _reworded(line: str, words: Sequence[str], rng: random.Random) -> str:
    places = [m for m in _TOKEN.finditer(line) if m.group() not in _WORDS]
    if not places:
        return line
    place = rng.choice(places)
    old = place.group()
    if old.isdigit():
        new = str(int(old) + rng.choice([-1, 1]) if old != "0" else 1)
    elif old in "+-*/":
        new = rng.choice("+-*/")
    else:
        names = [w for w in words if w[0].isalpha() and w not in _WORDS]
        new = rng.choice([f"{old}+1", f"{old}-1", rng.choice(names), rng.choice(names)])
    return line[: place.start()] + new + line[place.end() :]


def _wrong(template: Template, name: str, rng: random.Random) -> list[str]:
    """Sizes for which the program does not compute the workload."""
    found = []
    for _ in range(10):
        values = {p.name: rng.choice([1, 2, 3, 4, 5, 7]) for p in template.scope.extents}
        values |= {d.name: rng.choice(d.menu) for d in template.decisions}
        values |= {p.name: 2**20 for p in template.scope.chip}
        values |= {p.name: 4 for p in template.scope.sizes}
        if name == "rotary":
            values["E"] += values["E"] % 2
        outcome = run(template, values)
        if outcome.status != "exact":
            found.append(f"{values}: {outcome}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_what_is_proved_is_right(seed: int) -> None:
    rng = random.Random(seed)
    name = NAMES[seed]
    text = (TEXTS / f"{name}.fw").read_text()
    for _ in range(EDITS):
        changed = _edited(text, rng)
        try:
            template = parse(Source(f"{name}.fw", changed))
        except InputError:
            continue
        if prove(template, stop_early=True, seconds=20, timeout_ms=1000).verdict == "proved":
            assert _wrong(template, name, rng) == [], changed
