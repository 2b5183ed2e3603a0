"""Wiring of the population: where it is, and the verifier that admits to it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from formwright.base.diagnostics import InputError, fail
from formwright.base.host import data_folder
from formwright.flow.proving import prove
from formwright.lang import load_source
from formwright.population import Entry, Origin, Population, open_population
from formwright.population.copying import Copied, copy_database
from formwright.population.importing import Imported, import_population
from formwright.population.opening import migrate_database, open_database
from formwright.population.places import place_of
from formwright.population.settling import Settled, settle


def default_population() -> Path:
    """The population of this user, where nobody names another."""
    return data_folder() / "population.sqlite"


def population_at(place: str | None) -> Population:
    """The population at a path or URL, or that of this user. Raises ``InputError``."""
    return open_population(place or default_population())


def add_texts(
    population: Population,
    references: Sequence[str],
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Settled, ...]:
    """Files and names of shipped templates: each proved, and admitted or put on the shelf.

    Raises ``InputError`` with the faults of all texts before the first one is proved.
    """
    entries: list[Entry] = []
    errors: list[InputError] = []
    for reference in references:
        try:
            source = load_source(reference)
            origin = Origin("person", "added", why=Path(reference).name)
            entries.append(
                population.add_template(source.text, name=_stem(reference), origin=origin)
            )
        except InputError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]  # with the lines of its text
    if errors:
        raise InputError([d for error in errors for d in error.diagnostics])
    found = []
    for number, entry in enumerate(entries, 1):
        say = partial(_say, progress, f"{number}/{len(entries)} {entry.name}: ")
        say("proving")
        found.append(settle(population, entry.digest, partial(prove, progress=say), "added"))
    return tuple(found)


def _say(progress: Callable[[str], None], before: str, text: str) -> None:
    progress(before + text)


def _stem(reference: str) -> str:
    return reference.removesuffix(".fw")


def import_folder(
    population: Population, folder: Path, progress: Callable[[str], None] = lambda _: None
) -> Imported:
    """An export, each text that was admitted elsewhere proved here. Raises ``InputError``."""
    return import_population(population, folder, prove, progress)


@dataclass(frozen=True, slots=True)
class Moved:
    """A copy from one place to another; both are shown without a password."""

    source: str
    target: str
    copied: Copied


def copy_population(
    source: str, target: str, progress: Callable[[str], None] = lambda _: None
) -> Moved:
    """All rows of ``source``, which is there, into ``target``, which is made when it is not.

    Raises ``InputError``.
    """
    taken = open_database(source, make=False)
    if place_of(source) == place_of(target):
        raise fail(f"{taken.place.shown} is both source and target", hint="name two populations")
    given = open_database(target)
    return Moved(taken.place.shown, given.place.shown, copy_database(taken, given, progress))


def migrate_population(place: str | None) -> tuple[str, int, int]:
    """Brings a store's tables up to date: where it is, the schema that it had, and has.

    Raises ``InputError``.
    """
    given = place or default_population()
    before, after = migrate_database(given)
    return place_of(given).shown, before, after
