"""``formwright report``: one self-contained page of a run, an artifact, a proof, a study."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, assert_never
from urllib.parse import quote

import typer

from formwright.cli.output import HELD, Json, Quiet, emit_json, status_line, told

if TYPE_CHECKING:
    from formwright.report.page import Page
    from formwright.report.pages.finding import Found


def page_of(found: "Found", progress: Callable[[str], None] = lambda _: None) -> "Page":
    """The page of what was found. Each maker is loaded when it is asked for; a template or a
    chain by its name is proved, unless its proof is kept.

    Raises ``InputError`` for files that cannot be read.
    """
    match found.kind:
        case "run":
            from formwright.report.pages.run_page import run_page

            return run_page(found.place)
        case "runs":
            from formwright.report.pages.runs_page import runs_page

            return runs_page(found.place)
        case "artifact":
            from formwright.report.pages.artifact_page import artifact_page

            return artifact_page(found.place)
        case "proof" | "chain proof":
            from formwright.report.pages.proof_page import proof_file_page

            return proof_file_page(found.place)
        case "template" | "chain":
            from formwright.report.pages.proof_page import proved_page

            return proved_page(found.name, progress)
        case "codesign":
            from formwright.report.pages.codesign_page import codesign_page

            return codesign_page(found.place)
        case "white-black":
            from formwright.report.pages.white_black_page import white_black_page

            return white_black_page(found.place)
        case "growth":
            from formwright.report.pages.growth_page import growth_page

            return growth_page(found.place)
        case "transfer":
            from formwright.report.pages.transfer_page import transfer_page

            return transfer_page(found.place)
        case "population":
            from formwright.population import open_population
            from formwright.population.places import place_of
            from formwright.report.pages.population_page import population_page

            population = open_population(found.name, make=False)
            return population_page(population, place_of(found.name).shown)
        case _:
            assert_never(found.kind)


def target(found: "Found") -> Path:
    """Where the page goes unless ``--out`` says: beside the thing, as ``report.html``."""
    named = Path(_shown(found).split("?")[0].rsplit("/", 1)[-1])
    match found.kind:
        case "proof" | "chain proof":
            return found.place.with_name(f"{found.place.stem}-report.html")
        case "template" | "chain" | "population":
            return found.place / f"{named.stem}-report.html"
        case _:
            return found.place / "report.html"


def _shown(found: "Found") -> str:
    """A URL without its password: no file is named by that."""
    if found.kind != "population":
        return found.name
    from formwright.population.places import place_of

    return place_of(found.name).shown


def report(
    subject: Annotated[
        str,
        typer.Argument(
            help="A folder of a run, study or artifact, a population, the JSON of `prove`, a name."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The file to write, if not beside it.")
    ] = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write a page to look at: what came out, why, and where each figure stands. One file."""
    from formwright.base.diagnostics import InputError
    from formwright.base.files import write_text
    from formwright.report.html import html_of
    from formwright.report.pages.finding import find, runs_in

    found = find(subject)
    several = runs_in(found.place)[0] if found.kind == "runs" and out is None else ()
    wanted = [(target(one), one) for one in map(find, map(str, several))]
    wanted.append((out or target(found), found))  # Last: it links to the pages that there are.
    pages: list[tuple[Path, Page]] = []
    with status_line(quiet) as say:
        for done, (path, one) in enumerate(wanted):
            say(f"making {path}", done, len(wanted))
            try:
                page = _placed(page_of(one, say), one, path)
            except InputError:
                if one is found:
                    raise
                continue  # The page of all runs says what is wrong with this one.
            write_text(path, html_of(page))
            pages.append((path, page))
    main, page = pages[-1]
    if json_:
        shown = {"schema": 1, "kind": page.kind, "title": page.title, "report": str(main)}
        emit_json(shown | {"answer": list(page.answer), "reports": [str(p) for p, _ in pages]})
    else:
        for line in page.answer:
            print(told(line, sys.stdout))
        for path, _ in pages:
            print(f"written: {path}")
    return HELD


def _placed(page: "Page", found: "Found", path: Path) -> "Page":
    """The page with the way from its file to the folder that its figures lead to."""
    base = found.place if found.place.is_dir() else found.place.parent
    way = os.path.relpath(base.resolve(), path.parent.resolve())
    return replace(page, folder="" if way == "." else quote(os.fsencode(way)))


def register(app: typer.Typer) -> None:
    app.command(epilog="Example: formwright report out")(report)
