"""A small study that is counted by hand: three fields, two scenarios, programs one by one."""

from pathlib import Path

LIBRARY = """
[library]
name = "four"
[fields.a]
dimension = "count"
menu = [1, 2, 3, 4]
role = "capacity"
start = 1
source = "a test"
[fields.b]
dimension = "count"
menu = [1, 2, 3]
role = "capacity"
start = 1
source = "a test"
[fields.lanes]
dimension = "count"
menu = [1, 2, 4]
role = "throughput"
start = 1
source = "a test"
[area.a]
value = "chip.a"
source = "a test"
[area.b]
value = "2 * chip.b"
source = "a test"
[area.lanes]
value = "3 * chip.lanes"
source = "a test"
"""

STUDY = """
name = "four"
description = "two scenarios, two walls that pay together, lanes that speed one up"
library = "four.toml"
budgets = ["9 mm2", "20 mm2"]
front = "0.1 %"
[programs.first.plain]
cost = "60 / chip.lanes"
[programs.first.tiled]
needs = { a = 2, b = 2 }
cost = "30 / chip.lanes"
[programs.second.plain]
cost = 40
[programs.second.wide]
needs = { a = 4 }
cost = 10
[methods]
names = ["fixed-hardware", "software-only", "hardware-only", "sequential", "wall-relaxation",
    "coupled", "sets", "random", "joint", "joint-program"]
seeds = 2
solves = 6
[chips.all]
a = 4
b = 3
lanes = 4
source = "the largest"
[generated]
seeds = 1
walls = 6
hidden = [2]
"""


def write_study(folder: Path, text: str = STUDY) -> str:
    """The files of the study in ``folder``; the path of the study."""
    (folder / "four.toml").write_text(LIBRARY)
    (folder / "study.toml").write_text(text)
    return str(folder / "study.toml")
