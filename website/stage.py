"""Prepares what the site generator reads: the pages, and beside them what they link to.

    python website/stage.py              # build/website/source, then: zensical build
    python website/stage.py --check      # only say which links lead nowhere

Pages of ``docs`` and ``studies`` link to each other, to sources and to kept results by paths of the
repository, so that they can be read there. On the site ``docs`` is the root, other pages keep their
folder, and any other file is copied to ``files``; links are written anew for that. A link to what
is not in the repository, or to a heading that a page does not have, is a fault.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAGE = ROOT / "build" / "website"
LINK = re.compile(r"(?<!\\)(\]\()([^()\s]+)(\))|(\bsrc(?:set)?=\")([^\"\s]+)(\")")
CODE = re.compile(r"(`+).+?\1")
FENCE = re.compile(r"^```(\S*)(.*)$")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
IDENTIFIER = re.compile(r"^::: (\S+)", re.MULTILINE)
LARGEST_FILE = 2**20
"""Bytes of a file that is copied beside the pages."""
OPTIONS = "<!-- options -->"
"""Where a page has every command with its options: on the site, the line below goes."""
OUR_LEXERS = {"fw": "text", "toml": "toml", "console": "console", "sh": "sh"}


@dataclass(frozen=True, slots=True)
class Fault:
    """A link that leads nowhere, and where it stands."""

    page: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.message}"


def pages() -> dict[str, str]:
    """Each page of the site: its path in the repository, and on the site."""
    found = {
        path.relative_to(ROOT).as_posix(): path.relative_to(ROOT / "docs").as_posix()
        for path in sorted((ROOT / "docs").rglob("*.md"))
    }
    for path in sorted((ROOT / "studies").rglob("*.md")):
        place = path.relative_to(ROOT).as_posix()
        found[place] = place
    return found


def lines_of(text: str) -> Iterator[tuple[int, str, bool]]:
    """Number, text and whether the line is prose, of each line of a page."""
    fenced = False
    for number, line in enumerate(text.splitlines(), start=1):
        fence = line.startswith("```")
        yield number, line, not fenced and not fence
        fenced ^= fence


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names by which headings of a page are linked to, as forges and the generator make them.

    ``-1`` behind the second of a name is the forge's, ``_1`` the generator's: neither is allowed.
    """
    names: list[str] = []
    for _, line, prose in lines_of(page.read_text(encoding="utf-8")):
        heading = HEADING.match(line) if prose else None
        if heading:
            words = re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading.group(2)).lower()
            names.append(re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-"))
    return frozenset(n for n in names if names.count(n) == 1)


def outside(target: str) -> bool:
    return "://" in target or target.startswith(("mailto:", "#"))


def fault_of(page: str, target: str) -> str | None:
    """What is wrong with a link of a page, if anything is."""
    if "://" in target or target.startswith("mailto:"):
        return None
    path, _, anchor = target.partition("#")
    file = (ROOT / page).parent / path if path else ROOT / page
    if not file.exists():
        return f"{target} is not in the repository"
    if not file.resolve().is_relative_to(ROOT):
        return f"{target} is outside the repository"
    if page != "README.md" and file.is_dir() and folder_page(file) is None:
        return f"{target} is a folder without a page: link to a file of it"
    if page != "README.md" and file.is_file() and file.stat().st_size > LARGEST_FILE:
        return f"{target} is larger than {LARGEST_FILE} bytes, too large to stand beside the pages"
    if anchor and (file.suffix != ".md" or anchor not in anchors(file.resolve())):
        return f"{path or page} has no heading, or more than one, called #{anchor}"
    return None


def targets(text: str) -> Iterator[tuple[int, str]]:
    """Links of a page outside code, each with its line."""
    for number, line, prose in lines_of(text):
        if prose:
            bare = CODE.sub("", line)
            for found in LINK.finditer(bare):
                yield number, found.group(2) or found.group(5)


def faults() -> list[Fault]:
    """Links of all pages, and of the README, that lead nowhere."""
    found: list[Fault] = []
    for page in ("README.md", *pages()):
        text = (ROOT / page).read_text(encoding="utf-8")
        for line, target in targets(text):
            message = fault_of(page, target)
            if message:
                found.append(Fault(page, line, message))
    return found


def moved(page: str, known: dict[str, str], wanted: set[str]) -> Callable[[str], str]:
    """How links of a page are written on the site; files that they need join ``wanted``."""
    here = Path(known[page]).parent

    def link(target: str) -> str:
        if outside(target):
            return target
        path, mark, anchor = target.partition("#")
        file = ((ROOT / page).parent / path).resolve().relative_to(ROOT).as_posix()
        if (ROOT / file).is_dir():
            file = f"{file}/{folder_page(ROOT / file)}"
        place = known.get(file)
        if place is None and file.startswith("docs/"):
            place = file.removeprefix("docs/")
            wanted.add(file)
        elif place is None:
            place = f"files/{file}"
            wanted.add(file)
        up = Path(*[".."] * len(here.parts)) if here.parts else Path()
        return (up / place).as_posix() + mark + anchor

    return link


def folder_page(folder: Path) -> str | None:
    """The page that stands for a folder, if it has one."""
    return next((name for name in ("index.md", "README.md") if (folder / name).exists()), None)


def staged(text: str, link: Callable[[str], str]) -> str:
    """A page as the generator reads it: links moved, info strings it knows."""
    lines: list[str] = []
    for _, line, prose in lines_of(text):
        fence = FENCE.match(line)
        if not prose and fence and fence.group(1):
            named = re.search(r"file=(\S+)", fence.group(2))
            title = f' title="{named.group(1)}"' if named else ""
            lines.append(f"```{OUR_LEXERS.get(fence.group(1), fence.group(1))}{title}")
        elif prose:
            lines.append(_line_moved(line, link))
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _line_moved(line: str, link: Callable[[str], str]) -> str:
    """The line with its links moved; what stands in code is no link."""
    parts: list[str] = []
    end = 0
    for code in [*CODE.finditer(line), None]:
        start = len(line) if code is None else code.start()
        parts.append(LINK.sub(lambda m: _link_moved(m, link), line[end:start]))
        if code is not None:
            parts.append(code.group())
            end = code.end()
    return "".join(parts)


def _link_moved(found: re.Match[str], link: Callable[[str], str]) -> str:
    before, target, after = (found.group(n) or found.group(n + 3) for n in (1, 2, 3))
    return f"{before}{link(target)}{after}"


def with_options(text: str) -> str:
    """The page with the options of all commands, where it has a place for them."""
    if OPTIONS not in text:
        return text
    # Only here is the package needed, and what it needs.
    from options import options_page  # noqa: PLC0415

    before, _, after = text.partition(OPTIONS)
    return before + options_page() + after.lstrip("\n").partition("\n")[2]


def stage() -> None:
    """Writes the source of the site; what was there before goes."""
    shutil.rmtree(STAGE, ignore_errors=True)
    source = STAGE / "source"
    known, wanted = pages(), set[str]()
    for page, place in known.items():
        text = with_options((ROOT / page).read_text(encoding="utf-8"))
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        (source / place).write_text(staged(text, moved(page, known, wanted)), encoding="utf-8")
    for file in sorted(wanted):
        place = file.removeprefix("docs/") if file.startswith("docs/") else f"files/{file}"
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, source / place)
    for own in ("zensical.toml", "roles.py"):
        shutil.copyfile(ROOT / "website" / own, STAGE / own)
    shutil.copyfile(ROOT / "website" / "extra.css", source / "extra.css")


def main(arguments: list[str]) -> int:
    broken = faults()
    for fault in broken:
        print(fault, file=sys.stderr)
    if broken or "--check" in arguments:
        return 1 if broken else 0
    stage()
    if "--only-stage" in arguments:
        return 0
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "zensical.toml"]
    return subprocess.run(command, cwd=STAGE).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
