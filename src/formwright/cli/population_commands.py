"""``formwright population list|show|add|export|import|copy|migrate``."""

from pathlib import Path
from typing import Annotated

import typer

from formwright.cli.output import HELD, NOT_MET, Json, Quiet, console, emit_json, status_line

Place = Annotated[
    str | None,
    typer.Option(
        "--population",
        envvar="FORMWRIGHT_POPULATION",
        metavar="PATH",
        help="The population: a file, or a database URL. Default: that of this user.",
    ),
]

population_app = typer.Typer(
    help="Templates that were proved once, and what was seen of them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@population_app.command("list", epilog="Example: formwright population list --shelf")
def list_(
    shelf: Annotated[
        bool, typer.Option("--shelf", help="Also what stands on the shelf: not proved.")
    ] = False,
    place: Place = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """The templates, those of one structure together."""
    from formwright.flow.populating import population_at
    from formwright.report.population import list_as_json, print_list

    population = population_at(place)
    entries = population.entries(shelf=None if shelf else False)
    if json_:
        emit_json(list_as_json(population, entries))
    else:
        print_list(console(), entries)
    return HELD


@population_app.command("show", epilog="Example: formwright population show packed_gemm")
def show(
    template: Annotated[str, typer.Argument(help="A digest (8 digits are enough) or a name.")],
    place: Place = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """All that is known of one template: structure, facts, counterexamples, lineage, text."""
    from formwright.flow.populating import population_at
    from formwright.report.population import print_entry, show_as_json

    population = population_at(place)
    entry = population.entry(template)
    if json_:
        emit_json(show_as_json(population, entry))
    else:
        print_entry(console(), population, entry)
    return HELD


@population_app.command("add", epilog="Example: formwright population add packed_gemm mine.fw")
def add(
    templates: Annotated[list[str], typer.Argument(help="Files, or templates that ship.")],
    place: Place = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Prove templates and admit them; what is not proved goes on the shelf (status 1)."""
    from formwright.flow.populating import add_texts, population_at
    from formwright.report.population import print_settled, settled_as_json

    population = population_at(place)
    with status_line(quiet) as say:
        settled = add_texts(population, templates, say)
    if json_:
        emit_json(settled_as_json(settled))
    else:
        print_settled(console(), settled)
    return HELD if all(s.entry.evidence == "proved" for s in settled) else NOT_MET


@population_app.command("export", epilog="Example: formwright population export shared/")
def export(
    folder: Annotated[Path, typer.Argument(help="A new folder, or an export to be replaced.")],
    place: Place = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Write the population as files that people can read, review and share."""
    from formwright.flow.populating import population_at
    from formwright.population.export import export_population

    count = export_population(population_at(place), folder)
    if json_:
        emit_json({"schema": 1, "folder": str(folder), "templates": count})
    else:
        console().print(f"{count} texts in {folder}", markup=False, soft_wrap=True)
    return HELD


@population_app.command("import", epilog="Example: formwright population import shared/")
def import_(
    folder: Annotated[Path, typer.Argument(help="A folder that `population export` wrote.")],
    place: Place = None,
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Take an export in. What its files say is proved is proved here, or goes on the shelf."""
    from formwright.flow.populating import import_folder, population_at
    from formwright.report.population import imported_as_json, print_imported

    with status_line(quiet) as say:
        found = import_folder(population_at(place), folder, say)
    if json_:
        emit_json(imported_as_json(found))
    else:
        print_imported(console(), found)
    return HELD


@population_app.command(
    "copy", epilog="Example: formwright population copy mine.sqlite postgresql://me@host/shared"
)
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A population: file or URL.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another; made if not there.")],
    json_: Json = False,
    quiet: Quiet = False,
) -> int:
    """Copy every row of one population into another, of either kind of database.

    Standings, proofs, marks and times stay as they are. Status 1: the two have different figures
    for one journal entry; those of TO stay.
    """
    from formwright.flow.populating import copy_population
    from formwright.report.population import moved_as_json, print_moved

    with status_line(quiet) as say:
        moved = copy_population(source, target, say)
    if json_:
        emit_json(moved_as_json(moved))
    else:
        print_moved(console(), moved)
    return NOT_MET if moved.copied.differing else HELD


@population_app.command("migrate", epilog="Example: formwright population migrate")
def migrate(place: Place = None, json_: Json = False, quiet: Quiet = False) -> int:
    """Bring the tables of an earlier version up to date; that version then refuses them.

    A file is brought up to date when it is opened. A database on a server waits for this command.
    """
    from formwright.flow.populating import migrate_population

    where, before, after = migrate_population(place)
    if json_:
        emit_json({"schema": 1, "population": where, "from": before, "to": after})
    else:
        told = f"schema {before} to {after}" if before != after else f"schema {after} already"
        console().print(f"{where}: {told}", markup=False, soft_wrap=True)
    return HELD


def register(app: typer.Typer) -> None:
    app.add_typer(population_app, name="population")
