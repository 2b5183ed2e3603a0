"""Chips by name: one that ships, a file, or ``local``, which is measured when first asked for."""

import os
from importlib import resources
from pathlib import Path

from formwright.base.diagnostics import fail, nearest
from formwright.base.host import cache_folder
from formwright.base.source import Source
from formwright.base.toml import read_toml, read_toml_file
from formwright.chip.chip import Chip
from formwright.chip.machine import MEASURED, cpu_name, detect_fields, isa_words, usable_cores
from formwright.chip.reader import read_chip, write_chip

LOCAL = "local"


def shipped_chips() -> tuple[str, ...]:
    """The names of the chips that come with the package."""
    folder = resources.files("formwright") / "chips"
    return tuple(
        sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))
    )


def local_file() -> Path:
    """Where the figures of this machine are kept, as far as this process may use it.

    With fewer cores than the machine has (``taskset``, a quota) it is another chip: what all of
    them reach together is not what these do.
    """
    cores = len(usable_cores())
    name = LOCAL if cores == os.cpu_count() else f"{LOCAL}-{cores}"
    return cache_folder() / "chips" / f"{name}.toml"


def load_chip(name_or_path: str | Path) -> Chip:
    """The chip of that name or file.

    ``local`` is read from the user's cache; it is measured (some seconds) when nothing is kept
    there, or when what is kept is of another CPU or other cores, or lacks a figure. Raises
    ``InputError``.
    """
    text = str(name_or_path)
    if text == LOCAL:
        return _local()
    if text.endswith(".toml") or "/" in text or isinstance(name_or_path, Path):
        return read_chip(read_toml_file(Path(name_or_path)))
    names = shipped_chips()
    if text not in names:
        known = (*names, LOCAL)
        hint = nearest(text, known) or f"chips: {', '.join(known)}, or the path of a .toml file"
        raise fail(f'no chip is called "{text}"', hint=hint)
    file = resources.files("formwright") / "chips" / f"{text}.toml"
    return read_chip(read_toml(Source(f"{text}.toml", file.read_text(encoding="utf-8"))))


def detect() -> Chip:
    """Measure this machine now and keep the result as ``local``."""
    chip = Chip(LOCAL, detect_fields(), "this machine", cpu_name(), isa_words())
    write_chip(chip, local_file())
    return load_chip(local_file())


def _local() -> Chip:
    file = local_file()
    if file.exists():
        chip = read_chip(read_toml_file(file))
        cores = chip.parameters().get("chip.cores")
        here = (cpu_name(), isa_words(), len(usable_cores()))
        # An earlier version measured fewer figures.
        if (chip.cpu, chip.isa, cores) == here and chip.fields.keys() >= MEASURED:
            return chip
    return detect()
