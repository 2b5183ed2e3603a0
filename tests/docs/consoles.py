"""Console blocks: commands behind ``$``, and below each what the page says that it prints.

A page is run as its reader would: in one folder that begins with the examples of the repository,
its blocks from top to bottom, and before each the files that the page asked for (``file=NAME``).
What is shown is standard output, 88 columns wide, without colour.

What may differ is written down: ``…`` for a part of a line, a line ``…`` for any lines. In a block
``console measured`` numbers and units of time are those of one machine, and are not compared. A
block ``console slow`` takes longer than the default tests allow. ``# exit 1`` behind a command is
the status that it ends with.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fences import Example

from formwright.cli.main import run

WIDTH = "88"
OTHERS = {"cat", "head", "ls", "python"}
NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?%?")
TIME = re.compile(r"# ?(ns|us|µs|ms|s|min)\b")


@dataclass(frozen=True)
class Command:
    """One command of a block: its words, its status, and the lines below it."""

    text: str
    status: int
    shown: tuple[str, ...]


def commands(example: Example) -> list[Command]:
    """The commands of a block with what is shown of each."""
    found: list[Command] = []
    for line in example.text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            text, _, remark = line[2:].partition("  # ")
            status = int(remark.split()[1]) if remark.startswith("exit ") else 0
            found.append(Command(text.strip(), status, ()))
        else:
            assert found, f"{example.file}:{example.line}: output before a command"
            last = found[-1]
            found[-1] = Command(last.text, last.status, (*last.shown, line.rstrip()))
    return [Command(c.text, c.status, _without_end(c.shown)) for c in found]


def _without_end(shown: tuple[str, ...]) -> tuple[str, ...]:
    """The lines up to the last one that is not empty."""
    end = max((n for n, line in enumerate(shown, start=1) if line), default=0)
    return shown[:end]


def printed(command: Command, folder: Path) -> tuple[int, str]:
    """Status and standard output of a command."""
    words = shlex.split(command.text)
    if words[0] == "formwright":
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = run(words[1:])
        return status, out.getvalue()
    assert words[0] in OTHERS, f"no page may run {words[0]}"
    program = [sys.executable] if words[0] == "python" else [words[0]]
    done = subprocess.run(
        [*program, *words[1:]], cwd=folder, stdout=subprocess.PIPE, text=True, timeout=300
    )
    return done.returncode, done.stdout


def _same(shown: str, measured: bool) -> str:
    """A line as it is compared: spaces do not count, nor do numbers of a measured block."""
    line = " ".join(shown.split())
    return TIME.sub("# s", NUMBER.sub("#", line)) if measured else line


def matched(shown: tuple[str, ...], output: str, measured: bool) -> list[int | None] | None:
    """For each line that is shown which line of the output it is; ``None`` where they differ.

    A line ``…`` is no line of its own.
    """
    parts: list[str] = []
    for line in shown:
        if line.strip() == "…":
            parts.append(r"((?:.*\n)*?)")
        else:
            escaped = re.escape(_same(line, measured)).replace("…", ".*?")
            parts.append(f"({escaped}\\n)")
    lines = [_same(line, measured) for line in _lines(output)]
    text = "".join(line + "\n" for line in lines)
    found = re.fullmatch("".join(parts), text)
    if found is None:
        return None
    return [
        None if line.strip() == "…" else text[: found.start(place)].count("\n")
        for place, line in enumerate(shown, start=1)
    ]


def agrees(shown: tuple[str, ...], output: str, measured: bool) -> bool:
    """Whether the output is what is shown; no line shown claims nothing."""
    return not any(shown) or matched(shown, output, measured) is not None


def rewritten(example: Example, outputs: list[str]) -> str:
    """The block with what was printed now; what it leaves out stays left out.

    Where the output is no longer of the form that is shown, all of it is written.
    """
    measured = "measured" in example.kind.split()
    lines: list[str] = []
    for command, output in zip(commands(example), outputs, strict=True):
        status = f"  # exit {command.status}" if command.status else ""
        lines.append(f"$ {command.text}{status}")
        places = matched(command.shown, output, measured) if any(command.shown) else []
        if places is None:
            lines.extend(_lines(output))
            continue
        for line, place in zip(command.shown, places, strict=False):
            lines.append(line if place is None or "…" in line else _lines(output)[place])
    return "\n".join(lines) + "\n"


def _lines(output: str) -> list[str]:
    return [line.rstrip() for line in output.rstrip("\n").splitlines()]
